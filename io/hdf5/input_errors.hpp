// What is said of a file that HDF5 cannot read, and what to do about it. Private to io/.
#pragma once

#include <string>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

inline constexpr const char* damaged = "The file is damaged: copy it again or write it anew.";

/// Why H5Fopen failed, in the user's words, from HDF5's own.
Defect open_failure(const std::string& hdf5_text);

/// Why an HDF5 call that was just made failed.
Defect damage(const InputBytes& file);

}  // namespace smallbatch
