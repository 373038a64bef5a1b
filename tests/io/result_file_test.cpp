// Answers, verdicts and provenance of result files come back as they were written. Lattices also appear as VTKHDF.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <regex>
#include <string>
#include <type_traits>
#include <vector>

#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::counted_block;
using testing::expect_error;
using testing::RawHdf5;

using ResultFile = testing::FileTest;

PotentialSet lattice_set(std::int64_t batch) {
  PotentialSet set;
  set.name = "map";
  set.batch = batch;
  set.shape = {4, 3, 5};
  for (std::int64_t i = 0; i < batch; ++i) {
    set.origin.insert(set.origin.end(), {-1, -2, -3});
    set.spacing.insert(set.spacing.end(), {0.5, 0.25, 2});
  }
  set.output_unit = PotentialUnit::kcal_per_mol_e;
  set.temperature = 310;
  return set;
}

/// Writes V that counts up through the whole set, two planes at a time.
template <class T>
void write_lattices(ResultWriter& writer, const PotentialSet& set) {
  writer.add(set, scalar_type_of<T>);
  for (std::int64_t problem = 0; problem < set.batch; ++problem) {
    for (std::int64_t plane = 0; plane < set.shape.nz; plane += 2) {
      PotentialBlock<T> block;
      block.first = problem;
      block.count = 1;
      block.first_plane = plane;
      block.plane_count = std::min<std::int64_t>(2, set.shape.nz - plane);
      const auto first = static_cast<double>(problem * set.shape.points() + plane * set.shape.plane_points());
      block.potential = counted_block<T>(static_cast<std::size_t>(block.plane_count * set.shape.plane_points()), first);
      block.info = {static_cast<std::int32_t>(10 + problem)};
      writer.write(set, block);
    }
  }
}

template <class T>
void solve_round_trip(const std::string& path, const SolveSet& set, const char* answer) {
  const auto numbers = static_cast<std::size_t>(set.batch * set.shape.solution_size());
  {
    ResultWriter writer(path, true);
    writer.add(set);
    for (std::int64_t first = 0; first < set.batch; first += 4) {
      SpdBlock<T> block;
      block.resize(set.shape, std::min<std::int64_t>(4, set.batch - first));
      block.first = first;
      block.x = counted_block<T>(block.x.size(), static_cast<double>(first * set.shape.solution_size()));
      for (std::size_t i = 0; i < block.info.size(); ++i) {
        block.info[i] = static_cast<std::int32_t>(first) + static_cast<std::int32_t>(i) - 2;
      }
      int factor = 1;
      for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
        ++factor;
        for (std::size_t i = 0; i < (block.*number.in_block).size(); ++i)
          (block.*number.in_block)[i] = static_cast<V>(factor * block.info[i]);
      });
      writer.write(set, block);
    }
    writer.commit();
  }
  const RawHdf5 raw(path, RawHdf5::Mode::read);
  const std::string group = "/solve/" + set.name + "/";
  EXPECT_EQ(raw.read<std::int32_t>(group + "info").at(10), 8);
  EXPECT_EQ(raw.read<T>(group + "rcond").at(10), T(3 * 8));
  EXPECT_EQ(raw.read<T>(group + "smallest_pivot").at(10), T(4 * 8));
  EXPECT_EQ(raw.read<double>(group + "log_determinant").at(10), 5 * 8);
  EXPECT_EQ(raw.read<std::int32_t>(group + "repaired").at(10), 6 * 8);
  EXPECT_EQ(raw.read<T>(group + "perturbation").at(10), T(7 * 8));
  EXPECT_EQ(raw.has(group + "x"), std::string(answer) == "x");
  EXPECT_EQ(raw.has(group + "inverse"), std::string(answer) == "inverse");
  EXPECT_EQ(raw.has(group + "backward_error"), !set.shape.determinant_only);
  if (!set.shape.determinant_only) {
    EXPECT_EQ(raw.read<T>(group + answer), counted<T>(numbers));
    EXPECT_EQ(raw.shape(group + answer).size(), set.rhs_is_vector && set.shape.nrhs == 1 ? 2U : 3U);
  }

  const ResultReader reader(path);
  const SolveSet& found = reader.solve_sets().at(0);
  EXPECT_EQ(found.name, set.name);
  EXPECT_EQ(found.type, scalar_type_of<T>);
  EXPECT_EQ(found.batch, set.batch);
  EXPECT_EQ(found.shape.n, set.shape.n);
  EXPECT_EQ(found.shape.nrhs, set.shape.nrhs);
  EXPECT_EQ(found.shape.determinant_only, set.shape.determinant_only);
  SpdBlock<T> block;
  reader.read(found, 3, 7, block);
  EXPECT_EQ(block.first, 3);
  EXPECT_EQ(block.count, 7);
  EXPECT_EQ(block.x, counted_block<T>(static_cast<std::size_t>(7 * set.shape.solution_size()),
                                      static_cast<double>(3 * set.shape.solution_size())));
  EXPECT_EQ(block.info, (AlignedVector<std::int32_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(block.backward_error.size(), set.shape.determinant_only ? 0U : 7U);
  int factor = 1;
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    ++factor;
    if (!number.is_of(set.shape)) return;
    EXPECT_EQ((block.*number.in_block).size(), 7U) << number.name;
    EXPECT_EQ((block.*number.in_block).at(6), static_cast<V>(7 * factor)) << number.name;
  });
}

TEST_F(ResultFile, solutions_come_back) {
  SolveSet set{"s", ScalarType::float32, {5, 1, Storage::packed_lower}, true, 11};
  solve_round_trip<float>(path("r.h5"), set, "x");
  set.rhs_is_vector = false;
  solve_round_trip<float>(path("r.h5"), set, "x");
  set.type = ScalarType::float64;
  set.shape.nrhs = 3;
  solve_round_trip<double>(path("r.h5"), set, "x");
  set.shape.nrhs = 0;
  solve_round_trip<double>(path("r.h5"), set, "inverse");
  set.shape = {64, 0, Storage::dense_lower, true};
  solve_round_trip<double>(path("r.h5"), set, "none");
  set.type = ScalarType::float32;
  solve_round_trip<float>(path("r.h5"), set, "none");
}

/// Returns name and type of each number per system in the tables of FORMAT.md.
std::vector<std::array<std::string, 2>> documented_numbers() {
  std::ifstream page(std::string(SMALLBATCH_SOURCE_DIR) + "/io/FORMAT.md");
  const std::regex row(R"(\| `(\w+)` \| ([^|]+) \| \(batch\) \| .*)");
  std::vector<std::array<std::string, 2>> rows;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("### ")) is_there = line == "### `/solve/<set>`";
    if (std::smatch found; is_there && std::regex_match(line, found, row)) rows.push_back({found[1], found[2]});
  }
  return rows;
}

TEST(FormatPage, names_every_number_of_a_system) {
  std::vector<std::array<std::string, 2>> numbers{{"info", "int32"}, {"size", "int32"}};
  for_each_spd_number<float>([&]<class V>(const SpdNumber<float, V>& number) {
    numbers.push_back({number.name, std::is_same_v<V, float> ? "as `A`" : sizeof(V) == 4 ? "int32" : "float64"});
  });
  EXPECT_EQ(documented_numbers(), numbers);
}

TEST_F(ResultFile, results_of_format_1_0_have_no_numbers_about_a) {
  const SolveSet set{"s", ScalarType::float32, {2, 1, Storage::dense}, true, 3};
  {
    ResultWriter writer(path("r.h5"), false);
    writer.add(set);
    SpdBlock<float> block;
    block.resize(set.shape, 3);
    block.x = counted_block<float>(6);
    writer.write(set, block);
    writer.commit();
  }
  const char* const numbers[] = {"rcond", "smallest_pivot", "log_determinant", "repaired"};
  {
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    for (const char* name : numbers) file.remove(std::string("/solve/s/") + name);
  }
  {
    const ResultReader reader(path("r.h5"));
    SpdBlock<float> block;
    block.resize(set.shape, 3);
    reader.read(reader.solve_sets().at(0), 0, 3, block);
    EXPECT_EQ(block.x, counted_block<float>(6));
    EXPECT_TRUE(block.rcond.empty());
    EXPECT_TRUE(block.smallest_pivot.empty());
    EXPECT_TRUE(block.log_determinant.empty());
    EXPECT_TRUE(block.repaired.empty());
  }
  {
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 1});
  }
  expect_error(ErrorKind::bad_input, {"/solve/s", "\"rcond\""}, [&] { ResultReader{path("r.h5")}; });
}

TEST_F(ResultFile, potentials_come_back) {
  const PotentialSet set = lattice_set(3);
  {
    ResultWriter writer(path("r.h5"), false);
    write_lattices<float>(writer, set);
    writer.commit();
  }
  const ResultReader reader(path("r.h5"));
  const PotentialSet& found = reader.potential_sets().at(0);
  EXPECT_EQ(found.type, ScalarType::float32);
  EXPECT_EQ(found.batch, 3);
  EXPECT_EQ(found.shape.ny, 3);
  EXPECT_EQ(found.origin, set.origin);
  EXPECT_EQ(found.spacing, set.spacing);
  EXPECT_EQ(found.output_unit, PotentialUnit::kcal_per_mol_e);
  EXPECT_EQ(found.temperature, 310);
  PotentialBlock<float> block;
  block.first = 1;
  block.count = 2;
  block.first_plane = 1;
  block.plane_count = 3;
  reader.read(found, block);
  auto expected = counted_block<float>(36, 60 + 12);
  const auto second = counted_block<float>(36, 120 + 12);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(block.potential, expected);
  EXPECT_EQ(block.info, (std::vector<std::int32_t>{11, 12}));
  EXPECT_EQ(reader.read_potential(found, 2, 4, 1), counted<double>(12, 120 + 48));
  EXPECT_EQ(reader.read_potential_rows(found, 2, 4, 1, 2), counted<double>(8, 120 + 48 + 4));
  expect_error(ErrorKind::usage, {"there are 3"}, [&] { (void)reader.read_potential(found, 3, 0, 1); });
  PotentialBlock<double> wrong;
  expect_error(ErrorKind::usage, {"float32", "float64"}, [&] { reader.read(found, wrong); });
}

TEST_F(ResultFile, units_and_shape_stand_beside_the_values) {
  {
    ResultWriter writer(path("r.h5"), false);
    write_lattices<double>(writer, lattice_set(1));
    writer.commit();
  }
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.shape("/potential/map/V"), (testing::Shape{1, 5, 3, 4}));
  EXPECT_EQ(raw.read_text("/potential/map/V", "unit"), "kcal/mol/e");
  EXPECT_EQ(raw.read_text("/potential/map", "output_unit"), "kcal/mol/e");
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/potential/map", "shape"), (std::vector<std::int64_t>{4, 3, 5}));
  EXPECT_EQ(raw.read_attribute<double>("/potential/map", "temperature"), (std::vector<double>{310}));
  EXPECT_EQ(raw.read<double>("/potential/map/origin"), (std::vector<double>{-1, -2, -3}));
  EXPECT_EQ(raw.read_text("/potential/map/origin", "unit"), "angstrom");
}

TEST_F(ResultFile, verdicts_not_written_say_so) {
  const SolveSet set{"s", ScalarType::float32, {1, 1, Storage::dense}, true, 5};
  {
    ResultWriter writer(path("r.h5"), false);
    writer.add(set);
    SpdBlock<float> block;
    block.resize(set.shape, 5);
    writer.write(set, block);
    const std::vector<Verdict> verdicts{Verdict::agreed, Verdict::disagreed};
    const std::vector<float> errors{0.25F, 7};
    writer.write_verdicts("solve", "s", 2, verdicts, errors);
    writer.write_summary("solve", "s", {"|x - x*| <= bound", 2, 1, 1, 7, 3});
    writer.add({"unchecked", ScalarType::float32, {1, 1, Storage::dense}, true, 0});
    writer.write_summary("solve", "unchecked", {"none", 0, 0, 0, 0, -1});
    writer.provenance("device", "cpu");
    writer.provenance("device", "cuda:0");
    writer.provenance("seconds", 1.5);
    writer.commit();
  }
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read<std::int8_t>("/verification/solve/s/verdict"), (std::vector<std::int8_t>{0, 0, 1, 2, 0}));
  const auto errors = raw.read<float>("/verification/solve/s/error_over_bound");
  EXPECT_TRUE(std::isnan(errors[0]) && std::isnan(errors[1]) && std::isnan(errors[4]));
  EXPECT_EQ(errors[2], 0.25F);
  EXPECT_EQ(errors[3], 7);
  EXPECT_EQ(raw.read_text("/verification/solve/s", "criterion"), "|x - x*| <= bound");
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/verification/solve/s", "checked"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/verification/solve/s", "agreed"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/verification/solve/s", "disagreed"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/verification/solve/s", "worst_index"), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(raw.read_attribute<double>("/verification/solve/s", "worst_error_over_bound"), (std::vector<double>{7}));
  EXPECT_EQ(raw.read_text("/verification/solve/unchecked", "criterion"), "none");
  EXPECT_EQ(raw.read_text("/provenance", "kind"), "results");
  EXPECT_EQ(raw.read_text("/provenance", "device"), "cuda:0");
  EXPECT_EQ(raw.read_attribute<double>("/provenance", "seconds"), (std::vector<double>{1.5}));
  EXPECT_TRUE(is_result_file(path("r.h5")));
}

TEST_F(ResultFile, the_first_lattice_set_is_vtkhdf_without_a_copy) {
  {
    ResultWriter writer(path("r.h5"), false);
    write_lattices<float>(writer, lattice_set(3));
    PotentialSet second = lattice_set(1);
    second.name = "second";
    write_lattices<double>(writer, second);
    writer.commit();
  }
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read_text("/VTKHDF", "Type"), "ImageData");
  EXPECT_EQ(H5Tget_size(H5Aget_type(H5Aopen_by_name(raw.id(), "/VTKHDF", "Type", H5P_DEFAULT, H5P_DEFAULT))), 9U);
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/VTKHDF", "Version"), (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/VTKHDF", "WholeExtent"), (std::vector<std::int64_t>{0, 3, 0, 2, 0, 4}));
  EXPECT_EQ(raw.read_attribute<double>("/VTKHDF", "Origin"), (std::vector<double>{-1, -2, -3}));
  EXPECT_EQ(raw.read_attribute<double>("/VTKHDF", "Spacing"), (std::vector<double>{0.5, 0.25, 2}));
  EXPECT_EQ(raw.read_attribute<double>("/VTKHDF", "Direction"), (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(raw.read_attribute<std::int64_t>("/VTKHDF/Steps", "NSteps"), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(raw.read<double>("/VTKHDF/Steps/Values"), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(raw.read<std::int64_t>("/VTKHDF/Steps/PointDataOffsets/V"), (std::vector<std::int64_t>{0, 1, 2}));
  H5O_info_t ours{}, vtk{};
  H5Oget_info_by_name(raw.id(), "/potential/map/V", &ours, H5P_DEFAULT);
  H5Oget_info_by_name(raw.id(), "/VTKHDF/PointData/V", &vtk, H5P_DEFAULT);
  EXPECT_EQ(ours.addr, vtk.addr);
}

TEST_F(ResultFile, one_problem_or_different_lattices_are_one_vtkhdf_image) {
  for (const std::int64_t batch : {1, 3}) {
    PotentialSet set = lattice_set(batch);
    if (batch > 1) set.spacing[7] += 0.5;
    {
      ResultWriter writer(path("r.h5"), true);
      write_lattices<float>(writer, set);
      writer.commit();
    }
    const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
    EXPECT_EQ(raw.read_attribute<std::int64_t>("/VTKHDF", "Version"), (std::vector<std::int64_t>{1, 0}));
    EXPECT_FALSE(raw.has("/VTKHDF/Steps"));
    EXPECT_EQ(raw.shape("/VTKHDF/PointData/V"), (testing::Shape{5, 3, 4}));
    EXPECT_EQ(raw.read<float>("/VTKHDF/PointData/V"), counted<float>(60));
  }
}

TEST_F(ResultFile, empty_sets_are_written_and_read) {
  {
    ResultWriter writer(path("r.h5"), false);
    writer.add(SolveSet{"s", ScalarType::float64, {3, 1, Storage::dense}, true, 0});
    writer.add(lattice_set(0), ScalarType::float32);
    writer.commit();
  }
  const ResultReader reader(path("r.h5"));
  EXPECT_EQ(reader.solve_sets().at(0).batch, 0);
  EXPECT_EQ(reader.potential_sets().at(0).batch, 0);
}

TEST_F(ResultFile, damaged_results_name_the_dataset) {
  const auto with = [&](const std::function<void(RawHdf5&)>& change) {
    {
      ResultWriter writer(path("r.h5"), true);
      const SolveSet set{"s", ScalarType::float32, {2, 1, Storage::dense}, true, 3};
      writer.add(set);
      SpdBlock<float> block;
      block.resize(set.shape, 3);
      writer.write(set, block);
      write_lattices<float>(writer, lattice_set(2));
      writer.commit();
    }
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    change(file);
  };
  const auto replace = [](const char* name, const testing::Shape& shape, const auto& values) {
    return [=](RawHdf5& file) {
      file.remove(name);
      file.dataset(name, shape, values);
    };
  };
  const auto open = [&] { ResultReader{path("r.h5")}; };
  with([](RawHdf5& file) { file.remove("/solve/s/x"); });
  expect_error(ErrorKind::bad_input, {"r.h5", "/solve/s", "\"x\""}, open);
  with(replace("/solve/s/x", {3, 257}, counted<float>(771)));
  expect_error(ErrorKind::bad_input, {"/solve/s/x", "n <= 256", "(3, 257)"}, open);
  with(replace("/solve/s/info", {3}, counted<float>(3)));
  expect_error(ErrorKind::bad_input, {"/solve/s/info", "int32", "float32"}, open);
  with(replace("/solve/s/backward_error", {4}, counted<float>(4)));
  expect_error(ErrorKind::bad_input, {"/solve/s/backward_error", "(3)", "(4)"}, open);
  with(replace("/solve/s/rcond", {3}, counted<double>(3)));
  expect_error(ErrorKind::bad_input, {"/solve/s/rcond", "float32", "float64"}, open);
  with(replace("/solve/s/smallest_pivot", {3, 1}, counted<float>(3)));
  expect_error(ErrorKind::bad_input, {"/solve/s/smallest_pivot", "(3)", "(3, 1)"}, open);
  with(replace("/solve/s/log_determinant", {3}, counted<float>(3)));
  expect_error(ErrorKind::bad_input, {"/solve/s/log_determinant", "float64", "float32"}, open);
  with(replace("/solve/s/repaired", {2}, counted<std::int32_t>(2)));
  expect_error(ErrorKind::bad_input, {"/solve/s/repaired", "(3)", "(2)"}, open);
  with([](RawHdf5& file) { file.attribute("/solve/s", "compute", "log_determinant"); });
  expect_error(ErrorKind::bad_input, {"/solve/s@n", "1 to 256", "nothing"}, open);
  with([](RawHdf5& file) {
    file.attribute("/solve/s", "compute", "log_determinant");
    file.attribute("/solve/s", "n", std::vector<std::int64_t>{257});
  });
  expect_error(ErrorKind::bad_input, {"/solve/s@n", "(257)"}, open);
  with(replace("/potential/map/V", {2, 3, 5, 4}, counted<float>(120)));
  expect_error(ErrorKind::bad_input, {"/potential/map/V", "(2, 5, 3, 4)", "(2, 3, 5, 4)"}, open);
  with(replace("/potential/map/info", {1}, counted<std::int32_t>(1)));
  expect_error(ErrorKind::bad_input, {"/potential/map/info", "(2)", "(1)"}, open);
}

}  // namespace
}  // namespace smallbatch
