// The one body of the referee's inner loops. Each file that includes it is compiled for an instruction set, with Eigen
// under a name of its own, so that no function of one takes the place of another's.
#pragma once

#include <Eigen/Core>
#include <limits>

#include "physics/reference/tile.hpp"

namespace smallbatch {

namespace {

constexpr int lanes_of_register = Eigen::internal::packet_traits<double>::size;
/// Eigen's reciprocal roots are roots and quotients, each rounded once; with AVX-512 they are estimates after two steps
/// of Newton's method, some units in the last place off, which a third one makes up for.
constexpr bool roots_are_rounded = lanes_of_register < 8;

/// Running sums, one per lane. (Written without +=, with which GCC stores them in each step.)
template <bool exact, class Lanes>
struct LaneSums {
  Lanes sum = Lanes::Zero(), lost = Lanes::Zero();
  void add(const Lanes& terms) {
    if constexpr (exact) {  // Knuth's two-sum
      const Lanes next = sum + terms, gained = next - sum;
      lost = lost + ((sum - (next - gained)) + (terms - gained));
      sum = next;
    } else {
      sum = sum + terms;
    }
  }
};

template <bool exact, bool field, bool cutoff>
void add_charges(const TileCharges& charges, std::int64_t first, std::int64_t last, const TileTargets& targets,
                 const TileLaw& law, TileSums& sums) {
  // As many as registers hold the sums of.
  constexpr int lanes = (field ? 2 : 4) * lanes_of_register;
  static_assert(tile_targets % lanes == 0);
  using Lanes = Eigen::Array<double, lanes, 1>;
  using Stored = Eigen::Map<Lanes, Eigen::AlignedMax>;
  using Given = Eigen::Map<const Lanes, Eigen::AlignedMax>;
  for (int begin = 0; begin < targets.count; begin += lanes) {
    const Lanes x = Given(targets.high[0] + begin), x_low = Given(targets.low[0] + begin);
    const Lanes y = Given(targets.high[1] + begin), y_low = Given(targets.low[1] + begin);
    const Lanes z = Given(targets.high[2] + begin), z_low = Given(targets.low[2] + begin);
    LaneSums<exact, Lanes> potential, field_x, field_y, field_z;
    Lanes bound = Lanes::Zero(), field_bound = Lanes::Zero();
    Lanes nearest2 = Lanes::Constant(std::numeric_limits<double>::infinity());
    for (std::int64_t i = first; i < last; ++i) {
      Lanes dx = x - charges.high[0][i], dy = y - charges.high[1][i], dz = z - charges.high[2][i];
      if constexpr (exact) {
        dx += x_low - charges.low[0][i];
        dy += y_low - charges.low[1][i];
        dz += z_low - charges.low[2][i];
      }
      const Lanes rho2 = law.softening2 + dx.square() + dy.square() + dz.square();
      nearest2 = nearest2.min(rho2);
      Lanes reciprocal = rho2.rsqrt();  // 1 / rho
      if constexpr (exact && !roots_are_rounded)
        reciprocal = reciprocal + reciprocal * (0.5 * (1 - (rho2 * reciprocal) * reciprocal));
      const double charge = charges.charge[i];
      const Lanes factor = law.relative + law.shift * reciprocal;
      if constexpr (!cutoff) {
        const Lanes along = charge * reciprocal;
        potential.add(along);
        bound = bound + (charges.counted[i] * reciprocal) * factor;
        if constexpr (field) {
          field_bound = field_bound + (charges.counted_in_field[i] * reciprocal) * reciprocal * factor;
          const Lanes per_rho2 = along * reciprocal;
          field_x.add(per_rho2 * (dx * reciprocal));
          field_y.add(per_rho2 * (dy * reciprocal));
          field_z.add(per_rho2 * (dz * reciprocal));
        }
      } else {
        const Lanes distance2 = dx.square() + dy.square() + dz.square();
        const Lanes counts = ((law.reach2 - distance2) * law.per_last_digit_of_reach2).max(0).min(1);  // 1 or 0
        const Lanes share = counts * (reciprocal * factor);
        bound = bound + charges.counted[i] * share;
        const Lanes w = (1 - distance2 * law.per_cutoff2).max(0);
        potential.add((charge * reciprocal) * w.square());
        if constexpr (field) {
          const Lanes per_four_cutoffs = (rho2 * reciprocal * law.per_four_cutoffs).max(1);  // rho / 4c
          field_bound = field_bound + (charges.counted_in_field[i] * share) * (reciprocal * per_four_cutoffs);
          const Lanes along = charge * (w * (w * reciprocal.square() + 4 * law.per_cutoff2));
          field_x.add(along * (dx * reciprocal));
          field_y.add(along * (dy * reciprocal));
          field_z.add(along * (dz * reciprocal));
        }
      }
    }
    Stored(sums.potential + begin) = potential.sum;
    Stored(sums.potential_lost + begin) = potential.lost;
    Stored(sums.bound + begin) = bound;
    Stored(sums.nearest2 + begin) = nearest2;
    if constexpr (!field) continue;
    Stored(sums.field[0] + begin) = field_x.sum;
    Stored(sums.field[1] + begin) = field_y.sum;
    Stored(sums.field[2] + begin) = field_z.sum;
    Stored(sums.field_lost[0] + begin) = field_x.lost;
    Stored(sums.field_lost[1] + begin) = field_y.lost;
    Stored(sums.field_lost[2] + begin) = field_z.lost;
    Stored(sums.field_bound + begin) = field_bound;
  }
}

constexpr TileLoops loops_named(const char* name) {
  return {name,
          {{{add_charges<false, false, false>, add_charges<false, false, true>},
            {add_charges<false, true, false>, add_charges<false, true, true>}},
           {{add_charges<true, false, false>, add_charges<true, false, true>},
            {add_charges<true, true, false>, add_charges<true, true, true>}}}};
}

}  // namespace

}  // namespace smallbatch
