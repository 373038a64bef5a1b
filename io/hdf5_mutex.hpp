// HDF5 is one for the whole process, and here not made for threads. Private to io/.
#pragma once

#include <mutex>

namespace smallbatch {

/// Who calls HDF5 while other threads go on holds it, and so does who calls HDF5 among those, or forks: the child
/// begins with the library as it is then.
inline std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace smallbatch
