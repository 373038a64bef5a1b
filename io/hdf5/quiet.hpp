// For programs that own their process: HDF5's version, and its last words.
#pragma once

#include <string>

namespace smallbatch {

/// Call it before anything else of io. HDF5 prints nothing from then on and does not clean up when the process ends.
/// Readers and writers close what they opened, are quiet by themselves and leave the process's settings alone; but
/// after a damaged file HDF5 1.10 cannot close itself, and complains at the end.
void silence_hdf5();

/// "1.14.5", of the library that is linked.
std::string hdf5_version();

}  // namespace smallbatch
