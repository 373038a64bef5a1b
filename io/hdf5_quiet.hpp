// For programs that own their process: HDF5's last words.
#pragma once

namespace smallbatch {

/// Call it before anything else of io. HDF5 prints nothing from then on and does not clean up when the process ends.
/// Readers and writers close what they opened, are quiet by themselves and leave the process's settings alone; but
/// after a damaged file HDF5 1.10 cannot close itself, and complains at the end.
void silence_hdf5();

}  // namespace smallbatch
