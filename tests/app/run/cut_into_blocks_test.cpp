// Blocks cover a set once, in order, and keep the limits of bytes and of pairs.
#include "app/run/cut_into_blocks.hpp"

#include <gtest/gtest.h>

#include "app/verification/outcome.hpp"

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
  // The summands are A, b, x and four numbers of the type (backward error, rcond, smallest pivot, perturbation), then
  // ln det A, status and repaired.
  EXPECT_EQ(bytes_per_system(systems(1)), 4 * (1024 + 32 + 32 + 4) + 8 + 4 + 4);
  SolveSet set = systems(1);
  set.type = ScalarType::float64;
  set.shape = {64, 0, Storage::dense_lower, true};
  EXPECT_EQ(bytes_per_system(set), 8 * (4096 + 3) + 8 + 4 + 4);
  EXPECT_EQ(result_bytes(set), 8 * 3 + 8 + 4 + 4 + 5);
}

PotentialSet lattices(std::vector<std::int64_t> charges, LatticeShape shape) {
  PotentialSet set;
  set.batch = static_cast<std::int64_t>(charges.size());
  set.offset = {0};
  for (const std::int64_t n : charges) set.offset.push_back(set.offset.back() + n);
  set.shape = shape;
  return set;
}

/// Expects that the ranges cover every plane of every problem once, in the order of the values in the file.
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
  const auto ranges = cut_into_blocks(set, ScalarType::float32, 3 * (64 * 64 * 4 + 32), 1e9);  // 32: the summary
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

/// Returns a set with charges[p] charges and targets[p] points in problem p.
PotentialSet points(const std::vector<std::int64_t>& charges, const std::vector<std::int64_t>& targets) {
  PotentialSet set = lattices(charges, {});
  set.targets = TargetKind::points;
  set.point_offset = {0};
  for (const std::int64_t n : targets) set.point_offset.push_back(set.point_offset.back() + n);
  return set;
}

TEST(PointBlocks, HoldWholeProblemsWithinTheLimits) {
  const PotentialSet set = points({10, 0, 5, 1000, 5}, {100, 100, 0, 1000, 1});
  for (const double pairs : {1.0, 1000.0, 1e9}) {
    for (const std::int64_t bytes : {1, 4000, 1 << 20}) {
      std::int64_t next = 0;
      for (const PlaneRange& range : cut_into_blocks(set, ScalarType::float32, bytes, pairs)) {
        EXPECT_EQ(range.first, next);
        ASSERT_GT(range.count, 0);
        next += range.count;
        if (range.count == 1) continue;
        EXPECT_LE(bytes_per_block(set, range, ScalarType::float32), bytes);
        double work = 0;
        for (std::int64_t p = range.first; p < next; ++p)
          work += static_cast<double>(set.point_offset[p + 1] - set.point_offset[p]) *
                  static_cast<double>(set.offset[p + 1] - set.offset[p]);
        EXPECT_LE(work, pairs);
      }
      EXPECT_EQ(next, 5);
    }
  }
  EXPECT_EQ(cut_into_blocks(set, ScalarType::float32, 1 << 20, 1e9).size(), 1U);
  EXPECT_EQ(cut_into_blocks(set, ScalarType::float32, 1, 1e9).size(), 5U);
}

TEST(PointBlocks, CountChargesPointsValuesAndFields) {
  PotentialSet set = points({3}, {7});
  EXPECT_EQ(pairs(set), 21);
  EXPECT_EQ(bytes_per_block(set, {0, 1, 0, 0}, ScalarType::float32), 3 * 32 + 7 * (24 + 4));
  set.has_field = true;
  EXPECT_EQ(bytes_per_block(set, {0, 1, 0, 0}, ScalarType::float64), 3 * 32 + 7 * (24 + 32));
  set.targets = TargetKind::charges;
  EXPECT_EQ(pairs(set), 9);
  EXPECT_EQ(bytes_per_block(set, {0, 1, 0, 0}, ScalarType::float32), 3 * (32 + 16));
}

TEST(PlaneBlocks, FieldsMakePlanesLarger) {
  PotentialSet set = lattices({5}, {64, 64, 8});
  set.has_field = true;
  const auto ranges = cut_into_blocks(set, ScalarType::float32, 2 * (64 * 64 * 16 + 32), 1e9);
  EXPECT_EQ(ranges.size(), 4U);
  expect_cover(set, ranges);
}

TEST(PlaneBlocks, CountThePlanesSummaries) {  // summaries take most of the bytes if planes are small
  const PotentialSet set = lattices({0}, {1, 1, 1000});
  EXPECT_EQ(bytes_per_block(set, {0, 1, 0, 10}, ScalarType::float64), 10 * (8 + 32));
  EXPECT_EQ(cut_into_blocks(set, ScalarType::float64, 100 * (8 + 32), 1e9).size(), 10U);
}

TEST(PlaneBlocks, AtLeastOnePlane) {
  const PotentialSet set = lattices({5}, {100, 100, 3});
  EXPECT_EQ(cut_into_blocks(set, ScalarType::float32, 1, 1).size(), 3U);
}

PairEnergySet problems_of(const std::vector<std::int64_t>& charges) {
  PairEnergySet set;
  set.batch = static_cast<std::int64_t>(charges.size());
  set.offset = {0};
  for (const std::int64_t n : charges) set.offset.push_back(set.offset.back() + n);
  return set;
}

TEST(PairEnergyBlocks, AreWholeProblemsWithinBytesAndPairs) {
  const PairEnergySet set = problems_of({10, 0, 100, 10, 10, 1000});
  std::vector<std::int64_t> counts;
  for (const SystemRange& range : cut_into_blocks(set, 1 << 20, 5000)) counts.push_back(range.count);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 2, 1}));  // 45 + 4950 pairs, 90, 499,500
  EXPECT_EQ(cut_into_blocks(set, 1, 1e9).size(), 6U);
  EXPECT_TRUE(cut_into_blocks(problems_of({}), 1, 1).empty());
  EXPECT_EQ(pairs(set), 3 * 45 + 4950 + 499500);
}

TEST(PairEnergyBlocks, CountThePairsThatMeet) {
  PairEnergyBlock block;
  block.count = 2;
  block.offset = {0, 3, 6};
  EXPECT_EQ(pairs(block), 6);
  block.group = {1, 2, 2, 1, 1, 3};
  EXPECT_EQ(pairs(block), 2);
}

CorrelationSet recording(std::int64_t channels, std::int64_t times, std::int64_t inputs, std::int64_t integrate) {
  CorrelationSet set;
  set.batch = channels;
  set.times = times;
  set.inputs = inputs;
  set.integrate = integrate;
  set.type = SampleType::complex_int8;
  return set;
}

/// Expects that blocks cover each sample once. Blocks with all times of some channels come before blocks with the next
/// channels. A block has whole integrations, or a piece of one.
void expect_cover(const CorrelationSet& set, std::int64_t block_bytes) {
  std::int64_t channel = 0, time = 0, together = 0;
  for (const SignalRange& range : cut_into_blocks(set, block_bytes)) {
    if (time == 0) together = range.channels;
    ASSERT_EQ(range.first, channel);
    ASSERT_EQ(range.first_time, time);
    ASSERT_EQ(range.channels, together);
    const std::int64_t before = time % set.integrate;
    time += range.times;
    EXPECT_TRUE((before == 0 && (time == set.times || time % set.integrate == 0)) ||
                before + range.times <= set.integrate);
    if (time < set.times) continue;
    channel += together;
    time = 0;
  }
  EXPECT_EQ(channel, set.batch);
}

TEST(SignalBlocks, CoverTheSetInOrder) {
  for (const std::int64_t block_bytes : {1, 1000, 30000, 1 << 20, 1 << 30})
    for (const std::int64_t integrate : {1, 7, 1000, 99999}) {
      expect_cover(recording(5, 99999, 8, integrate), block_bytes);
      expect_cover(recording(1, 0, 3, 1), block_bytes);
      expect_cover(recording(0, 5, 3, 1), block_bytes);
    }
}

TEST(SignalBlocks, KeepTheirBytesAsFarAsSumsLetThem) {
  const std::int64_t block_bytes = 1 << 20;
  for (const std::int64_t integrate : {1, 100, 1 << 14, 1 << 20}) {
    const CorrelationSet set = recording(64, 1 << 20, 32, integrate);
    for (const SignalRange& range : cut_into_blocks(set, block_bytes))
      EXPECT_LE(bytes_per_block(set, range), block_bytes) << integrate;
  }
  // 4096 inputs: the sums of one channel take 100 MB. Samples get half of the block size in addition.
  const CorrelationSet wide = recording(2, 1 << 16, 4096, 1 << 16);
  EXPECT_EQ(cut_into_blocks(wide, block_bytes).front().times, 64);
}

TEST(SignalBlocks, AreCutAlikeWhateverTheShare) {
  const auto of = [](std::int64_t channels) {
    std::vector<std::int64_t> times;
    for (const SignalRange& range : cut_into_blocks(recording(channels, 1 << 20, 32, 1 << 20), 1 << 22)) {
      if (range.first == 0) times.push_back(range.times);
    }
    return times;
  };
  EXPECT_GT(of(64).size(), 1U);
  EXPECT_EQ(of(1), of(64));
}

}  // namespace
}  // namespace smallbatch
