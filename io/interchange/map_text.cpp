#include "io/interchange/map_text.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/number_text.hpp"

namespace smallbatch {

std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

void check_exportable(const std::string& path, const LatticeMap& map) {
  check_shape(path, map);
  const auto& [nx, ny, nz] = map.shape;
  for (std::int64_t i = 0; i < map.shape.points(); ++i) {
    if (!std::isnan(map.values[i])) continue;
    throw Error(ErrorKind::bad_input, "cannot write " + path,
                "V is NaN at point (" + std::to_string(i % nx) + ", " + std::to_string(i / nx % ny) + ", " +
                    std::to_string(i / (nx * ny)) + "), and the format has no NaN",
                "See the problem's info for why it has no potential, or export a PNG slice, which shows NaN in grey.");
  }
}

std::int64_t write_values(ExportFile& file, const LatticeMap& map, const ValueLayout& layout) {
  const auto& [nx, ny, nz] = map.shape;
  std::int64_t limited = 0;
  int on_line = 0;
  std::string text;
  for (std::int64_t x = 0; x < nx; ++x) {
    text.clear();
    for (std::int64_t y = 0; y < ny; ++y) {
      for (std::int64_t z = 0; z < nz; ++z) {
        double value = map.values[(z * ny + y) * nx + x];
        if (std::abs(value) > largest_exported_value) {
          value = std::copysign(largest_exported_value, value);
          ++limited;
        }
        if (std::abs(value) < 1e-99) value = 0;
        if (on_line == layout.per_line) {
          text += '\n';
          on_line = 0;
        } else if (on_line > 0 && layout.width == 0) {
          text += ' ';
        }
        text += right_aligned(number_text(value, layout.decimals, std::chars_format::scientific), layout.width);
        ++on_line;
      }
      if (layout.row_ends_line) on_line = layout.per_line;
    }
    file.write(text);
  }
  file.write("\n");
  return limited;
}

}  // namespace smallbatch
