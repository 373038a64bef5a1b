#include "io/hdf5_quiet.hpp"

#include "io/hdf5_handles.hpp"

namespace smallbatch {

void silence_hdf5() {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace smallbatch
