// Every problem is in one share, in order. No share has much more to compute than another.
#include "io/share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace smallbatch {
namespace {

std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> offset{0};
  for (const std::int64_t count : counts) offset.push_back(offset.back() + count);
  return offset;
}

PotentialSet set_of(TargetKind targets, const std::vector<std::int64_t>& charges,
                    const std::vector<std::int64_t>& points) {
  PotentialSet set;
  set.name = "s";
  set.targets = targets;
  set.batch = static_cast<std::int64_t>(charges.size());
  set.offset = offsets(charges);
  if (targets == TargetKind::points) set.point_offset = offsets(points);
  if (targets == TargetKind::lattice) {
    set.shape = {3, 2, 5};
    set.origin.resize(3 * charges.size());
    std::iota(set.origin.begin(), set.origin.end(), 0.0);
    set.spacing.resize(3 * charges.size());
    std::iota(set.spacing.begin(), set.spacing.end(), 1000.0);
  }
  return set;
}

double pairs(const PotentialSet& set, std::int64_t problem) {
  const auto p = static_cast<std::size_t>(problem);
  return static_cast<double>(set.targets_before(problem + 1) - set.targets_before(problem)) *
         static_cast<double>(set.offset[p + 1] - set.offset[p] + 1);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// The shares, one after the other, are the whole set. Each begins where the previous one ended.
void expect_whole(const PotentialSet& set, int count) {
  SCOPED_TRACE(target_kind_name(set.targets) + ", " + std::to_string(set.batch) + " problems, " +
               std::to_string(count) + " shares");
  ShareStart next;
  std::vector<std::int64_t> offset{0}, point_offset{0};
  std::vector<double> origin, spacing;
  double all_pairs = 0, most_of_problem = 0;
  for (std::int64_t p = 0; p < set.batch; ++p) {
    all_pairs += pairs(set, p);
    most_of_problem = std::max(most_of_problem, pairs(set, p));
  }
  for (int index = 0; index < count; ++index) {
    const auto [part, start] = part_of(set, {index, count});
    ASSERT_EQ(start.problem, next.problem) << index;
    ASSERT_EQ(start.charge, next.charge) << index;
    ASSERT_EQ(start.point, next.point) << index;
    ASSERT_EQ(start.target, next.target) << index;
    ASSERT_GE(part.batch, 0);
    ASSERT_EQ(part.offset.size(), static_cast<std::size_t>(part.batch) + 1);
    ASSERT_EQ(part.offset.front(), 0);
    double pairs_of_part = 0;
    for (std::int64_t p = 0; p < part.batch; ++p) {
      pairs_of_part += pairs(part, p);
      offset.push_back(next.charge + part.offset[static_cast<std::size_t>(p) + 1]);
      if (set.targets == TargetKind::points)
        point_offset.push_back(next.point + part.point_offset[static_cast<std::size_t>(p) + 1]);
    }
    EXPECT_LE(pairs_of_part, all_pairs / count + most_of_problem) << index;
    append(origin, part.origin);
    append(spacing, part.spacing);
    next.problem += part.batch;
    next.charge += part.charges();
    next.target += part.targets_before(part.batch);
    if (set.targets == TargetKind::points) next.point += part.point_offset.back();
  }
  EXPECT_EQ(next.problem, set.batch);
  EXPECT_EQ(offset, set.offset);
  EXPECT_EQ(origin, set.origin);
  EXPECT_EQ(spacing, set.spacing);
  EXPECT_EQ(point_offset, set.targets == TargetKind::points ? set.point_offset : std::vector<std::int64_t>{0});
}

TEST(Share, ThoseOfAPotentialSetAreTheSetAgainAndHaveAboutAsManyPairs) {
  const std::vector<std::vector<std::int64_t>> counts{
      {}, {0}, {7}, {0, 0, 0}, {0, 0, 5, 1, 0}, {3, 0, 0, 2, 9, 1, 1}, {100, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 100}};
  std::vector<std::int64_t> many(1000);
  for (std::size_t p = 0; p < many.size(); ++p) many[p] = static_cast<std::int64_t>(p * 7919 % 40);
  auto all = counts;
  all.push_back(many);
  for (const auto& charges : all) {
    const std::vector<std::int64_t> points(charges.rbegin(), charges.rend());
    for (const TargetKind targets : {TargetKind::lattice, TargetKind::points, TargetKind::charges})
      for (const int count : {1, 2, 3, 4, 7, 16, 1500}) expect_whole(set_of(targets, charges, points), count);
  }
}

TEST(Share, ThoseOfEqualProblemsAreEqualWhereTheyCanBe) {
  const std::vector<std::int64_t> charges(12, 5);
  for (const TargetKind targets : {TargetKind::lattice, TargetKind::points, TargetKind::charges})
    for (const int count : {1, 2, 3, 4, 6, 12})
      for (int index = 0; index < count; ++index)
        EXPECT_EQ(part_of(set_of(targets, charges, charges), {index, count}).set.batch, 12 / count) << count;
}

TEST(Share, ThoseOfSystemsDifferByOneAtMost) {
  for (const std::int64_t batch : {0L, 1L, 2L, 6L, 7L, 1000L, std::numeric_limits<std::int64_t>::max()}) {
    const SolveSet set{"s", ScalarType::float32, {8, 1, Storage::dense}, true, batch};
    for (const int count : {1, 2, 3, 7, 1001}) {
      std::int64_t next = 0;
      for (int index = 0; index < count; ++index) {
        const auto [part, start] = part_of(set, {index, count});
        ASSERT_EQ(start.problem, next);
        ASSERT_GE(part.batch, batch / count);
        ASSERT_LE(part.batch - batch / count, 1);
        ASSERT_EQ(part.shape.n, 8);
        next += part.batch;
      }
      ASSERT_EQ(next, batch) << count;
    }
  }
}

TEST(Share, TextsAndBack) {
  EXPECT_EQ(share_text({2, 16}), "3/16");
  for (const Share share : {Share{0, 1}, Share{0, 7}, Share{6, 7}, Share{99'999, 100'000}}) {
    const auto back = parse_share(share_text(share));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->index, share.index);
    EXPECT_EQ(back->count, share.count);
  }
  for (const char* text : {"",     "/",    "1",    "1/",   "/2",    "0/3",   "4/3",
                           "-1/3", "1/-3", "1/0",  "0/0",  "x",     "1/x",   "x/3",
                           "1/3x", " 1/3", "1 /3", "1/ 3", "1.0/3", "1/2/3", "99999999999/99999999999"})
    EXPECT_FALSE(parse_share(text)) << text;
}

}  // namespace
}  // namespace smallbatch
