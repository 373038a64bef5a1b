// The referee's inner loops for every instruction set of this machine, against sums in long double.
#include "physics/charges/reference/tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/physics/true_interaction.hpp"

namespace smallbatch::testing {
namespace {

TEST(TileLoops, BaselineIsLastAndNamesDiffer) {
  const auto usable = usable_tile_loops();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  std::set<std::string> names;
  for (const TileLoops& loops : usable) names.insert(loops.name);
  EXPECT_EQ(names.size(), usable.size());
}

/// Charges in a box of edge 10, and a tile of targets in the same box. The low parts are as large as those of
/// coordinates near 10^6.
class TileLoopsOfAll : public ::testing::Test {
 protected:
  static constexpr int count = 101;
  static constexpr double softening = 0.25, cutoff = 6, screening_length = 4;

  TileLoopsOfAll() {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> place(0, 10), low(-1e-10, 1e-10), charge(-1, 1);
    for (int i = 0; i < count; ++i) {
      for (int axis = 0; axis < 3; ++axis) {
        high_[axis].push_back(place(random));
        low_[axis].push_back(low(random));
      }
      charge_.push_back(charge(random));
      magnitude_.push_back(std::abs(charge_.back()));
      width2_.push_back(i % 5 == 0 ? 0 : std::pow(place(random) / 4, 2));
    }
    for (int k = 0; k < tile_targets; ++k)
      for (int axis = 0; axis < 3; ++axis) {
        targets_.high[axis][k] = place(random);
        targets_.low[axis][k] = low(random);
        targets_.width2[k] = k % 3;
      }
    for (int axis = 0; axis < 3; ++axis) {
      charges_.high[axis] = high_[axis].data();
      charges_.low[axis] = low_[axis].data();
    }
    charges_.charge = charge_.data();
    charges_.counted = charges_.counted_in_field = magnitude_.data();
    charges_.width2 = width2_.data();
    law_.per_screening_length = 1 / screening_length;
    law_.least_bound = 0x1p-960;
  }

  struct Truth {
    long double potential = 0, magnitude = 0, bound = 0, field[3] = {}, field_magnitude = 0, field_bound = 0;
    long double nearest2 = HUGE_VALL;
  };
  /// True sums of the charges first .. last - 1 at target k.
  Truth truth(int first, int last, int k, bool with_low, bool with_cutoff,
              InteractionKind kind = InteractionKind::plain) const {
    Truth sum;
    for (int i = first; i < last; ++i) {
      long double d[3], d2 = 0;
      for (int axis = 0; axis < 3; ++axis) {
        d[axis] = static_cast<long double>(targets_.high[axis][k]) - high_[axis][i];
        if (with_low) d[axis] += static_cast<long double>(targets_.low[axis][k]) - low_[axis][i];
        d2 += d[axis] * d[axis];
      }
      const long double rho2 = d2 + softening * softening, q = charge_[i];
      const TrueAction action =
          kind == InteractionKind::gaussian
              ? true_action(std::sqrt(d2), 0, 0, std::sqrt(static_cast<long double>(width2_[i]) + targets_.width2[k]),
                            false)
              : true_action(std::sqrt(d2), softening, kind == InteractionKind::screened ? screening_length : 0, 0,
                            false);
      const long double rho = action.m;
      const long double w = with_cutoff ? std::max(0.0L, 1 - d2 / (cutoff * cutoff)) : 1;
      sum.nearest2 = std::min(sum.nearest2, rho2);
      sum.potential += q / rho * w * w * action.value;
      const long double along = q * (w * w / (rho * rho * rho) * action.slope +
                                     (with_cutoff ? 4 * w / (rho * cutoff * cutoff) * action.value : 0));
      for (int axis = 0; axis < 3; ++axis) sum.field[axis] += along * d[axis];
      sum.magnitude += std::abs(q) / rho;
      sum.field_magnitude += std::abs(q) / (rho * rho);
      if (with_cutoff && d2 >= law_.reach2) continue;
      const long double length = with_cutoff ? std::min<long double>(rho, cutoff) : rho;
      const long double share = std::abs(q) / rho * (law_.relative + law_.shift / length);
      // The loops leave out constant factors of the bounds, such as the 2 of screening.
      const bool is_screened = kind == InteractionKind::screened;
      sum.bound += share * (is_screened ? action.value_bound / 2 : 1);
      sum.field_bound += share / length * (is_screened ? action.slope_bound / 2 : 1);
    }
    return sum;
  }

  std::vector<double> high_[3], low_[3], charge_, magnitude_, width2_;
  TileCharges charges_;
  TileTargets targets_;
  static constexpr double per_cutoff2 = 1 / (cutoff * cutoff);
  TileLaw law_{softening * softening,
               0,
               3,
               7,
               per_cutoff2,
               static_cast<double>(1 / (static_cast<long double>(cutoff) * cutoff) - per_cutoff2),
               37,
               0x1p54 / 37,
               1 / cutoff};
};

TEST_F(TileLoopsOfAll, AreTrue) {
  constexpr double u = 0x1p-53;
  for (const TileLoops& loops : usable_tile_loops())
    for (const bool exact : {false, true})
      for (const bool field : {false, true})
        for (const auto& [with_cutoff, kind] : {std::pair{false, InteractionKind::plain},
                                                {true, InteractionKind::plain},
                                                {false, InteractionKind::screened},
                                                {true, InteractionKind::screened},
                                                {false, InteractionKind::gaussian},
                                                {true, InteractionKind::gaussian}})
          for (const int targets : {1, 15, 17, tile_targets})
            for (const auto& [first, last] : {std::pair{0, count}, {3, 4}, {7, 12}}) {
              targets_.count = targets;
              TileSums sums;
              loops.loop[exact][field][with_cutoff][kind](charges_, first, last, targets_, law_, sums);
              // Exact loops have almost no error. Other loops lose a unit for each addition. A field loses twice as
              // many, or three times with the cut-off's second term. Exponential and error functions are right to a few
              // units.
              const double allowed = exact ? (kind == InteractionKind::plain ? 0x1p-7 : 4) * u : (8 + last - first) * u;
              for (int k = 0; k < targets; ++k) {
                const Truth expected = truth(first, last, k, exact, with_cutoff, kind);
                const std::string where = std::string(loops.name) + (exact ? " exact" : "") + (field ? " field" : "") +
                                          (with_cutoff ? " cutoff " : " ") + std::to_string(static_cast<int>(kind)) +
                                          ' ' + std::to_string(k);
                EXPECT_LE(
                    std::abs(sums.potential[k] + static_cast<long double>(sums.potential_lost[k]) - expected.potential),
                    allowed * expected.magnitude)
                    << where;
                EXPECT_LE(std::abs(sums.bound[k] - expected.bound), 1e-12L * expected.bound) << where;
                EXPECT_LE(std::abs(sums.nearest2[k] - expected.nearest2), 1e-14L * expected.nearest2) << where;
                if (!field) continue;
                EXPECT_LE(std::abs(sums.field_bound[k] - expected.field_bound), 1e-12L * expected.field_bound) << where;
                for (int axis = 0; axis < 3; ++axis)
                  EXPECT_LE(std::abs(sums.field[axis][k] + static_cast<long double>(sums.field_lost[axis][k]) -
                                     expected.field[axis]),
                            (with_cutoff ? 3 : 2) * allowed * expected.field_magnitude)
                      << where;
              }
            }
}

TEST_F(TileLoopsOfAll, OneChargeIsRightToTheLastPlaces) {
  law_.softening2 = 0;
  targets_.count = 1;
  for (auto& low : targets_.low) low[0] = 0;
  std::vector<double> none(count, 0.0);
  for (auto& low : charges_.low) low = none.data();
  std::mt19937 random(2);
  for (const TileLoops& loops : usable_tile_loops())
    for (int i = 0; i < 2000; ++i) {
      // The displacement lies along one axis, so r is exactly `distance`.
      const double distance = std::uniform_real_distribution<double>(1, 4)(random);
      for (int axis = 0; axis < 3; ++axis) targets_.high[axis][0] = high_[axis][0] = 0;
      targets_.high[i % 3][0] = distance;
      TileSums sums;
      loops.loop[true][false][false].plain(charges_, 0, 1, targets_, law_, sums);
      const long double expected = static_cast<long double>(charge_[0]) / distance;
      EXPECT_LE(std::abs(sums.potential[0] + static_cast<long double>(sums.potential_lost[0]) - expected),
                0x1p-60 * std::abs(expected))
          << loops.name << ' ' << distance;
    }
}

}  // namespace
}  // namespace smallbatch::testing
