#include "io/known_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace smallbatch {
namespace {

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return text;
}

/// Letters to replace, remove, add or swap with their neighbours (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t k = 0; k <= b.size(); ++k) row[k] = k;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) row[k] = std::min(row[k], before[k - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t least = 3;
  for (const std::string& candidate : known) {
    const std::size_t most = candidate.size() < 4 ? 0 : candidate.size() < 6 ? 1 : 2;
    if (name.size() > candidate.size() + most) continue;
    const std::size_t found = distance(lower_case(name), lower_case(candidate));
    if (found > most || found >= least) continue;
    least = found;
    nearest = candidate;
  }
  return nearest;
}

bool is_attribute_of_others(const std::string& name) {
  constexpr std::array<std::string_view, 26> names{
      // HDF5's dimension scales, tables and images; PyTables
      "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "TITLE", "VERSION", "FLAVOR", "FILTERS",
      "EXTDIM", "NROWS", "H5PATH",
      // netCDF, xarray and the conventions for them
      "_FillValue", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict", "_NCCOPY", "Conventions",
      "coordinates", "long_name", "standard_name",
      // words for people
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
