// Finds attributes that neither io/FORMAT.md nor other programs define. Private to io/.
#pragma once

#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace smallbatch {

/// Returns true for attributes that HDF5, netCDF, xarray, MATLAB, Octave or PyTables add to objects without being
/// asked. Also returns true for attributes that describe something in words, such as `comment`.
bool is_attribute_of_others(const std::string& name);

/// Returns a text for every unknown attribute of the object: "its attribute "units" is unknown: did you mean "unit"?".
/// Attributes of other programs are left out.
std::vector<std::string> unknown_attributes(const InputFile& file, const std::string& object,
                                            const std::vector<std::string>& known);

}  // namespace smallbatch
