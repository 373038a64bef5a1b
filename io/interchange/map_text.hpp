// Common parts of formats that hold V as text with z fastest, the reverse of the map's order. Private to io/.
//
// Memory holds the text of one yz-plane at a time.
#pragma once

#include <string>

#include "io/interchange/export_file.hpp"

namespace smallbatch {

std::string right_aligned(const std::string& text, std::size_t width);

/// Layout of values in a format.
struct ValueLayout {
  int per_line;
  int decimals;
  std::size_t width;   ///< of a value with the blanks before it; 0: one blank between values
  bool row_ends_line;  ///< the values of each (x,y) begin a new line
};

/// Throws for a wrong shape or a NaN, as lattice_export.hpp says.
void check_exportable(const std::string& path, const LatticeMap& map);

/// Writes all values, z fastest. Returns the number of values that became 1e30 with their sign.
std::int64_t write_values(ExportFile& file, const LatticeMap& map, const ValueLayout& layout);

}  // namespace smallbatch
