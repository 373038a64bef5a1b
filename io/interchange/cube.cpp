// Gaussian cube files.
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/units.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/interchange/map_text.hpp"

namespace smallbatch {

namespace {

constexpr ValueLayout cube_layout{6, 5, 13, true};

/// Line of an integer and some numbers, in the cube format's I5 4F12.6. A blank always separates two numbers.
std::string cube_line(std::int64_t count, std::initializer_list<double> numbers) {
  std::string line = right_aligned(std::to_string(count), 5);
  for (const double value : numbers) line += " " + right_aligned(number_text(value, 6, std::chars_format::fixed), 11);
  return line + "\n";
}

}  // namespace

std::int64_t write_cube(const std::string& path, const LatticeMap& map, std::span<const double> position,
                        std::span<const double> charge, std::span<const std::int8_t> atomic_number, bool overwrite) {
  check_exportable(path, map);
  if (position.size() != 3 * charge.size() || (!atomic_number.empty() && atomic_number.size() != charge.size())) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                std::to_string(charge.size()) + " charges with " + std::to_string(position.size()) +
                    " coordinates and " + std::to_string(atomic_number.size()) + " atomic numbers",
                "Give three coordinates for each charge, and one number or none at all.");
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
    file.write(cube_line(atomic_number.empty() ? 0 : atomic_number[i],
                         {charge[i], bohr(position[3 * i]), bohr(position[3 * i + 1]), bohr(position[3 * i + 2])}));
  }
  const std::int64_t limited = write_values(file, map, cube_layout);
  file.commit();
  return limited;
}

}  // namespace smallbatch
