// OpenDX and Gaussian cube: a header, then V as text with z fastest, the reverse of the map's order. Numbers go through
// std::to_chars, which knows no locale and is several times as fast as printf. One yz-plane of text at a time is held.
#include "io/lattice_export.hpp"

#include <charconv>
#include <cmath>

#include "core/error.hpp"
#include "core/units.hpp"
#include "io/export_file.hpp"

namespace smallbatch {
namespace {

std::string number(double value, int decimals, std::chars_format format) {
  std::array<char, 400> text;
  const auto [end, failure] = std::to_chars(text.data(), text.data() + text.size(), value, format, decimals);
  return {text.data(), end};
}

std::string scientific(double value, int decimals) { return number(value, decimals, std::chars_format::scientific); }

std::string right_aligned(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// How a format writes the values.
struct ValueLayout {
  int per_line;
  int decimals;
  std::size_t width;   ///< of a value with the blanks before it
  bool row_ends_line;  ///< the values of each (x,y) begin on a new line
};
constexpr ValueLayout opendx_layout{3, 8, 0, false};
constexpr ValueLayout cube_layout{6, 5, 13, true};

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

/// All values, z fastest; returns how many had to be limited.
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
        text += right_aligned(scientific(value, layout.decimals), layout.width);
        ++on_line;
      }
      if (layout.row_ends_line) on_line = layout.per_line;
    }
    file.write(text);
  }
  file.write("\n");
  return limited;
}

/// A count or an atomic number, then three lengths: I5 4F12.6 of the cube format, always with a blank between.
std::string cube_line(std::int64_t count, std::initializer_list<double> numbers) {
  std::string line = right_aligned(std::to_string(count), 5);
  for (const double value : numbers) line += " " + right_aligned(number(value, 6, std::chars_format::fixed), 11);
  return line + "\n";
}

}  // namespace

std::int64_t write_opendx(const std::string& path, const LatticeMap& map, bool overwrite) {
  check_exportable(path, map);
  ExportFile file(path, overwrite);
  // Comments in short lines: some readers hold 84 characters of a line.
  file.write("# smallbatch: potential on a lattice, lengths in angstrom\n#\n");
  const std::string title = plain_line(map.title);
  for (std::size_t i = 0; i < title.size(); i += 72) file.write("# " + title.substr(i, 72) + "\n");
  file.write("#\n");

  const auto& [nx, ny, nz] = map.shape;
  const auto triple = [](double a, double b, double c) {
    return scientific(a, 12) + " " + scientific(b, 12) + " " + scientific(c, 12) + "\n";
  };
  const std::string counts = std::to_string(nx) + " " + std::to_string(ny) + " " + std::to_string(nz) + "\n";
  file.write("object 1 class gridpositions counts " + counts);
  file.write("origin " + triple(map.origin[0], map.origin[1], map.origin[2]));
  file.write("delta " + triple(map.spacing[0], 0, 0));
  file.write("delta " + triple(0, map.spacing[1], 0));
  file.write("delta " + triple(0, 0, map.spacing[2]));
  file.write("object 2 class gridconnections counts " + counts);
  file.write("object 3 class array type double rank 0 items " + std::to_string(map.shape.points()) + " data follows\n");
  const std::int64_t limited = write_values(file, map, opendx_layout);
  file.write(
      "attribute \"dep\" string \"positions\"\n"
      "object \"regular positions regular connections\" class field\n"
      "component \"positions\" value 1\n"
      "component \"connections\" value 2\n"
      "component \"data\" value 3\n");
  file.commit();
  return limited;
}

std::int64_t write_cube(const std::string& path, const LatticeMap& map, std::span<const double> position,
                        std::span<const double> charge, bool overwrite) {
  check_exportable(path, map);
  if (position.size() != 3 * charge.size()) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                std::to_string(charge.size()) + " charges with " + std::to_string(position.size()) + " coordinates",
                "Give three coordinates for each charge.");
  }
  ExportFile file(path, overwrite);
  const auto bohr = [](double angstrom) { return angstrom / bohr_angstrom; };
  file.write(plain_line(map.title) + "\n");
  file.write("smallbatch: potential on a lattice, lengths in bohr, z fastest; atoms are charges\n");
  file.write(cube_line(static_cast<std::int64_t>(charge.size()),
                       {bohr(map.origin[0]), bohr(map.origin[1]), bohr(map.origin[2])}));
  file.write(cube_line(map.shape.nx, {bohr(map.spacing[0]), 0, 0}));
  file.write(cube_line(map.shape.ny, {0, bohr(map.spacing[1]), 0}));
  file.write(cube_line(map.shape.nz, {0, 0, bohr(map.spacing[2])}));
  for (std::size_t i = 0; i < charge.size(); ++i) {
    file.write(cube_line(0, {charge[i], bohr(position[3 * i]), bohr(position[3 * i + 1]), bohr(position[3 * i + 2])}));
  }
  const std::int64_t limited = write_values(file, map, cube_layout);
  file.commit();
  return limited;
}

}  // namespace smallbatch
