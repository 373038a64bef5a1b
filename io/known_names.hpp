// Names that io/FORMAT.md knows, those of other programs, and near misses. Private to io/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_input.hpp"

namespace smallbatch {

/// The known name that `name`, which is none of them, probably means: alike but for case, or one letter wrong, missing,
/// extra or swapped with its neighbour (two, where the known name has six or more).
std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known);

/// Attributes that HDF5, netCDF, xarray, MATLAB, Octave and PyTables put on objects by themselves, and descriptions.
bool is_attribute_of_others(const std::string& name);

/// "its attribute "units" is unknown: did you mean "unit"?" for every attribute of the object that is neither known nor
/// of others.
std::vector<std::string> unknown_attributes(const InputFile& file, const std::string& object,
                                            const std::vector<std::string>& known);

}  // namespace smallbatch
