// How HDF5 writes our files: plain pwrite, as its own driver does, but the first failure is kept and from then on every
// write is dropped and called a success. Private to io/*.cpp.
//
// HDF5 cannot close a file whose last bytes it cannot write: it leaks the file and crashes when the process ends. With
// this driver it closes in peace, and the failure, with the system's own error number, is what the writer throws.
#pragma once

#include <hdf5.h>

#include "io/hdf5_handles.hpp"

namespace smallbatch {

/// errno of the first system call that failed, 0 while there is none.
struct FileFailure {
  int system_error = 0;
};

/// Sets the driver in a file access property list; `failure` must outlive the file. The handle must outlive it too.
Hdf5Handle use_file_driver(hid_t access, FileFailure* failure);

}  // namespace smallbatch
