// Reasons why HDF5 cannot read a file, and what to do about them. Private to io/.
#pragma once

#include <string>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

inline constexpr const char* damaged = "The file is damaged: copy it again or write it anew.";

/// Converts HDF5's text about a failure of H5Fopen to a reason that users understand.
Defect open_failure(const std::string& hdf5_text);

/// Returns why the last call of HDF5 failed.
Defect damage(const InputBytes& file);

}  // namespace smallbatch
