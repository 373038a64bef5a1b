// Reasons why HDF5 cannot read a file, and what to do about them. Private to io/.
#pragma once

#include <string>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

inline constexpr const char* damaged = "The file is damaged: copy it again or write it anew.";

/// Returns why H5Fopen failed, in the user's words, from HDF5's own text.
Defect open_failure(const std::string& hdf5_text);

/// Returns why the last call of HDF5 failed.
Defect damage(const InputBytes& file);

}  // namespace smallbatch
