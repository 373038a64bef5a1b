// What formats have in common that hold V as text with z fastest, the reverse of the map's order. Private to io/.
//
// One yz-plane of text at a time is held.
#pragma once

#include <string>

#include "io/interchange/export_file.hpp"

namespace smallbatch {

std::string right_aligned(const std::string& text, std::size_t width);

/// How a format writes the values.
struct ValueLayout {
  int per_line;
  int decimals;
  std::size_t width;   ///< of a value with the blanks before it
  bool row_ends_line;  ///< the values of each (x,y) begin on a new line
};

/// Throws what lattice_export.hpp says of a map's shape and of NaN.
void check_exportable(const std::string& path, const LatticeMap& map);

/// All values, z fastest; returns how many had to be limited.
std::int64_t write_values(ExportFile& file, const LatticeMap& map, const ValueLayout& layout);

}  // namespace smallbatch
