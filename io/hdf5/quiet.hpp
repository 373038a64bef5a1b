// HDF5's version and silence, for programs that own their process.
#pragma once

#include <string>

namespace smallbatch {

/// Keeps HDF5 from printing, and from cleaning up when the process ends. Call this before anything else of io. Readers
/// and writers do not need it: they close what they opened, and they are quiet by themselves. But after a damaged file
/// HDF5 1.10 cannot close itself, and complains at the end.
void silence_hdf5();

/// Returns the version of the library that is linked: "1.14.5".
std::string hdf5_version();

}  // namespace smallbatch
