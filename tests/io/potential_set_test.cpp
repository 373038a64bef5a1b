// Potential sets are read from files that plain HDF5 calls wrote: points and charges as targets, fields, softening,
// cut-off. Results are written to files that plain HDF5 calls read, with energies and statistics.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/not_finite.hpp"
#include "io/problem_reader.hpp"
#include "io/problem_writer.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::counted_block;
using testing::expect_error;
using testing::RawHdf5;
using testing::Shape;
using Offsets = std::vector<std::int64_t>;

using PotentialProblem = testing::FileTest;
using PotentialResults = testing::FileTest;

/// Writes the good problems without their lattices.
void write_without_lattice(const std::string& path, const char* targets,
                           RawHdf5::Text text = RawHdf5::Text::fixed_ascii) {
  testing::write_good_problems(path);
  RawHdf5 file(path, RawHdf5::Mode::change);
  file.attribute("/potential/p", "targets", targets, text);
  file.remove_attribute("/potential/p", "shape");
  file.remove("/potential/p/origin");
  file.remove("/potential/p/spacing");
}

TEST_F(PotentialProblem, nothing_is_asked_for_but_v_in_vacuum_where_nothing_is_said) {
  testing::write_good_problems(path("p.h5"));
  const ProblemReader reader(path("p.h5"));
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.targets, TargetKind::lattice);
  EXPECT_FALSE(set.has_field);
  EXPECT_FALSE(set.has_groups);
  EXPECT_EQ(set.softening, 0);
  EXPECT_EQ(set.cutoff, 0);
  EXPECT_EQ(set.dielectric, 1);
  EXPECT_EQ(set.targets_before(2), 48);
}

TEST_F(PotentialProblem, each_problem_has_its_own_points) {
  write_without_lattice(path("p.h5"), "points", RawHdf5::Text::variable_utf8);
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.dataset("/potential/p/points", {5, 3}, counted<float>(15));  // not the type of position
    file.dataset("/potential/p/point_offset", {3}, std::vector<std::int32_t>{0, 2, 5});
    file.attribute("/potential/p/position", "unit", "nm");
  }
  const ProblemReader reader(path("p.h5"));
  EXPECT_TRUE(reader.warnings().empty());
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.targets, TargetKind::points);
  EXPECT_EQ(set.point_offset, (Offsets{0, 2, 5}));
  EXPECT_EQ(set.targets_before(1), 2);
  EXPECT_EQ(set.targets_before(2), 5);
  PotentialBlock<float> block;
  reader.read(set, 0, 2, block);
  EXPECT_EQ(block.targets, TargetKind::points);
  EXPECT_EQ(block.point_offset, (Offsets{0, 2, 5}));
  EXPECT_EQ(block.point, counted_block<double>(15, 0, 10));  // points are in nm, like the positions
  EXPECT_TRUE(block.origin.empty());
  reader.read(set, 1, 1, block);
  EXPECT_EQ(block.offset, (Offsets{0, 3}));
  EXPECT_EQ(block.point_offset, (Offsets{0, 3}));
  EXPECT_EQ(block.point, counted_block<double>(9, 60, 10));
  EXPECT_TRUE(block.group.empty());
}

TEST_F(PotentialProblem, points_without_offsets_are_every_problems) {
  write_without_lattice(path("p.h5"), "points");
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.dataset("/potential/p/points", {2, 3}, counted<double>(6, 1));
    file.attribute("/potential/p/points", "unit", "pm");
    file.attribute("/potential/p/position", "unit", "nm");
  }
  const ProblemReader reader(path("p.h5"));
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.point_offset, (Offsets{0, 2, 4}));
  PotentialBlock<double> block;
  reader.read(set, 0, 2, block);
  EXPECT_EQ(block.point_offset, (Offsets{0, 2, 4}));
  ASSERT_EQ(block.point.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_DOUBLE_EQ(block.point[i], 0.01 * static_cast<double>(1 + i % 6));
  reader.read(set, 1, 1, block);
  EXPECT_EQ(block.point_offset, (Offsets{0, 2}));
  EXPECT_EQ(block.point.size(), 6U);
}

TEST_F(PotentialProblem, fields_lengths_dielectric_and_groups_are_read) {
  write_without_lattice(path("p.h5"), "charges");
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/potential/p/position", "unit", "nm");
    file.attribute("/potential/p", "field", std::vector<std::int8_t>{1});
    file.attribute("/potential/p", "softening", std::vector<double>{0.25});
    file.attribute("/potential/p", "cutoff", std::vector<std::int64_t>{2});
    file.attribute("/potential/p", "dielectric", std::vector<float>{80});
    file.dataset("/potential/p/group", {4}, std::vector<std::int64_t>{1, 2, 300, -1});
  }
  const ProblemReader reader(path("p.h5"));
  EXPECT_TRUE(reader.warnings().empty());
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.targets, TargetKind::charges);
  EXPECT_EQ(set.targets_before(2), 4);
  EXPECT_TRUE(set.has_field);
  EXPECT_TRUE(set.has_groups);
  EXPECT_DOUBLE_EQ(set.softening, 2.5);
  EXPECT_DOUBLE_EQ(set.cutoff, 20);
  EXPECT_EQ(set.dielectric, 80);
  EXPECT_NEAR(set.unit_factor(), 14.399645478425672 / 80, 1e-9);
  PotentialBlock<double> block;
  reader.read(set, 0, 1, block);
  EXPECT_EQ(block.group, (std::vector<std::int8_t>{1}));
  reader.read(set, 1, 1, block);
  ASSERT_EQ(block.group.size(), 3U);
  EXPECT_EQ(block.group[0], 2);
  EXPECT_TRUE(block.group[1] != 1 && block.group[1] != 2);  // a number that int8 cannot hold is in no group
  EXPECT_EQ(block.group[2], -1);
}

TEST_F(PotentialProblem, what_belongs_to_other_targets_is_a_warning) {
  testing::write_good_problems(path("p.h5"));
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.dataset("/potential/p/points", {2, 3}, counted<double>(6));
  }
  const ProblemReader reader(path("p.h5"));
  ASSERT_EQ(reader.warnings().size(), 1U);
  EXPECT_NE(reader.warnings()[0].find("/potential/p/points"), std::string::npos);
}

TEST_F(PotentialProblem, trajectories_have_points_charges_and_groups) {
  const auto write = [&](const char* targets, const std::function<void(RawHdf5&)>& more) {
    RawHdf5 file(path("md.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 2});
    file.dataset("/particles/all/position/value", {3, 2, 3}, counted<float>(18));
    file.attribute("/particles/all/position/value", "unit", "nm");
    file.dataset("/particles/all/charge", {2}, std::vector<double>{1, -1});
    file.attribute("/particles/all/charge", "unit", "e");
    file.group("/potential/md");
    file.attribute("/potential/md", "particles", "all");
    file.attribute("/potential/md", "targets", targets);
    file.dataset("/potential/md/group", {2}, std::vector<std::int8_t>{2, 1});
    if (more) more(file);
  };
  PotentialBlock<double> block;
  write("charges", {});
  {
    const ProblemReader reader(path("md.h5"));
    EXPECT_TRUE(reader.warnings().empty());
    const PotentialSet& set = reader.potential_sets().at(0);
    EXPECT_EQ(set.targets_before(3), 6);
    reader.read(set, 1, 2, block);
    EXPECT_EQ(block.offset, (Offsets{0, 2, 4}));
    EXPECT_EQ(block.position, counted_block<double>(12, 60, 10));
    EXPECT_EQ(block.group, (std::vector<std::int8_t>{2, 1, 2, 1}));
    EXPECT_EQ(block.target_count(), 4);
  }
  write("points", [](RawHdf5& file) { file.dataset("/potential/md/points", {1, 3}, counted<double>(3, 1)); });
  {
    const ProblemReader reader(path("md.h5"));
    reader.read(reader.potential_sets().at(0), 1, 2, block);
    EXPECT_EQ(block.point_offset, (Offsets{0, 1, 2}));
    EXPECT_EQ(block.point, (AlignedVector<double>{10, 20, 30, 10, 20, 30}));
  }
  write("points", [](RawHdf5& file) {
    file.dataset("/potential/md/points", {3, 3}, counted<double>(9));
    file.dataset("/potential/md/point_offset", {4}, Offsets{0, 0, 3, 3});
  });
  {
    const ProblemReader reader(path("md.h5"));
    reader.read(reader.potential_sets().at(0), 1, 1, block);
    EXPECT_EQ(block.point, counted_block<double>(9, 0, 10));
  }
  write("charges", [](RawHdf5& file) {
    file.remove("/potential/md/group");
    file.dataset("/potential/md/group", {6}, counted<std::int8_t>(6));
  });
  expect_error(ErrorKind::bad_input, {"md.h5", "/potential/md/group", "(2)", "(6)"},
               [&] { ProblemReader{path("md.h5")}; });
}

TEST_F(PotentialProblem, sets_without_a_lattice_are_written) {
  PotentialSet set;
  set.name = "p";
  set.targets = TargetKind::charges;
  set.batch = 2;
  set.offset = {0, 1, 3};
  set.has_field = true;
  set.softening = 0.5;
  set.cutoff = 12;
  set.dielectric = 4;
  {
    ProblemWriter writer(path("p.h5"), false);
    writer.add(set);
    writer.write_charges(set, 0, counted<double>(9), counted<double>(3));
    writer.commit();
  }
  const RawHdf5 raw(path("p.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read_text("/potential/p", "targets"), "charges");
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/potential/p", "field"), (Offsets{1}));
  EXPECT_EQ(raw.read_attribute<double>("/potential/p", "cutoff"), (std::vector<double>{12}));
  const ProblemReader reader(path("p.h5"));
  const PotentialSet& found = reader.potential_sets().at(0);
  EXPECT_EQ(found.targets, TargetKind::charges);
  EXPECT_TRUE(found.has_field);
  EXPECT_EQ(found.softening, 0.5);
  EXPECT_EQ(found.dielectric, 4);
  set.targets = TargetKind::points;
  ProblemWriter writer(path("q.h5"), false);
  expect_error(ErrorKind::usage, {"\"p\"", "points"}, [&] { writer.add(set); });
  set.targets = TargetKind::charges;
  set.has_widths = true;
  expect_error(ErrorKind::usage, {"\"p\"", "a width for each charge"}, [&] { writer.add(set); });
}

// Results

PotentialSet set_of(TargetKind targets) {
  PotentialSet set;
  set.name = "map";
  set.targets = targets;
  set.batch = 3;
  set.has_field = set.has_groups = true;
  set.softening = targets == TargetKind::lattice ? 0.25 : 0;
  set.screening_length = targets == TargetKind::lattice ? 8 : 0;
  set.width = targets == TargetKind::points ? 0.75 : 0;
  set.has_widths = targets == TargetKind::charges;
  set.cutoff = 9;
  set.dielectric = 2;
  set.output_unit = PotentialUnit::kt_per_e;
  if (targets == TargetKind::lattice) {
    set.shape = {4, 3, 5};
    for (int p = 0; p < 3; ++p) {
      set.origin.insert(set.origin.end(), {-1, -2, -3});
      set.spacing.insert(set.spacing.end(), {0.5, 0.25, 2});
    }
  } else {
    (targets == TargetKind::points ? set.point_offset : set.offset) = {0, 2, 2, 5};
  }
  return set;
}

/// Writes V and E that count up through the set, problem by problem and two planes at a time. Energies are 7, 8, 9.
template <class T>
void write_results(const std::string& path, const PotentialSet& set) {
  ResultWriter writer(path, true);
  writer.add(set, scalar_type_of<T>);
  const bool on_lattice = set.targets == TargetKind::lattice;
  for (std::int64_t p = 0; p < 3; ++p) {
    for (std::int64_t z = 0; z == 0 || z < set.shape.nz; z += 2) {
      PotentialBlock<T> block;
      block.targets = set.targets;
      block.shape = set.shape;
      block.first = p;
      block.count = 1;
      block.first_plane = z;
      block.plane_count = on_lattice ? std::min<std::int64_t>(2, set.shape.nz - z) : 0;
      block.offset = block.point_offset = {0, set.targets_before(p + 1) - set.targets_before(p)};
      if (z == 0) block.group = {1};
      block.resize_results(true);
      const auto first = static_cast<double>(set.targets_before(p) + z * set.shape.plane_points());
      block.potential = counted_block<T>(block.potential.size(), first);
      block.field = counted_block<T>(block.field.size(), 3 * first);
      block.info = {static_cast<std::int32_t>(p)};
      if (z == 0) block.energy = {static_cast<double>(7 + p)};
      writer.write(set, block);
    }
  }
  writer.write_statistics(set, {{1, nan, 3}, {4, nan, 6}, {2, nan, 5}});
  writer.commit();
}

TEST_F(PotentialResults, points_charges_and_lattices_come_back) {
  for (const TargetKind targets : {TargetKind::lattice, TargetKind::points, TargetKind::charges}) {
    const PotentialSet set = set_of(targets);
    const bool on_lattice = targets == TargetKind::lattice;
    write_results<float>(path("r.h5"), set);
    {
      const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
      const std::string group = "/potential/map";
      EXPECT_EQ(raw.shape(group + "/V"), on_lattice ? (Shape{3, 5, 3, 4}) : (Shape{5}));
      EXPECT_EQ(raw.shape(group + "/E"), on_lattice ? (Shape{3, 5, 3, 4, 3}) : (Shape{5, 3}));
      const std::size_t values = on_lattice ? 180 : 5;
      EXPECT_EQ(raw.read<float>(group + "/V"), counted<float>(values));
      EXPECT_EQ(raw.read<float>(group + "/E"), counted<float>(3 * values));
      EXPECT_EQ(raw.read<double>(group + "/energy"), (std::vector<double>{7, 8, 9}));
      EXPECT_EQ(raw.read<std::int32_t>(group + "/info"), (std::vector<std::int32_t>{0, 1, 2}));
      EXPECT_EQ(raw.read<double>(group + "/V_max").at(2), 6);
      EXPECT_TRUE(std::isnan(raw.read<double>(group + "/V_mean").at(1)));
      EXPECT_EQ(raw.read_text(group + "/V", "unit"), "kT/e");
      EXPECT_EQ(raw.read_text(group + "/E", "unit"), "kT/e/angstrom");
      EXPECT_EQ(raw.read_text(group + "/energy", "unit"), "kT");
      EXPECT_EQ(raw.read_text(group + "/V_min", "unit"), "kT/e");
      EXPECT_EQ(raw.read_text(group, "targets"), target_kind_name(targets));
      EXPECT_EQ(raw.read_attribute<double>(group, "softening"), (std::vector<double>{on_lattice ? 0.25 : 0}));
      EXPECT_EQ(raw.read_attribute<double>(group, "cutoff"), (std::vector<double>{9}));
      EXPECT_EQ(raw.read_attribute<double>(group, "dielectric"), (std::vector<double>{2}));
      EXPECT_EQ(raw.has(group + "/offset"), targets == TargetKind::charges);
      EXPECT_EQ(raw.has(group + "/point_offset"), targets == TargetKind::points);
      EXPECT_EQ(raw.has(group + "/origin"), on_lattice);
      EXPECT_EQ(raw.has("/VTKHDF"), on_lattice);
    }
    const ResultReader reader(path("r.h5"));
    const PotentialSet& found = reader.potential_sets().at(0);
    EXPECT_EQ(found.targets, targets);
    EXPECT_EQ(found.batch, 3);
    EXPECT_EQ(found.offset, set.offset);
    EXPECT_EQ(found.point_offset, set.point_offset);
    EXPECT_TRUE(found.has_field && found.has_groups);
    EXPECT_EQ(found.cutoff, 9);
    EXPECT_EQ(found.screening_length, set.screening_length);
    EXPECT_TRUE(found.width == set.width && found.has_widths == set.has_widths);
    EXPECT_EQ(reader.statistics(found).highest[0], 4);
    EXPECT_EQ(reader.statistics(found).mean[2], 5);
    PotentialBlock<float> block;
    block.first = 1;
    block.count = 2;
    block.plane_count = on_lattice ? 5 : 0;
    reader.read(found, block);
    EXPECT_EQ(block.potential, on_lattice ? counted_block<float>(120, 60) : counted_block<float>(3, 2));
    EXPECT_EQ(block.field, on_lattice ? counted_block<float>(360, 180) : counted_block<float>(9, 6));
    EXPECT_EQ(block.energy, (std::vector<double>{8, 9}));
    EXPECT_EQ(block.info, (std::vector<std::int32_t>{1, 2}));
  }
}

TEST_F(PotentialResults, the_field_is_a_vector_array_of_vtkhdf) {
  PotentialSet set = set_of(TargetKind::lattice);
  write_results<double>(path("r.h5"), set);
  {
    const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
    EXPECT_EQ(raw.shape("/VTKHDF/PointData/E"), (Shape{3, 5, 3, 4, 3}));
    EXPECT_EQ(raw.read<std::int64_t>("/VTKHDF/Steps/PointDataOffsets/E"), (Offsets{0, 1, 2}));
  }
  set.spacing[7] += 1;  // the lattices now differ, so they are no time series
  write_results<double>(path("r.h5"), set);
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read<double>("/VTKHDF/PointData/E"), counted<double>(180));
  EXPECT_EQ(raw.shape("/VTKHDF/PointData/E"), (Shape{5, 3, 4, 3}));
}

TEST_F(PotentialResults, files_of_format_1_1_have_no_statistics) {
  PotentialSet set = set_of(TargetKind::lattice);
  write_results<float>(path("r.h5"), set);
  {
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    for (const char* name : {"V_min", "V_max", "V_mean"}) file.remove(std::string("/potential/map/") + name);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 1});
  }
  {
    const ResultReader reader(path("r.h5"));
    EXPECT_TRUE(reader.statistics(reader.potential_sets().at(0)).mean.empty());
  }
  {
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 2});
  }
  expect_error(ErrorKind::bad_input, {"/potential/map", "\"V_min\""}, [&] { ResultReader{path("r.h5")}; });
}

TEST_F(PotentialResults, damaged_ones_name_the_dataset) {
  const auto expect = [&](TargetKind targets, const std::string& name, const Shape& shape, const auto& values,
                          const std::vector<std::string>& says) {
    write_results<float>(path("r.h5"), set_of(targets));
    {
      RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
      file.remove("/potential/map/" + name);
      if (!shape.empty()) file.dataset("/potential/map/" + name, shape, values);
    }
    expect_error(ErrorKind::bad_input, says, [&] { ResultReader{path("r.h5")}; });
  };
  const std::vector<float> none;
  expect(TargetKind::points, "E", {}, none, {"r.h5", "/potential/map", "\"E\""});
  expect(TargetKind::points, "E", {5}, counted<float>(5), {"/potential/map/E", "(5, 3)", "(5)"});
  expect(TargetKind::points, "E", {5, 3}, counted<double>(15), {"/potential/map/E", "float32", "float64"});
  expect(TargetKind::lattice, "E", {3, 5, 3, 4}, counted<float>(180), {"/potential/map/E", "(3, 5, 3, 4, 3)"});
  expect(TargetKind::points, "V", {5, 1}, counted<float>(5), {"/potential/map/V", "(5)", "(5, 1)"});
  expect(TargetKind::points, "point_offset", {}, none, {"/potential/map", "\"point_offset\""});
  expect(TargetKind::charges, "offset", {4}, Offsets{0, 2, 2, 6}, {"/potential/map/offset", "[3] is 6", "5"});
  expect(TargetKind::charges, "energy", {3}, counted<float>(3), {"/potential/map/energy", "float64", "float32"});
  expect(TargetKind::charges, "V_mean", {2}, counted<double>(2), {"/potential/map/V_mean", "(3)", "(2)"});
}

}  // namespace
}  // namespace smallbatch
