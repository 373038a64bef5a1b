// Pair-energy sets are read from files that plain HDF5 calls wrote. Energies are written to files that plain HDF5 calls
// read.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
using Groups = std::vector<std::int8_t>;

using PairEnergyProblem = testing::FileTest;
using PairEnergyResults = testing::FileTest;

void write_pairs(const std::string& path, const std::function<void(RawHdf5&)>& more = {}) {
  RawHdf5 file(path);
  file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 4});
  testing::add_pairs_and_signals(file);
  if (more) more(file);
}

TEST_F(PairEnergyProblem, charges_and_groups_come_in_angstrom_and_e) {
  write_pairs(path("p.h5"), [](RawHdf5& file) {
    file.attribute("/pair_energy/e/position", "unit", "nm");
    file.attribute("/pair_energy/e", "cutoff", std::vector<double>{1.25});
    file.attribute("/pair_energy/e", "dielectric", std::vector<double>{4});
    file.attribute("/pair_energy/e", "output_unit", "kcal/mol/e");
    file.dataset("/pair_energy/e/width", {5}, std::vector<double>{1, 2, 3, 4, 5});
  });
  const ProblemReader reader(path("p.h5"));
  EXPECT_TRUE(reader.warnings().empty());
  const PairEnergySet& set = reader.pair_energy_sets().at(0);
  EXPECT_EQ(set.name, "e");
  EXPECT_EQ(set.batch, 2);
  EXPECT_EQ(set.offset, (Offsets{0, 3, 5}));
  EXPECT_TRUE(set.has_groups && set.per_charge);
  EXPECT_EQ(set.cutoff, 12.5);
  EXPECT_EQ(set.dielectric, 4);
  EXPECT_EQ(set.output_unit, PotentialUnit::kcal_per_mol_e);
  PairEnergyBlock block;
  reader.read(set, 1, 1, block);
  EXPECT_EQ(block.first, 1);
  EXPECT_EQ(block.count, 1);
  EXPECT_EQ(block.offset, (Offsets{0, 2}));
  EXPECT_EQ(block.charge, (AlignedVector<double>{-2, 3}));
  EXPECT_EQ(block.group, (Groups{2, 1}));
  ASSERT_EQ(block.position.size(), 6U);
  EXPECT_DOUBLE_EQ(block.position[0], 10 * (0.5 + 9 * 0.25));
  EXPECT_EQ(block.width, (AlignedVector<double>{40, 50}));
  expect_error(ErrorKind::usage, {"\"e\"", "asked for 2 from index 1, there are 2"},
               [&] { reader.read(set, 1, 2, block); });
}

TEST_F(PairEnergyProblem, without_groups_all_pairs_meet_and_without_offset_there_is_one_problem) {
  write_pairs(path("p.h5"), [](RawHdf5& file) {
    file.remove("/pair_energy/e/group");
    file.remove("/pair_energy/e/offset");
    file.remove_attribute("/pair_energy/e", "per_charge");
  });
  const ProblemReader reader(path("p.h5"));
  const PairEnergySet& set = reader.pair_energy_sets().at(0);
  EXPECT_FALSE(set.has_groups || set.per_charge);
  EXPECT_EQ(set.offset, (Offsets{0, 5}));
  PairEnergyBlock block;
  block.group = {1};  // left over from an earlier read
  block.width = {1};
  reader.read(set, 0, 1, block);
  EXPECT_EQ(block.charges().group, nullptr);
  EXPECT_EQ(block.charges().width, nullptr);
  EXPECT_EQ(block.charge.size(), 5U);
}

TEST_F(PairEnergyProblem, frames_of_h5md_are_problems) {
  write_pairs(path("p.h5"), [](RawHdf5& file) {
    for (const char* name : {"position", "charge", "offset", "group"}) {
      file.remove(std::string("/pair_energy/e/") + name);
    }
    file.attribute("/pair_energy/e", "particles", "ions");
    file.dataset("/pair_energy/e/group", {2}, Groups{2, 1});
    file.dataset("/particles/ions/position/value", {3, 2, 3}, counted<float>(18));
    file.dataset("/particles/ions/charge", {2}, std::vector<float>{1, -1});
  });
  const ProblemReader reader(path("p.h5"));
  const PairEnergySet& set = reader.pair_energy_sets().at(0);
  EXPECT_EQ(set.offset, (Offsets{0, 2, 4, 6}));
  PairEnergyBlock block;
  reader.read(set, 1, 2, block);
  EXPECT_EQ(block.position, counted_block<double>(12, 6));
  EXPECT_EQ(block.group, (Groups{2, 1, 2, 1}));
}

TEST_F(PairEnergyProblem, shares_are_read_and_written_in_their_places) {
  write_pairs(path("p.h5"));
  PairEnergySet whole;
  {
    const ProblemReader reader(path("p.h5"));
    whole = reader.pair_energy_sets().at(0);
  }
  ResultWriter writer(path("r.h5"), false);
  writer.add(whole, ScalarType::float64);
  for (int index = 0; index < 2; ++index) {
    ProblemReader reader(path("p.h5"));
    reader.take({index + 1, 3});  // the first of three shares has no problem
    const PairEnergySet& set = reader.pair_energy_sets().at(0);
    ASSERT_EQ(set.batch, 1);
    writer.begin_at(set, reader.start(set));
    PairEnergyBlock block;
    reader.read(set, 0, 1, block);
    EXPECT_EQ(block.charge.front(), index == 0 ? 1 : -2);
    block.resize_results(true);
    block.energy = {index + 0.5};
    block.info = {index};
    block.energy_per_charge = block.charge;
    writer.write(set, block);
    writer.write_verdicts("pair_energy", "e", 0, std::vector{Verdict::agreed}, std::vector{0.25F});
  }
  writer.commit();
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read<double>("/pair_energy/e/energy"), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(raw.read<std::int32_t>("/pair_energy/e/info"), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(raw.read<double>("/pair_energy/e/energy_per_charge"), (std::vector<double>{1, -1, 2, -2, 3}));
  EXPECT_EQ(raw.read<std::int8_t>("/verification/pair_energy/e/verdict"), (std::vector<std::int8_t>{1, 1}));
}

TEST_F(PairEnergyProblem, what_the_writer_writes_is_what_was_given) {
  PairEnergySet set;
  set.name = "salt";
  set.batch = 2;
  set.offset = {0, 1, 3};
  set.has_groups = set.per_charge = true;
  set.softening = 0.5;
  {
    ProblemWriter writer(path("p.h5"), false);
    writer.add(set);
    writer.write_charges(set, 0, counted<double>(9), std::vector<double>{1, 2, 3});
    writer.write_groups(set, 0, Groups{1, 1, 2});
    writer.commit();
  }
  const ProblemReader reader(path("p.h5"));
  const PairEnergySet& found = reader.pair_energy_sets().at(0);
  EXPECT_EQ(found.offset, set.offset);
  EXPECT_EQ(found.softening, 0.5);
  EXPECT_TRUE(found.has_groups && found.per_charge);
  PairEnergyBlock block;
  reader.read(found, 0, 2, block);
  EXPECT_EQ(block.position, counted_block<double>(9));
  EXPECT_EQ(block.charge, (AlignedVector<double>{1, 2, 3}));
  EXPECT_EQ(block.group, (Groups{1, 1, 2}));
}

PairEnergySet results_set(bool per_charge) {
  PairEnergySet set;
  set.name = "salt";
  set.batch = 3;
  set.offset = {0, 2, 2, 5};
  set.has_groups = true;
  set.per_charge = per_charge;
  set.output_unit = PotentialUnit::e_per_angstrom;
  set.cutoff = 8;
  set.width = per_charge ? 0 : 0.5;
  set.has_widths = per_charge;
  return set;
}

void write_results(const std::string& path, const PairEnergySet& set) {
  ResultWriter writer(path, true);
  writer.add(set, ScalarType::float32);
  for (const auto& [first, count] : {std::pair{0, 1}, {1, 2}}) {
    PairEnergyBlock block;
    block.first = first;
    block.count = count;
    block.energy = counted<double>(static_cast<std::size_t>(count), 10 + first);
    block.info = counted<std::int32_t>(static_cast<std::size_t>(count), first);
    if (set.per_charge) block.energy_per_charge = counted_block<double>(first == 0 ? 2 : 3, first == 0 ? 0 : 2);
    writer.write(set, block);
  }
  writer.write_summary("pair_energy", "salt", {});
  writer.commit();
}

TEST_F(PairEnergyResults, come_back) {
  for (const bool per_charge : {false, true}) {
    const PairEnergySet set = results_set(per_charge);
    write_results(path("r.h5"), set);
    {
      const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
      const std::string group = "/pair_energy/salt";
      EXPECT_EQ(raw.read<double>(group + "/energy"), (std::vector<double>{10, 11, 12}));
      EXPECT_EQ(raw.read<std::int32_t>(group + "/info"), (std::vector<std::int32_t>{0, 1, 2}));
      EXPECT_EQ(raw.read_text(group + "/energy", "unit"), "e^2/angstrom");
      EXPECT_EQ(raw.read_text(group, "precision"), "float32");
      EXPECT_EQ(raw.read_attribute<std::int64_t>(group, "groups"), (Offsets{1}));
      EXPECT_EQ(raw.read_attribute<std::int64_t>(group, "per_charge"), (Offsets{per_charge}));
      EXPECT_EQ(raw.read_attribute<double>(group, "cutoff"), (std::vector<double>{8}));
      EXPECT_EQ(raw.has(group + "/offset"), per_charge);
      EXPECT_EQ(raw.has(group + "/energy_per_charge"), per_charge);
      if (per_charge) {
        EXPECT_EQ(raw.read<double>(group + "/energy_per_charge"), counted<double>(5));
        EXPECT_EQ(raw.read_text(group + "/energy_per_charge", "unit"), "e^2/angstrom");
      }
    }
    const ResultReader reader(path("r.h5"));
    const PairEnergySet& found = reader.pair_energy_sets().at(0);
    EXPECT_EQ(found.batch, 3);
    EXPECT_EQ(found.type, ScalarType::float32);
    EXPECT_TRUE(found.has_groups);
    EXPECT_EQ(found.per_charge, per_charge);
    EXPECT_EQ(found.width, set.width);
    EXPECT_EQ(found.has_widths, per_charge);
    EXPECT_EQ(found.output_unit, PotentialUnit::e_per_angstrom);
    EXPECT_EQ(found.offset, per_charge ? set.offset : Offsets{});
    PairEnergyBlock block;
    block.first = 1;
    block.count = 2;
    reader.read(found, block);
    EXPECT_EQ(block.energy, (std::vector<double>{11, 12}));
    EXPECT_EQ(block.info, (std::vector<std::int32_t>{1, 2}));
    EXPECT_EQ(block.energy_per_charge, per_charge ? counted_block<double>(3, 2) : AlignedVector<double>{});
    reader.check_verification("pair_energy", "salt", 3);
  }
}

TEST_F(PairEnergyResults, damaged_ones_name_the_dataset) {
  const auto expect = [&](const std::function<void(RawHdf5&)>& change, const std::vector<std::string>& says) {
    write_results(path("r.h5"), results_set(true));
    {
      RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
      change(file);
    }
    expect_error(ErrorKind::bad_input, says, [&] { ResultReader{path("r.h5")}; });
  };
  const std::string group = "/pair_energy/salt";
  const auto other = [&](const std::string& name, const Shape& shape, const auto& values) {
    return [=](RawHdf5& file) {
      file.remove(group + name);
      file.dataset(group + name, shape, values);
    };
  };
  expect([&](RawHdf5& file) { file.remove(group + "/energy"); }, {"r.h5", group, "\"energy\""});
  expect(other("/energy", {3}, counted<float>(3)), {group + "/energy", "float64", "float32"});
  expect(other("/info", {2}, counted<std::int32_t>(2)), {group + "/info", "(3)", "(2)"});
  expect(other("/energy_per_charge", {4}, counted<double>(4)), {group + "/energy_per_charge", "unit"});
  expect(other("/offset", {4}, Offsets{0, 2, 2, 6}), {group + "/offset", "[3] is 6", "5"});
  expect(other("/offset", {3}, Offsets{0, 2, 5}), {group + "/offset", "(4)", "(3)"});
  expect([&](RawHdf5& file) { file.attribute(group, "precision", "half"); }, {group + "@precision", "\"half\""});
  expect([&](RawHdf5& file) { file.attribute(group, "groups", std::vector<std::int32_t>{2}); },
         {group + "@groups", "0 or 1"});
  expect([&](RawHdf5& file) { file.attribute(group + "/energy", "unit", "kT"); }, {group + "/energy@unit", "\"kT\""});
}

}  // namespace
}  // namespace smallbatch
