// The version of HDF5, and its settings for a whole process. Programs may change these settings, but libraries may not.
#pragma once

#include <string>

namespace smallbatch {

/// Keeps HDF5 from printing, and from cleaning up when the process ends. Call this before anything else of io. Readers
/// and writers do not need it: they close what they opened, and they are quiet by themselves. After a damaged file,
/// however, HDF5 1.10 cannot clean up, and would print errors when the process ends.
void silence_hdf5();

/// Returns the version of the library that is linked: "1.14.5".
std::string hdf5_version();

}  // namespace smallbatch
