// Problem files come back as they were written, in blocks of any size. Files with the units, layouts and types of
// strings that users write are read. One file, because all of its tests write problems and read them.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "io/interchange/h5md.hpp"
#include "io/problem_reader.hpp"
#include "io/problem_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::counted_block;
using testing::expect_error;
using testing::RawHdf5;

using ProblemFile = testing::FileTest;

/// Writes a set in blocks of `step` systems, with numbers that count up. Reads it in blocks of `read_step`.
template <class T>
void round_trip(const std::string& path, SolveSet set, std::int64_t step, std::int64_t read_step) {
  set.type = scalar_type_of<T>;
  const auto matrix = static_cast<std::size_t>(set.shape.matrix_size());
  const auto rhs = static_cast<std::size_t>(set.shape.rhs_size());
  std::vector<std::int32_t> sizes;  // n, n - 1, ..., 0, and again
  for (std::int64_t k = 0; set.shape.has_sizes && k < set.batch; ++k)
    sizes.push_back(set.shape.n - static_cast<std::int32_t>(k % (set.shape.n + 1)));
  {
    ProblemWriter writer(path, true);
    writer.add(set);
    for (std::int64_t first = 0; first < set.batch; first += step) {
      SpdBlock<T> block;
      block.resize(set.shape, std::min(step, set.batch - first));
      block.first = first;
      block.a = counted_block<T>(block.a.size(), static_cast<double>(first) * static_cast<double>(matrix));
      block.b = counted_block<T>(block.b.size(), 0.5 + static_cast<double>(first) * static_cast<double>(rhs));
      if (set.shape.has_sizes) std::copy_n(sizes.begin() + first, block.count, block.sizes.begin());
      writer.write(set, block);
    }
    writer.commit();
  }
  {
    const RawHdf5 raw(path, RawHdf5::Mode::read);
    EXPECT_EQ(raw.has("/solve/s/size"), set.shape.has_sizes);
    if (set.shape.has_sizes) {
      EXPECT_EQ(raw.read<std::int32_t>("/solve/s/size"), sizes);
    }
    EXPECT_EQ(raw.read<T>("/solve/s/A"), counted<T>(matrix * static_cast<std::size_t>(set.batch)));
    EXPECT_EQ(raw.has("/solve/s/b"), set.shape.nrhs > 0);
    EXPECT_EQ(raw.read_attribute<std::int32_t>("/", "smallbatch_format"), (std::vector<std::int32_t>{1, 9}));
    EXPECT_EQ(H5Aexists_by_name(raw.id(), "/solve/s", "uplo", H5P_DEFAULT) > 0,
              set.shape.storage == Storage::dense_lower);
    EXPECT_EQ(H5Aexists_by_name(raw.id(), "/solve/s", "compute", H5P_DEFAULT) > 0, set.shape.determinant_only);
    EXPECT_EQ(raw.read_text("/provenance", "kind"), "problems");
  }
  const ProblemReader reader(path);
  ASSERT_EQ(reader.solve_sets().size(), 1U);
  const SolveSet& found = reader.solve_sets().front();
  EXPECT_EQ(found.name, "s");
  EXPECT_EQ(found.type, set.type);
  EXPECT_EQ(found.batch, set.batch);
  EXPECT_EQ(found.shape.n, set.shape.n);
  EXPECT_EQ(found.shape.nrhs, set.shape.nrhs);
  EXPECT_EQ(found.shape.storage, set.shape.storage);
  EXPECT_EQ(found.shape.determinant_only, set.shape.determinant_only);
  EXPECT_EQ(found.shape.has_sizes, set.shape.has_sizes);
  if (set.shape.nrhs > 0) {
    EXPECT_EQ(found.rhs_is_vector, set.rhs_is_vector);
  }
  EXPECT_TRUE(reader.warnings().empty());
  std::vector<T> a, b;
  std::vector<std::int32_t> read_sizes;
  SpdBlock<T> block;
  for (std::int64_t first = 0; first < set.batch; first += read_step) {
    reader.read(found, first, std::min(read_step, set.batch - first), block);
    EXPECT_EQ(block.first, first);
    EXPECT_EQ(block.x.size(), static_cast<std::size_t>(block.count * set.shape.solution_size()));
    a.insert(a.end(), block.a.begin(), block.a.end());
    b.insert(b.end(), block.b.begin(), block.b.end());
    read_sizes.insert(read_sizes.end(), block.sizes.begin(), block.sizes.end());
  }
  EXPECT_EQ(read_sizes, sizes);
  EXPECT_EQ(a, counted<T>(matrix * static_cast<std::size_t>(set.batch)));
  EXPECT_EQ(b, counted<T>(rhs * static_cast<std::size_t>(set.batch), 0.5));
}

/// n (n + 1) / 2 packed triangles have the shape of one dense matrix. The reader recognises them by the attribute
/// `storage`, by a `b` of three axes, or by numbers that are not symmetric.
TEST_F(ProblemFile, as_many_packed_triangles_as_they_have_numbers) {
  for (const int n : {1, 2, 3, 16}) {
    const std::int64_t batch = n * (n + 1) / 2;
    for (const int nrhs : {0, 1}) {
      const SolveSet set{"s", {}, {n, nrhs, Storage::packed_lower}, true, batch};
      round_trip<float>(path("f.h5"), set, batch, batch);
      const RawHdf5 raw(path("f.h5"), RawHdf5::Mode::read);
      EXPECT_EQ(raw.read_text("/solve/s", "storage"), "packed_lower");
    }
    RawHdf5(path("f.h5"), RawHdf5::Mode::change).remove_attribute("/solve/s", "storage");
    EXPECT_EQ(ProblemReader(path("f.h5")).solve_sets().at(0).shape.n, n);
    const SolveSet columns{"s", {}, {n, 2, Storage::packed_lower}, false, batch};
    round_trip<double>(path("d.h5"), columns, batch, batch);
    RawHdf5(path("d.h5"), RawHdf5::Mode::change).remove_attribute("/solve/s", "storage");
    EXPECT_EQ(ProblemReader(path("d.h5")).solve_sets().at(0).shape.n, n);
  }
}

TEST_F(ProblemFile, solve_sets_come_back_in_blocks_of_any_size) {
  for (const Storage storage : {Storage::dense, Storage::dense_lower, Storage::packed_lower}) {
    for (const int n : {1, 5, 64, 128, 256}) {
      const SolveSet determinants{"s", {}, {n, 0, storage, true}, true, 13},
          sized{"s", {}, {n, 2, storage, false, true}, false, 13};
      round_trip<float>(path("f.h5"), sized, 5, 4);
      round_trip<double>(path("d.h5"), sized, 13, 1);
      round_trip<float>(path("f.h5"), determinants, 5, 4);
      round_trip<double>(path("d.h5"), determinants, 13, 1);
      for (const int nrhs : {0, 1, 4}) {
        for (const bool vector : {true, false}) {
          if (vector && nrhs == 4) continue;
          const SolveSet set{"s", {}, {n, nrhs, storage}, vector, 13};
          round_trip<float>(path("f.h5"), set, 5, 4);
          round_trip<double>(path("d.h5"), set, 13, 1);
        }
      }
    }
  }
}

TEST_F(ProblemFile, datasets_have_the_documented_shapes_and_checksummed_metadata) {
  {
    ProblemWriter writer(path("p.h5"), false);
    for (const auto& [name, storage, vector] :
         {std::tuple{"dense", Storage::dense, true}, std::tuple{"packed", Storage::packed_lower, false}}) {
      const SolveSet set{name, ScalarType::float64, {3, vector ? 1 : 2, storage}, vector, 2};
      writer.add(set);
      SpdBlock<double> block;
      block.resize(set.shape, 2);
      writer.write(set, block);
    }
    writer.provenance("command", "generate");
    writer.commit();
  }
  const RawHdf5 raw(path("p.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.shape("/solve/dense/A"), (testing::Shape{2, 3, 3}));
  EXPECT_EQ(raw.shape("/solve/dense/b"), (testing::Shape{2, 3}));
  EXPECT_EQ(raw.shape("/solve/packed/A"), (testing::Shape{2, 6}));
  EXPECT_EQ(raw.shape("/solve/packed/b"), (testing::Shape{2, 3, 2}));
  EXPECT_EQ(raw.read_text("/provenance", "command"), "generate");
  H5F_info2_t info{};
  H5Fget_info2(raw.id(), &info);
  EXPECT_GE(info.super.version, 2U);  // the first superblock with a checksum
  const hid_t creation = H5Dget_create_plist(H5Dopen2(raw.id(), "/solve/dense/A", H5P_DEFAULT));
  EXPECT_EQ(H5Pget_layout(creation), H5D_CONTIGUOUS);
}

PotentialSet ragged_set(ScalarType type) {
  PotentialSet set;
  set.name = "p";
  set.type = type;
  set.batch = 4;
  set.offset = {0, 2, 2, 7, 9};
  set.shape = {5, 4, 3};
  set.origin = counted<double>(12, -4, 0.5);
  set.spacing = counted<double>(12, 0.25, 0.25);
  set.output_unit = PotentialUnit::kt_per_e;
  set.temperature = 310;
  return set;
}

TEST_F(ProblemFile, potential_sets_come_back_in_blocks_of_any_size) {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64}) {
    const PotentialSet set = ragged_set(type);
    const auto position = counted<double>(27, -2, 0.125), charge = counted<double>(9, -1, 0.25);
    {
      ProblemWriter writer(path("p.h5"), true);
      writer.add(set);
      const std::span all_positions(position), all_charges(charge);
      writer.write_charges(set, 0, all_positions.first(12), all_charges.first(4));
      writer.write_charges(set, 4, all_positions.subspan(12), all_charges.subspan(4));
      writer.commit();
    }
    const ProblemReader reader(path("p.h5"));
    ASSERT_EQ(reader.potential_sets().size(), 1U);
    const PotentialSet& found = reader.potential_sets().front();
    EXPECT_EQ(found.type, type);
    EXPECT_EQ(found.batch, 4);
    EXPECT_EQ(found.offset, set.offset);
    EXPECT_EQ(found.origin, set.origin);
    EXPECT_EQ(found.spacing, set.spacing);
    EXPECT_EQ(found.shape.nx, 5);
    EXPECT_EQ(found.shape.ny, 4);
    EXPECT_EQ(found.shape.nz, 3);
    EXPECT_EQ(found.output_unit, PotentialUnit::kt_per_e);
    EXPECT_EQ(found.temperature, 310);
    EXPECT_TRUE(reader.warnings().empty());
    PotentialBlock<float> block;
    reader.read(found, 1, 2, block);
    EXPECT_EQ(block.first, 1);
    EXPECT_EQ(block.count, 2);
    EXPECT_EQ(block.offset, (std::vector<std::int64_t>{0, 0, 5}));
    EXPECT_EQ(block.position, AlignedVector<double>(position.begin() + 6, position.begin() + 21));
    EXPECT_EQ(block.charge, AlignedVector<double>(charge.begin() + 2, charge.begin() + 7));
    EXPECT_EQ(block.origin, AlignedVector<double>(set.origin.begin() + 3, set.origin.begin() + 9));
    EXPECT_EQ(block.spacing, AlignedVector<double>(set.spacing.begin() + 3, set.spacing.begin() + 9));
    PotentialBlock<double> last;
    reader.read(found, 3, 1, last);
    EXPECT_EQ(last.offset, (std::vector<std::int64_t>{0, 2}));
    EXPECT_EQ(last.charge, AlignedVector<double>(charge.begin() + 7, charge.end()));
  }
}

TEST_F(ProblemFile, a_file_of_other_tools_is_read) {
  testing::write_good_problems(path("p.h5"));
  const ProblemReader reader(path("p.h5"));
  SpdBlock<float> systems;
  reader.read(reader.solve_sets().at(0), 1, 2, systems);
  EXPECT_EQ(systems.a, counted_block<float>(8, 5));
  EXPECT_EQ(systems.b, counted_block<float>(4, 102));
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.output_unit, PotentialUnit::volt);
  EXPECT_EQ(set.temperature, 298.15);
  EXPECT_EQ(set.spacing, (std::vector<double>{0.5, 1, 2, 0.5, 1, 2}));
  PotentialBlock<double> charges;
  reader.read(set, 0, 2, charges);
  EXPECT_EQ(charges.position, counted_block<double>(12, 0.5, 0.25));
  EXPECT_EQ(charges.charge, (AlignedVector<double>{1, -1, 2, -2}));
}

TEST_F(ProblemFile, triangles_and_determinants_are_asked_for_by_attributes_of_any_string_kind) {
  using Text = RawHdf5::Text;
  for (const Text text :
       {Text::fixed_ascii, Text::fixed_utf8, Text::variable_ascii, Text::variable_utf8, Text::space_padded}) {
    {
      RawHdf5 file(path("p.h5"));
      file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 1});
      file.dataset("/solve/s/A", {2, 64, 64}, counted<float>(2 * 64 * 64));
      file.attribute("/solve/s", "uplo", "lower", text);
      file.dataset("/solve/t/A", {2, 2080}, counted<double>(2 * 2080));
      file.attribute("/solve/t", "compute", "log_determinant", text);
    }
    const ProblemReader reader(path("p.h5"));
    EXPECT_TRUE(reader.warnings().empty());
    const SpdShape &lower = reader.solve_sets().at(0).shape, &packed = reader.solve_sets().at(1).shape;
    EXPECT_EQ(lower.storage, Storage::dense_lower);
    EXPECT_TRUE(lower.wants_inverse());
    EXPECT_EQ(packed.storage, Storage::packed_lower);
    EXPECT_EQ(packed.n, 64);
    EXPECT_TRUE(packed.determinant_only);
    EXPECT_EQ(packed.solution_size(), 0);
  }
}

TEST_F(ProblemFile, big_endian_chunks_filters_and_user_blocks_are_read) {
  const auto a = counted<double>(40 * 9, 1), b = counted<double>(40 * 3, -7);
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::create, 1024);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0}, H5T_STD_I64BE);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const testing::Shape chunk{7, 2, 3};  // does not divide 40 x 3 x 3
    H5Pset_chunk(creation, 3, chunk.data());
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 6);
    H5Pset_fletcher32(creation);
    file.dataset("/solve/s/A", {40, 3, 3}, a, H5T_IEEE_F64BE, creation);
    file.dataset("/solve/s/b", {40, 3}, b, H5T_IEEE_F64BE);
    H5Pclose(creation);
  }
  const ProblemReader reader(path("p.h5"));
  SpdBlock<double> block;
  reader.read(reader.solve_sets().at(0), 5, 30, block);
  EXPECT_EQ(block.a, AlignedVector<double>(a.begin() + 45, a.begin() + 315));
  EXPECT_EQ(block.b, AlignedVector<double>(b.begin() + 15, b.begin() + 105));
}

TEST_F(ProblemFile, attributes_of_any_number_are_read_wherever_they_lie) {
  for (const bool is_checksummed : {false, true}) {
    const auto mode = is_checksummed ? RawHdf5::Mode::create_v110 : RawHdf5::Mode::create;
    for (const hsize_t user_block : {0, 512}) {
      for (const int others : {0, 5, 100}) {
        {
          RawHdf5 file(path("p.h5"), mode, user_block);
          file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
          file.dataset("/solve/s/A", {1, 3}, counted<float>(3, 1));
          for (int i = 0; i < others; ++i) {
            file.attribute("/solve/s", "MATLAB_" + std::to_string(i),
                           std::string(static_cast<std::size_t>(i + 1), 'x'));
          }
          file.attribute("/solve/s", "compute", "log_determinant", RawHdf5::Text::variable_utf8);
          for (int i = 0; i < others; i += 2) file.remove_attribute("/solve/s", "MATLAB_" + std::to_string(i));
        }
        const ProblemReader reader(path("p.h5"));
        EXPECT_TRUE(reader.solve_sets().at(0).shape.determinant_only);
      }
    }
  }
}

TEST_F(ProblemFile, files_with_short_addresses_are_read) {
  {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_sizes(creation, 4, 4);
    H5Fclose(H5Fcreate(path("p.h5").c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT));
    H5Pclose(creation);
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/solve/s/A", {1, 3}, counted<float>(3, 1));
  }
  EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().at(0).shape.n, 2);
}

TEST_F(ProblemFile, empty_batches_are_read_as_empty) {
  {
    RawHdf5 file(path("p.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/solve/s/A", {0, 3, 3}, std::vector<float>{});
    file.dataset("/solve/s/b", {0, 3, 2}, std::vector<float>{});
    file.dataset("/potential/none/position", {0, 3}, std::vector<double>{});
    file.dataset("/potential/none/charge", {0}, std::vector<double>{});
    file.dataset("/potential/none/offset", {1}, std::vector<std::int64_t>{0});
    file.dataset("/potential/none/origin", {3}, std::vector<double>{0, 0, 0});
    file.dataset("/potential/none/spacing", {0, 3}, std::vector<double>{});
    file.attribute("/potential/none", "shape", std::vector<std::int64_t>{2, 2, 2});
  }
  const ProblemReader reader(path("p.h5"));
  EXPECT_EQ(reader.solve_sets().at(0).batch, 0);
  EXPECT_EQ(reader.solve_sets().at(0).shape.nrhs, 2);
  SpdBlock<float> block;
  reader.read(reader.solve_sets().at(0), 0, 0, block);
  EXPECT_TRUE(block.a.empty());
  const PotentialSet& set = reader.potential_sets().at(0);
  EXPECT_EQ(set.batch, 0);
  PotentialBlock<double> charges;
  reader.read(set, 0, 0, charges);
  EXPECT_EQ(charges.offset, (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(charges.charge.empty());
}

TEST_F(ProblemFile, sets_are_listed_by_name) {
  {
    RawHdf5 file(path("p.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    for (const char* name : {"c", "a", "b10", "b"}) {
      file.dataset(std::string("/solve/") + name + "/A", {1, 1}, std::vector<float>{1});
    }
  }
  const ProblemReader reader(path("p.h5"));
  std::vector<std::string> names;
  for (const SolveSet& set : reader.solve_sets()) names.push_back(set.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "b10", "c"}));
}

TEST_F(ProblemFile, units_of_every_string_kind_are_converted) {
  using Text = RawHdf5::Text;
  for (const Text text :
       {Text::fixed_ascii, Text::fixed_utf8, Text::variable_ascii, Text::variable_utf8, Text::space_padded}) {
    testing::write_good_problems(path("p.h5"));
    {
      RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
      file.attribute("/potential/p/position", "unit", "nm", text);
      file.attribute("/potential/p/spacing", "unit", "bohr", text);
      file.attribute("/potential/p/charge", "unit", "C", text);
      file.attribute("/potential/p", "output_unit", "kcal/mol/e", text);
      file.attribute("/potential/p", "temperature", std::vector<std::int32_t>{300});
    }
    const ProblemReader reader(path("p.h5"));
    const PotentialSet& set = reader.potential_sets().at(0);
    EXPECT_EQ(set.output_unit, PotentialUnit::kcal_per_mol_e);
    EXPECT_EQ(set.temperature, 300);
    EXPECT_DOUBLE_EQ(set.origin[0], -30);                  // nm, the unit of position
    EXPECT_DOUBLE_EQ(set.spacing[2], 2 * 0.529177210903);  // bohr, the unit of spacing
    PotentialBlock<double> block;
    reader.read(set, 0, 1, block);
    EXPECT_DOUBLE_EQ(block.position[1], 7.5);
    EXPECT_DOUBLE_EQ(block.charge[0], 1 / 1.602176634e-19);
  }
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/potential/p/position", "unit", "\xC3\x85", Text::variable_utf8);
  }
  PotentialBlock<double> block;
  const ProblemReader reader(path("p.h5"));
  reader.read(reader.potential_sets().at(0), 0, 1, block);
  EXPECT_EQ(block.position[0], 0.5);
}

TEST_F(ProblemFile, a_newer_minor_version_and_unused_data_are_warnings) {
  testing::write_good_problems(path("p.h5"));
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 99});
    file.dataset("/solve/s/expected", {1}, std::vector<float>{1});
  }
  {
    const ProblemReader reader(path("p.h5"));
    ASSERT_EQ(reader.warnings().size(), 2U);
    EXPECT_NE(reader.warnings()[0].find("1.99"), std::string::npos);
    EXPECT_NE(reader.warnings()[1].find("/solve/s/expected"), std::string::npos);
  }
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/solve/s", "uplow", "lower");
    file.dataset("/potential/p/groups", {1}, std::vector<float>{1});
  }
  const ProblemReader reader(path("p.h5"));
  ASSERT_EQ(reader.warnings().size(), 4U);
  EXPECT_NE(reader.warnings()[1].find("/solve/s of"), std::string::npos);
  EXPECT_NE(reader.warnings()[1].find("\"uplow\" is unknown: did you mean \"uplo\"?"), std::string::npos);
  EXPECT_NE(reader.warnings()[3].find("/potential/p/groups"), std::string::npos);
}

TEST_F(ProblemFile, what_other_programs_put_on_objects_is_left_alone) {
  testing::write_good_problems(path("p.h5"));
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    for (const char* object : {"/solve", "/solve/s", "/solve/s/A", "/potential/p", "/potential/p/position"}) {
      for (const char* name : {"CLASS",
                               "NAME",
                               "DIMENSION_LIST",
                               "REFERENCE_LIST",
                               "DIMENSION_LABELS",
                               "TITLE",
                               "VERSION",
                               "FLAVOR",
                               "FILTERS",
                               "EXTDIM",
                               "NROWS",
                               "H5PATH",
                               "_FillValue",
                               "_Netcdf4Dimid",
                               "_Netcdf4Coordinates",
                               "_NCProperties",
                               "_nc3_strict",
                               "_NCCOPY",
                               "Conventions",
                               "coordinates",
                               "long_name",
                               "standard_name",
                               "MATLAB_class",
                               "MATLAB_int_decode",
                               "OCTAVE_GLOBAL",
                               "comment",
                               "description",
                               "history",
                               "title"}) {
        file.attribute(object, name, "theirs", RawHdf5::Text::variable_utf8);
      }
    }
    // /solve/s has A, so the name a is not taken for a misspelt A.
    file.dataset("/solve/s/a", {1}, std::vector<float>{1});
  }
  const ProblemReader reader(path("p.h5"));
  ASSERT_EQ(reader.warnings().size(), 1U);
  EXPECT_NE(reader.warnings()[0].find("/solve/s/a"), std::string::npos);
}

TEST_F(ProblemFile, sets_under_almost_the_right_name_are_warned_of) {
  testing::write_good_problems(path("p.h5"));
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.dataset("/Solve/s/A", {1, 1, 1}, std::vector<float>{1});
    file.dataset("/potentials", {1}, std::vector<float>{1});
    file.group("/particles");
    file.group("/provenance");
  }
  const ProblemReader reader(path("p.h5"));
  ASSERT_EQ(reader.warnings().size(), 2U);
  EXPECT_EQ(reader.warnings()[0], "/Solve of " + path("p.h5") + " is not used: did you mean /solve?");
  EXPECT_EQ(reader.warnings()[1], "/potentials of " + path("p.h5") + " is not used: did you mean /potential?");
}

TEST_F(ProblemFile, positions_without_a_unit_are_noted_once) {
  testing::write_good_problems(path("p.h5"));
  {
    const ProblemReader reader(path("p.h5"));
    EXPECT_TRUE(reader.warnings().empty());
    ASSERT_EQ(reader.notes().size(), 1U);
    EXPECT_EQ(reader.notes()[0], "/potential/p/position of " + path("p.h5") + " has no unit: read as angstrom.");
  }
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    for (const char* set : {"/potential/q", "/potential/r", "/potential/s"}) {
      H5Ocopy(file.id(), "/potential/p", file.id(), set, H5P_DEFAULT, H5P_DEFAULT);
    }
    file.attribute("/potential/q/position", "unit", "angstrom");
  }
  {
    const ProblemReader reader(path("p.h5"));
    ASSERT_EQ(reader.notes().size(), 1U);
    EXPECT_EQ(reader.notes()[0],
              "/potential/p/position and 2 more of " + path("p.h5") + " have no unit: read as angstrom.");
  }
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    for (const char* set : {"p", "r", "s"})
      file.attribute("/potential/" + std::string(set) + "/position", "unit", "pm");
  }
  EXPECT_TRUE(ProblemReader(path("p.h5")).notes().empty());
}

TEST_F(ProblemFile, what_is_not_there_cannot_be_read) {
  testing::write_good_problems(path("p.h5"));
  const ProblemReader reader(path("p.h5"));
  SpdBlock<float> block;
  SpdBlock<double> wrong;
  expect_error(ErrorKind::usage, {"3"}, [&] { reader.read(reader.solve_sets()[0], 2, 2, block); });
  expect_error(ErrorKind::usage, {"-1"}, [&] { reader.read(reader.solve_sets()[0], -1, 1, block); });
  expect_error(ErrorKind::usage, {"float32", "float64"}, [&] { reader.read(reader.solve_sets()[0], 0, 1, wrong); });
}

// H5MD

/// Writes three frames of two particles, in one of the layouts that programs use.
void write_trajectory(RawHdf5& file, bool charge_per_frame, bool unit_on_group) {
  const std::string element = "/particles/all/position";
  file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
  file.group("/h5md");
  file.attribute("/h5md", "version", std::vector<std::int32_t>{1, 1});
  file.dataset(element + "/value", {3, 2, 3}, counted<float>(18));
  file.dataset(element + "/step", {3}, std::vector<std::int32_t>{0, 10, 20});
  file.attribute(element, "software", "another program's");
  file.attribute(unit_on_group ? element : element + "/value", "unit", "nm", RawHdf5::Text::variable_utf8);
  if (charge_per_frame) {
    file.dataset("/particles/all/charge/value", {3, 2}, counted<double>(6, 10));
    file.attribute("/particles/all/charge/value", "unit", "e");
  } else {
    file.dataset("/particles/all/charge", {2}, std::vector<double>{0.5, -0.5});
  }
}

void write_particles_set(RawHdf5& file) {
  file.group("/potential/md");
  file.attribute("/potential/md", "particles", "all", RawHdf5::Text::variable_utf8);
  file.attribute("/potential/md", "shape", std::vector<std::int64_t>{2, 2, 2});
  file.dataset("/potential/md/origin", {3}, std::vector<double>{1, 2, 3});
  file.dataset("/potential/md/spacing", {3}, std::vector<double>{1, 1, 1});
  file.attribute("/potential/md/spacing", "unit", "angstrom");
}

TEST_F(ProblemFile, frames_of_an_h5md_group_are_a_batch) {
  for (const bool charge_per_frame : {true, false}) {
    {
      RawHdf5 file(path("md.h5"));
      write_trajectory(file, charge_per_frame, charge_per_frame);
      write_particles_set(file);
    }
    const ProblemReader reader(path("md.h5"));
    const PotentialSet& set = reader.potential_sets().at(0);
    EXPECT_EQ(set.particles, "all");
    EXPECT_EQ(set.batch, 3);
    EXPECT_EQ(set.offset, (std::vector<std::int64_t>{0, 2, 4, 6}));
    EXPECT_EQ(set.type, ScalarType::float32);
    EXPECT_EQ(set.origin, (std::vector<double>{10, 20, 30, 10, 20, 30, 10, 20, 30}));  // nm, like the positions
    EXPECT_EQ(set.spacing[8], 1);
    PotentialBlock<double> block;
    reader.read(set, 1, 2, block);
    EXPECT_EQ(block.offset, (std::vector<std::int64_t>{0, 2, 4}));
    EXPECT_EQ(block.position, counted_block<double>(12, 60, 10));
    EXPECT_EQ(block.charge,
              charge_per_frame ? counted_block<double>(4, 12) : (AlignedVector<double>{0.5, -0.5, 0.5, -0.5}));
    EXPECT_EQ(reader.warnings().size(), charge_per_frame ? 0U : 1U);  // a warning: the fixed charges have no unit

    const H5mdReader molecules(path("md.h5"), "");
    EXPECT_EQ(molecules.frames(), 3);
    const Molecule molecule = molecules.read(2);
    EXPECT_EQ(molecule.position, counted<double>(6, 120, 10));
    EXPECT_EQ(molecule.charge, charge_per_frame ? counted<double>(2, 14) : (std::vector<double>{0.5, -0.5}));
    expect_error(ErrorKind::usage, {"3"}, [&] { (void)molecules.read(3); });
  }
}

TEST_F(ProblemFile, charges_of_other_steps_than_the_positions_are_refused) {
  for (const bool in_observables : {false, true}) {
    const std::string charge = in_observables ? "/observables/all/charge" : "/particles/all/charge";
    const auto write = [&](const std::vector<std::int64_t>& steps) {
      RawHdf5 file(path("md.h5"));
      write_trajectory(file, true, true);
      if (in_observables) {
        file.remove("/particles/all/charge");
        file.dataset(charge + "/value", {3, 2}, counted<double>(6));
      }
      file.dataset(charge + "/step", {static_cast<hsize_t>(steps.size())}, steps);
    };
    write({0, 10, 20});
    EXPECT_EQ(H5mdReader(path("md.h5"), "").frames(), 3);
    write({0, 5, 10});
    expect_error(ErrorKind::bad_input, {"md.h5", charge + "/step", "frame 1 is step 5", "step 10"},
                 [&] { H5mdReader(path("md.h5"), ""); });
    write({0, 10});  // it is unknown which frames these steps belong to
    expect_error(ErrorKind::bad_input, {"md.h5", charge + "/step", "2 steps", "3"},
                 [&] { H5mdReader(path("md.h5"), ""); });
  }
}

TEST_F(ProblemFile, what_is_in_one_order_for_all_frames_needs_to_be_known_whose_it_is) {
  for (const bool charge_per_frame : {true, false}) {
    for (const bool is_sorted_first : {true, false}) {
      for (const bool has_groups : {true, false}) {
        {
          RawHdf5 file(path("md.h5"));
          write_trajectory(file, charge_per_frame, true);
          file.dataset("/particles/all/id/value", {3, 2},
                       is_sorted_first ? std::vector<std::int32_t>{4, 7, 4, 7, 7, 4}
                                       : std::vector<std::int32_t>{7, 4, 7, 4, 4, 7});
          write_particles_set(file);
          if (has_groups) file.dataset("/potential/md/group", {2}, std::vector<std::int32_t>{1, 2});
        }
        if (is_sorted_first || (charge_per_frame && !has_groups)) {
          const ProblemReader reader(path("md.h5"));
          PotentialBlock<double> block;
          reader.read(reader.potential_sets().at(0), 1, 2, block);
          EXPECT_EQ(block.charge,
                    charge_per_frame ? counted_block<double>(4, 12) : (AlignedVector<double>{0.5, -0.5, -0.5, 0.5}));
          if (has_groups) {
            EXPECT_EQ(block.group, (std::vector<std::int8_t>{1, 2, 2, 1}));
          }
        } else {
          expect_error(ErrorKind::bad_input, {"md.h5", "/particles/all/id/value", "first frame", "Sort the particles"},
                       [&] { ProblemReader{path("md.h5")}; });
        }
      }
    }
  }
}

TEST_F(ProblemFile, h5md_without_frames_and_with_a_periodic_box_is_read_with_warnings) {
  {
    RawHdf5 file(path("md.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/particles/all/position", {2, 3}, counted<double>(6));
    file.dataset("/particles/all/charge", {2}, std::vector<float>{1, 2});
    file.group("/particles/all/box");
    file.attribute("/particles/all/box", "boundary", "periodic", RawHdf5::Text::variable_ascii);
    write_particles_set(file);
  }
  const ProblemReader reader(path("md.h5"));
  EXPECT_EQ(reader.potential_sets().at(0).batch, 1);
  EXPECT_EQ(reader.potential_sets().at(0).type, ScalarType::float64);
  ASSERT_EQ(reader.warnings().size(), 3U);
  EXPECT_NE(reader.warnings()[2].find("periodic"), std::string::npos);
  EXPECT_EQ(H5mdReader(path("md.h5"), "all").read(0).charge, (std::vector<double>{1, 2}));
}

TEST_F(ProblemFile, h5md_errors_name_the_dataset) {
  const auto with = [&](const std::function<void(RawHdf5&)>& change) {
    RawHdf5 file(path("md.h5"));
    write_trajectory(file, true, false);
    change(file);
  };
  const auto open = [&](const std::string& group) { return [this, group] { H5mdReader(path("md.h5"), group); }; };
  with([](RawHdf5&) {});
  expect_error(ErrorKind::bad_input, {"md.h5", "/particles", "\"water\""}, open("water"));
  with([](RawHdf5& file) { file.group("/particles/water"); });
  expect_error(ErrorKind::bad_input, {"\"all\"", "\"water\""}, open(""));
  with([](RawHdf5& file) { file.remove("/particles/all/charge"); });
  expect_error(ErrorKind::bad_input, {"/particles/all", "no dataset \"charge\""}, open("all"));
  with([](RawHdf5& file) {
    file.remove("/particles/all/charge/value");
    file.dataset("/particles/all/charge/value", {2, 2}, counted<double>(4));
  });
  expect_error(ErrorKind::bad_input, {"/particles/all/charge/value", "(3, 2)", "(2, 2)"}, open("all"));
  with([](RawHdf5& file) {
    file.remove("/particles/all/position");
    file.dataset("/particles/all/position", {2, 2}, counted<double>(4));
  });
  expect_error(ErrorKind::bad_input, {"/particles/all/position", "(N, 3)", "(2, 2)"}, open("all"));
  for (const char* object : {"position", "position/value", "charge", "charge/value"}) {
    const std::string name = std::string("/particles/all/") + object;
    with([&](RawHdf5& file) { file.attribute(name, "units", "nm"); });
    expect_error(ErrorKind::bad_input, {name + " of", "\"units\" is unknown: did you mean \"unit\"?"}, open("all"));
  }
  with([](RawHdf5& file) { file.group("/particles/a\tb"); });
  expect_error(ErrorKind::bad_input, {"/particles", "\"a\\x09b\"", "control characters"}, open("a\tb"));
  with([](RawHdf5& file) { file.attribute("/particles/all/position/value", "unit", "furlong"); });
  expect_error(ErrorKind::bad_input, {"/particles/all/position/value@unit", "nm", "\"furlong\""}, open("all"));
}

}  // namespace
}  // namespace smallbatch
