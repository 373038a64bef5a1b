// How HDF5 writes our files: plain pwrite, as its own driver does, but the first failure is kept and from then on every
// write is dropped and called a success. Private to io/.
//
// HDF5 cannot close a file whose last bytes it cannot write: it leaks the file and crashes when the process ends. With
// this driver it closes in peace, and the failure, with the system's own error number, is what the writer throws.
#pragma once

#include <cstdint>

namespace smallbatch {

/// errno of the first system call that failed, 0 while there is none.
struct FileFailure {
  int system_error = 0;
};

/// Sets the driver in a file access property list (both are HDF5 identifiers); `failure` must outlive the file. Returns
/// the driver, to be unregistered after the file is closed, or a negative number.
std::int64_t use_file_driver(std::int64_t access, FileFailure* failure);

}  // namespace smallbatch
