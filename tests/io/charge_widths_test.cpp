// Widths and screening lengths of charges are read from files that plain HDF5 calls wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/not_finite.hpp"
#include "io/problem_reader.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::RawHdf5;

using ChargeWidths = testing::FileTest;

TEST_F(ChargeWidths, come_in_angstrom_as_screening_does) {
  int files = 0;
  const auto write = [&](const std::function<void(RawHdf5&)>& change) {
    const std::string name = path(std::to_string(++files) + ".h5");
    testing::write_good_problems(name, RawHdf5::Mode::create, [&](RawHdf5& file) {
      file.attribute("/potential/p/position", "unit", "nm");
      change(file);
    });
    return ProblemReader(name);
  };
  PotentialBlock<float> block;
  const auto widths_of = [&](const ProblemReader& reader, std::int64_t first, std::int64_t count) {
    const PotentialSet& set = reader.potential_sets().at(0);
    reader.read(set, first, count, block);
    EXPECT_EQ(block.charges().width == nullptr, block.width.empty());
    return std::vector<double>(block.width.begin(), block.width.end());
  };
  const ProblemReader plain = write([](RawHdf5&) {});
  EXPECT_EQ(widths_of(plain, 0, 2), std::vector<double>());
  const std::uint64_t hash = plain.read(plain.potential_sets().at(0), 0, 2, block);

  const ProblemReader screened =
      write([](RawHdf5& file) { file.attribute("/potential/p", "screening_length", std::vector<double>{0.75}); });
  EXPECT_EQ(screened.potential_sets().at(0).screening_length, 7.5);
  EXPECT_EQ(widths_of(screened, 0, 2), std::vector<double>());

  const ProblemReader alike =
      write([](RawHdf5& file) { file.attribute("/potential/p", "width", std::vector<float>{0.5F}, H5T_IEEE_F32BE); });
  EXPECT_EQ(alike.potential_sets().at(0).width, 5);
  EXPECT_FALSE(alike.potential_sets().at(0).has_widths);
  EXPECT_EQ(widths_of(alike, 1, 1), std::vector<double>(3, 5));

  const std::vector<double> stored{0.5, 0, 2, nan};
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE}) {
    ProblemReader reader = write([&](RawHdf5& file) { file.dataset("/potential/p/width", {4}, stored, type); });
    EXPECT_TRUE(reader.warnings().empty());
    EXPECT_TRUE(reader.potential_sets().at(0).has_widths);
    EXPECT_EQ(widths_of(reader, 0, 1), std::vector<double>{5});
    const std::vector<double> second = widths_of(reader, 1, 1);
    EXPECT_EQ((std::vector{second.at(0), second.at(1)}), (std::vector<double>{0, 20}));
    EXPECT_TRUE(std::isnan(second.at(2)));
    EXPECT_NE(reader.read(reader.potential_sets().at(0), 0, 2, block), hash);
    reader.take({1, 2});  // the second of two shares
    EXPECT_EQ(reader.potential_sets().at(0).batch, 1);
    EXPECT_EQ(widths_of(reader, 0, 1).at(1), 20);
  }
  const ProblemReader in_bohr = write([&](RawHdf5& file) {
    file.dataset("/potential/p/width", {4}, stored);
    file.attribute("/potential/p/width", "unit", "bohr");
  });
  EXPECT_DOUBLE_EQ(widths_of(in_bohr, 0, 1).at(0), 0.5 * 0.529177210903);
  EXPECT_EQ(widths_of(plain, 0, 2), std::vector<double>());  // no width is left over from the earlier read
}

TEST_F(ChargeWidths, of_particles_are_those_of_all_frames) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create, [](RawHdf5& file) {
    for (const char* name : {"position", "charge", "offset"}) file.remove(std::string("/potential/p/") + name);
    file.attribute("/potential/p", "particles", "ions");
    file.dataset("/potential/p/width", {2}, std::vector<double>{0.5, 2});
    file.dataset("/particles/ions/position/value", {2, 2, 3}, counted<double>(12));
    file.attribute("/particles/ions/position/value", "unit", "nm");
    file.dataset("/particles/ions/charge", {2}, std::vector<double>{1, -1});
  });
  const ProblemReader reader(path("p.h5"));
  PotentialBlock<double> block;
  reader.read(reader.potential_sets().at(0), 0, 2, block);
  EXPECT_EQ(block.width, (AlignedVector<double>{5, 20, 5, 20}));
}

}  // namespace
}  // namespace smallbatch
