// A set is cut into blocks that cover it once, in order, and keep the limits.
#include "app/blocks.hpp"

#include <gtest/gtest.h>

namespace smallbatch {
namespace {

SolveSet systems(std::int64_t batch) {
  SolveSet set;
  set.batch = batch;
  set.shape = {32, 1, Storage::dense};
  return set;
}

TEST(SystemBlocks, CoverTheSetInOrder) {
  const SolveSet set = systems(1000);
  for (const std::int64_t per_block : {1, 7, 1000, 5000}) {
    std::int64_t next = 0;
    for (const SystemRange& range : cut_into_blocks(set, per_block * bytes_per_system(set))) {
      EXPECT_EQ(range.first, next);
      EXPECT_GT(range.count, 0);
      EXPECT_LE(range.count, per_block);
      next += range.count;
    }
    EXPECT_EQ(next, 1000);
  }
}

TEST(SystemBlocks, HoldAtLeastOneSystem) { EXPECT_EQ(cut_into_blocks(systems(3), 1).size(), 3U); }
TEST(SystemBlocks, OfNothingAreNone) { EXPECT_TRUE(cut_into_blocks(systems(0), 1 << 20).empty()); }

TEST(SystemBlocks, ASystemIsMatrixRightHandSideSolutionAndNumbers) {
  // backward error, rcond, smallest pivot; ln det A; status, repaired
  EXPECT_EQ(bytes_per_system(systems(1)), 4 * (1024 + 32 + 32 + 3) + 8 + 4 + 4);
  SolveSet set = systems(1);
  set.type = ScalarType::float64;
  set.shape = {64, 0, Storage::dense_lower, true};
  EXPECT_EQ(bytes_per_system(set), 8 * (4096 + 2) + 8 + 4 + 4);
  EXPECT_EQ(result_bytes(set), 8 * 2 + 8 + 4 + 4 + 5);
}

PotentialSet lattices(std::vector<std::int64_t> charges, LatticeShape shape) {
  PotentialSet set;
  set.batch = static_cast<std::int64_t>(charges.size());
  set.offset = {0};
  for (const std::int64_t n : charges) set.offset.push_back(set.offset.back() + n);
  set.shape = shape;
  return set;
}

/// Every plane of every problem once, in the order of the values in the file.
void expect_cover(const PotentialSet& set, const std::vector<PlaneRange>& ranges) {
  std::int64_t next = 0;
  for (const PlaneRange& range : ranges) {
    EXPECT_TRUE(range.count == 1 || (range.first_plane == 0 && range.plane_count == set.shape.nz));
    EXPECT_EQ(range.first * set.shape.nz + range.first_plane, next);
    next += range.count * range.plane_count;
  }
  EXPECT_EQ(next, set.batch * set.shape.nz);
}

TEST(PlaneBlocks, ManySmallLatticesShareABlock) {
  const PotentialSet set = lattices({10, 0, 30, 40, 50}, {4, 4, 4});
  const auto one = cut_into_blocks(set, ScalarType::float32, 1 << 20, 1e9);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].count, 5);
  expect_cover(set, cut_into_blocks(set, ScalarType::float32, 2000, 1e9));
}

TEST(PlaneBlocks, OneLargeLatticeIsCutIntoPlanes) {
  const PotentialSet set = lattices({5, 7}, {64, 64, 10});
  const auto ranges = cut_into_blocks(set, ScalarType::float32, 3 * 64 * 64 * 4, 1e9);
  EXPECT_EQ(ranges.size(), 8U);  // 3 + 3 + 3 + 1 planes, twice
  for (const PlaneRange& range : ranges) EXPECT_LE(range.plane_count, 3);
  expect_cover(set, ranges);
}

TEST(PlaneBlocks, ManyChargesCutByWork) {
  const PotentialSet set = lattices({1000, 1, 1, 1000}, {10, 10, 8});
  const auto ranges = cut_into_blocks(set, ScalarType::float64, 1 << 30, 2.5e5);  // two planes of 1000 charges
  EXPECT_EQ(ranges.size(), 4U + 1U + 4U);
  expect_cover(set, ranges);
}

TEST(PlaneBlocks, AtLeastOnePlane) {
  const PotentialSet set = lattices({5}, {100, 100, 3});
  EXPECT_EQ(cut_into_blocks(set, ScalarType::float32, 1, 1).size(), 3U);
}

}  // namespace
}  // namespace smallbatch
