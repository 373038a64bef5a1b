// Attributes that io/FORMAT.md knows, and those of other programs. Private to io/.
#pragma once

#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace smallbatch {

/// Attributes that HDF5, netCDF, xarray, MATLAB, Octave and PyTables put on objects by themselves, and descriptions.
bool is_attribute_of_others(const std::string& name);

/// "its attribute "units" is unknown: did you mean "unit"?" for every attribute of the object that is neither known nor
/// of others.
std::vector<std::string> unknown_attributes(const InputFile& file, const std::string& object,
                                            const std::vector<std::string>& known);

}  // namespace smallbatch
