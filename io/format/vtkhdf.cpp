#include "io/format/vtkhdf.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace smallbatch {
namespace {

bool all_alike(const std::vector<double>& triples) {
  for (std::size_t i = 3; i < triples.size(); ++i)
    if (triples[i] != triples[i - 3]) return false;
  return true;
}

std::vector<double> first_triple(const std::vector<double>& triples) { return {triples.begin(), triples.begin() + 3}; }

/// Returns the times of the steps of /VTKHDF, which must rise. These are the frames' times if the times rise. Otherwise
/// they are the frames' steps if the steps rise, or else the problems' indices.
std::vector<double> vtk_times(const PotentialSet& set) {
  const auto rise = [](const std::vector<double>& values) {
    const auto falls = [](double a, double b) { return !(a < b); };
    return !values.empty() && std::ranges::adjacent_find(values, falls) == values.end();
  };
  if (rise(set.labels.time)) return set.labels.time;
  std::vector<double> times(set.labels.step.begin(), set.labels.step.end());
  if (rise(times)) return times;
  times.resize(static_cast<std::size_t>(set.batch));
  std::iota(times.begin(), times.end(), 0.0);
  return times;
}

}  // namespace

bool has_one_lattice(const PotentialSet& set) {
  return set.batch > 0 && all_alike(set.origin) && all_alike(set.spacing);
}

std::vector<double> coordinates_along(const PotentialSet& set, std::size_t axis) {
  const std::int64_t points[] = {set.shape.nx, set.shape.ny, set.shape.nz};
  std::vector<double> coordinates(static_cast<std::size_t>(points[axis]));
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = set.origin[axis] + static_cast<double>(i) * set.spacing[axis];
  return coordinates;
}

void write_vtkhdf(Hdf5Output& file, const PotentialSet& set) {
  const std::string vtk = "/VTKHDF";
  std::vector<std::string> arrays{"V"};
  if (set.has_field) arrays.emplace_back("E");
  const bool is_series = set.batch > 1 && has_one_lattice(set);
  file.create_group(vtk);
  file.attribute(vtk, "Version", std::vector<std::int64_t>{is_series ? 2 : 1, 0});
  file.attribute(vtk, "Type", std::string("ImageData"));
  file.attribute(vtk, "WholeExtent",
                 std::vector<std::int64_t>{0, set.shape.nx - 1, 0, set.shape.ny - 1, 0, set.shape.nz - 1});
  file.attribute(vtk, "Origin", first_triple(set.origin));
  file.attribute(vtk, "Spacing", first_triple(set.spacing));
  file.attribute(vtk, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  for (const std::string& name : arrays) {
    const std::string values = set_path(set) + "/" + name, shown = vtk + "/PointData/" + name;
    is_series ? file.link(values, shown) : file.show_first(values, shown);
  }
  if (!is_series) return;
  // Some programs look up the axes of an array by name, in the groups that contain the array.
  for (const char* axis : {"problem", "z", "y", "x"}) file.link(set_path(set) + "/" + axis, vtk + "/" + axis);
  if (set.has_field) file.link(set_path(set) + "/axis", vtk + "/axis");
  const std::vector<double> times = vtk_times(set);
  std::vector<std::int64_t> offsets(times.size());
  std::iota(offsets.begin(), offsets.end(), 0);
  file.create(vtk + "/Steps/Values", ElementType::float64, {set.batch});
  file.write(vtk + "/Steps/Values", {}, times.data());
  for (const std::string& name : arrays) {
    file.create(vtk + "/Steps/PointDataOffsets/" + name, ElementType::int64, {set.batch});
    file.write(vtk + "/Steps/PointDataOffsets/" + name, {}, offsets.data());
  }
  file.attribute(vtk + "/Steps", "NSteps", set.batch);
}

}  // namespace smallbatch
