// OpenDX scalar fields.
#include "core/number_text.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/interchange/map_text.hpp"

namespace smallbatch {

namespace {

constexpr ValueLayout opendx_layout{3, 8, 0, false};

std::string scientific(double value) { return number_text(value, 12, std::chars_format::scientific); }

}  // namespace

std::int64_t write_opendx(const std::string& path, const LatticeMap& map, bool overwrite) {
  check_exportable(path, map);
  ExportFile file(path, overwrite);
  // Comments have short lines, because some readers hold only 84 characters of a line.
  file.write("# smallbatch: potential on a lattice, lengths in angstrom\n#\n");
  const std::string title = plain_line(map.title);
  for (std::size_t i = 0; i < title.size(); i += 72) file.write("# " + title.substr(i, 72) + "\n");
  file.write("#\n");

  const auto& [nx, ny, nz] = map.shape;
  const auto triple = [](double a, double b, double c) {
    return scientific(a) + " " + scientific(b) + " " + scientific(c) + "\n";
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

}  // namespace smallbatch
