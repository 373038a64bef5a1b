#include "io/format/known_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/nearest_name.hpp"

namespace smallbatch {
bool is_attribute_of_others(const std::string& name) {
  constexpr std::array<std::string_view, 27> names{
      // HDF5's dimension scales, tables and images; PyTables
      "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "TITLE", "VERSION", "FLAVOR", "FILTERS",
      "EXTDIM", "NROWS", "H5PATH",
      // netCDF, xarray and the conventions for them
      "_FillValue", "missing_value", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict", "_NCCOPY",
      "Conventions", "coordinates", "long_name", "standard_name",
      // free text
      "comment", "description", "history", "title"};
  return std::ranges::find(names, name) != names.end() || name.starts_with("MATLAB_") || name.starts_with("OCTAVE_");
}

std::vector<std::string> unknown_attributes(const InputFile& file, const std::string& object,
                                            const std::vector<std::string>& known) {
  std::vector<std::string> found;
  for (const std::string& name : file.attributes(object)) {
    if (std::ranges::find(known, name) != known.end() || is_attribute_of_others(name)) continue;
    const auto meant = nearest_name(name, known);
    found.push_back("its attribute " + quoted(name) + " is unknown" +
                    (meant ? ": did you mean " + quoted(*meant) + "?" : ""));
  }
  return found;
}

}  // namespace smallbatch
