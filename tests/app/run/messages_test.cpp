// Messages between ranks arrive unchanged, NaN and infinities too, and shares add up to the whole.
#include "app/run/messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>

namespace smallbatch {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

TEST(Messages, ALayoutArrivesAsItWas) {
  const OutputLayout layout{"r.h5",
                            "/scratch/\xff\xfe.part-1",  // names need not be UTF-8
                            {{"/solve/a/x", 3, {10, 4, 2}, 2048},
                             {"/solve/\"b\"/info", 1, {0}, -1},
                             {"/potential/c/V", 4, {1, 2, 3, 4}, std::numeric_limits<std::int64_t>::max()},
                             {"", 0, {}, 0}}};
  const OutputLayout back = layout_of(to_message(layout));
  EXPECT_EQ(back.path, layout.path);
  EXPECT_EQ(back.temporary, layout.temporary);
  ASSERT_EQ(back.datasets.size(), layout.datasets.size());
  for (std::size_t k = 0; k < layout.datasets.size(); ++k) {
    EXPECT_EQ(back.datasets[k].name, layout.datasets[k].name);
    EXPECT_EQ(back.datasets[k].type, layout.datasets[k].type);
    EXPECT_EQ(back.datasets[k].shape, layout.datasets[k].shape);
    EXPECT_EQ(back.datasets[k].address, layout.datasets[k].address);
  }
}

/// Makes a message of `set`, adds it to an empty outcome by add_message(), and returns the sum.
SetOutcome sent(const SetOutcome& set, std::int64_t start) {
  ShareOutcome nothing{{SetOutcome{}}, {0}, {}, {}};
  add_message(nothing, to_message(ShareOutcome{{set}, {start}, {}, {}}));
  return nothing.sets.front();
}

TEST(Messages, AnOutcomeArrivesAsItWas) {
  SetOutcome set;
  set.batch = 12;
  set.failed = {{-1, 2}, {3, 1}};
  set.singular = 4;
  set.worst_backward_error = 1.0 / 3;
  set.smallest_rcond = 5e-324;
  set.repaired_pivots = 6;
  set.repaired_systems = 5;
  set.largest_perturbation = 0.1;
  set.verification = {"", 11, 9, 2, inf, 7};
  set.values_checked = std::int64_t{1} << 60;
  set.potential_range = std::array{-inf, 0.1};
  set.energy_range = std::array{-0.1, -0.0};
  set.compute_seconds = 1e-9;
  set.work = 1e300;
  set.problems_hash = ~std::uint64_t{0} - 1;
  std::int64_t sign = 0;
  for (const auto count : failure_counts) set.signs.*count = ++sign;
  set.signs.largest_asymmetry = 0.1;
  const SetOutcome back = sent(set, 100);
  EXPECT_EQ(back.batch, 12);
  EXPECT_EQ(back.failed, set.failed);
  EXPECT_EQ(back.singular, 4);
  EXPECT_EQ(back.worst_backward_error, set.worst_backward_error);
  EXPECT_EQ(back.smallest_rcond, set.smallest_rcond);
  EXPECT_EQ(back.repaired_pivots, 6);
  EXPECT_EQ(back.repaired_systems, 5);
  EXPECT_EQ(back.largest_perturbation, 0.1);
  EXPECT_EQ(back.verification.checked, 11);
  EXPECT_EQ(back.verification.agreed, 9);
  EXPECT_EQ(back.verification.disagreed, 2);
  EXPECT_EQ(back.verification.worst_error_over_bound, inf);
  EXPECT_EQ(back.verification.worst_index, 107);
  EXPECT_EQ(back.values_checked, set.values_checked);
  EXPECT_EQ(back.potential_range, set.potential_range);
  EXPECT_EQ(back.energy_range, set.energy_range);
  EXPECT_EQ(back.compute_seconds, 1e-9);
  EXPECT_EQ(back.work, 1e300);
  EXPECT_EQ(back.problems_hash, set.problems_hash);
  sign = 0;
  for (const auto count : failure_counts) EXPECT_EQ(back.signs.*count, ++sign);
  EXPECT_EQ(back.signs.largest_asymmetry, 0.1);
}

TEST(Messages, WhatIsNoNumberAndWhatIsNotThereStaySo) {
  SetOutcome set;
  set.worst_backward_error = nan;
  set.smallest_rcond = nan;
  const SetOutcome back = sent(set, 5);
  ASSERT_TRUE(back.worst_backward_error && back.smallest_rcond);
  EXPECT_TRUE(std::isnan(*back.worst_backward_error));
  EXPECT_TRUE(std::isnan(*back.smallest_rcond));
  const SetOutcome none = sent(SetOutcome{}, 5);
  EXPECT_FALSE(none.worst_backward_error || none.smallest_rcond || none.potential_range || none.energy_range);
  EXPECT_EQ(none.verification.worst_index, -1);
  EXPECT_TRUE(none.failed.empty());
}

TEST(Messages, WhatIsNotWholeIsRefused) {
  const std::string layout = to_message(OutputLayout{}), outcome = to_message(ShareOutcome{});
  ShareOutcome all{{SetOutcome{}}, {0}, {}, {}};
  EXPECT_THROW((void)layout_of(outcome), std::exception);
  EXPECT_THROW(add_message(all, layout), std::exception);
  EXPECT_THROW(add_message(all, outcome), std::exception);  // the outcome has no sets
  for (std::size_t length = 0; length < layout.size(); ++length)
    EXPECT_THROW((void)layout_of(layout.substr(0, length)), std::exception) << length;
}

TEST(Messages, OutcomesOfSharesAddUp) {
  SetOutcome first, second;
  first.batch = 3;
  first.failed = {{1, 1}};
  first.worst_backward_error = 2;
  first.smallest_rcond = nan;  // the total must be NaN, too
  first.potential_range = std::array{-1.0, 1.0};
  first.verification = {"rule", 3, 3, 0, 0.5, 2};
  first.compute_seconds = 2;
  first.problems_hash = ~std::uint64_t{0};
  second.batch = 2;
  second.failed = {{1, 1}, {-1, 1}};
  second.worst_backward_error = 3;
  second.smallest_rcond = 0.1;
  second.potential_range = std::array{0.0, 5.0};
  second.verification = {"", 2, 1, 1, 1.5, 1};
  second.compute_seconds = 1;
  second.problems_hash = 5;
  ShareOutcome all{{first},
                   {0},
                   {.start = 1, .read = 2, .compute = 3, .verify = 4, .write = 5, .kernels = 6},
                   {{"/a", 1}, {"/b", 2}}};
  add_message(all, to_message(ShareOutcome{{second},
                                           {3},
                                           {.start = 6, .read = 5, .compute = 4, .verify = 3, .write = 2, .kernels = 1},
                                           {{"/b", 40}, {"/\xff", 7}}}));
  const SetOutcome& set = all.sets.front();
  EXPECT_EQ(set.batch, 5);
  EXPECT_EQ(set.failed, (std::map<std::int32_t, std::int64_t>{{1, 2}, {-1, 1}}));
  EXPECT_EQ(set.worst_backward_error, 3);
  ASSERT_TRUE(set.smallest_rcond);
  EXPECT_TRUE(std::isnan(*set.smallest_rcond));
  EXPECT_EQ(set.potential_range, (std::array{-1.0, 5.0}));
  EXPECT_EQ(set.verification.criterion, "rule");
  EXPECT_EQ(set.verification.checked, 5);
  EXPECT_EQ(set.verification.disagreed, 1);
  EXPECT_EQ(set.verification.worst_error_over_bound, 1.5);
  EXPECT_EQ(set.verification.worst_index, 4);
  EXPECT_EQ(set.compute_seconds, 2);
  EXPECT_EQ(set.problems_hash, 4);  // modulo 2^64
  EXPECT_EQ(all.written, (WrittenElements{{"/a", 1}, {"/b", 42}, {"/\xff", 7}}));
  EXPECT_EQ(all.seconds.start, 6);
  EXPECT_EQ(all.seconds.read, 5);
  EXPECT_EQ(all.seconds.compute, 4);
  EXPECT_EQ(all.seconds.verify, 4);
  EXPECT_EQ(all.seconds.write, 5);
  EXPECT_EQ(all.seconds.kernels, 6);
}

}  // namespace
}  // namespace smallbatch
