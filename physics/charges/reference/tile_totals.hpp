// The referee's totals at a tile of targets.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>

#include "physics/charges/reference/sums.hpp"
#include "physics/charges/reference/tile.hpp"

namespace smallbatch {

/// A number for each target.
using Tile = Eigen::Array<double, tile_targets, 1>;
using ValuesOfTile = Eigen::Map<const Tile>;

/// Running sums that keep the rounding error of each addition (Knuth's two-sum).
struct TileSum {
  Tile sum = Tile::Zero(), lost = Tile::Zero();
  void add(const ValuesOfTile& terms, const ValuesOfTile& lost_of_terms) {
    const Tile next = sum + terms, gained = next - sum;
    lost += ((sum - (next - gained)) + (terms - gained)) + lost_of_terms;
    sum = next;
  }
  void add(int target, long double term) {
    const auto high = static_cast<double>(term);
    const double next = sum[target] + high, gained = next - sum[target];
    lost[target] += (sum[target] - (next - gained)) + (high - gained) + static_cast<double>(term - high);
    sum[target] = next;
  }
  /// Returns the corrected sum. The correction means nothing once the sum is an infinity or a NaN.
  [[nodiscard]] long double total(int target) const {
    const long double rounded = sum[target];
    return std::isfinite(sum[target]) ? rounded + lost[target] : rounded;
  }
};

struct TileTotals {
  TileTargets positions;
  std::array<std::int64_t, tile_targets> target;
  std::array<Eigen::Index, tile_targets> own;  ///< index of the charge that is the target; -1: none
  TileSum potential, field[3];
  Tile bound = Tile::Zero(), field_bound = Tile::Zero();    ///< without their constant factors
  std::array<CompensatedSum, tile_targets> net, on_target;  ///< sums of q and |q| over the charges on the target
  bool any_on_target = false;

  void forget(bool with_field) {
    potential = {};
    bound.setZero();
    if (with_field) {
      for (TileSum& along : field) along = {};
      field_bound.setZero();
    }
    if (any_on_target) net = on_target = {};
    any_on_target = false;
  }
};

}  // namespace smallbatch
