// For programs that own their process: HDF5's standard error output.
#pragma once

namespace smallbatch {

/// HDF5 prints nothing from now on. Readers and writers are quiet by themselves and leave the process's setting alone;
/// but after a damaged file HDF5 1.10 cannot close itself and complains when the process ends.
void silence_hdf5();

}  // namespace smallbatch
