// The one body of the referee's inner loops. Each file that includes it is compiled for one instruction set. Each file
// has Eigen under a different name, so the linker cannot replace a function of one instruction set by that of another.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <type_traits>

#include "physics/charges/reference/interaction.hpp"
#include "physics/charges/reference/tile.hpp"

namespace smallbatch {

namespace {

constexpr int lanes_of_register = Eigen::internal::packet_traits<double>::size;

/// A number of about twice the precision: high + low, where low is at most a few units in the last place of high.
template <class Lanes>
struct Twofold {
  Lanes high, low;
};

/// a b + c, rounded once.
template <class Lanes>
[[gnu::always_inline]] inline Lanes fused(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes result;
  for (int lane = 0; lane < Lanes::SizeAtCompileTime; ++lane) result[lane] = std::fma(a[lane], b[lane], c[lane]);
  return result;
}
/// a b, rounded. A plain product could be contracted with the addition that follows.
template <class Lanes>
[[gnu::always_inline]] inline Lanes product_of(const Lanes& a, const Lanes& b) {
  return fused<Lanes>(a, b, Lanes::Zero());
}
/// Knuth's two-sum.
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> sum_of(const Lanes& a, const Lanes& b) {
  const Lanes sum = a + b, gained = sum - a;
  return {sum, (a - (sum - gained)) + (b - gained)};
}
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> operator+(const Twofold<Lanes>& a, const Twofold<Lanes>& b) {
  const Twofold<Lanes> sum = sum_of(a.high, b.high);
  return {sum.high, sum.low + (a.low + b.low)};
}
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> operator*(const Twofold<Lanes>& a, const Twofold<Lanes>& b) {
  const Lanes product = product_of(a.high, b.high);
  return {product, fused<Lanes>(a.high, b.high, -product) + (a.high * b.low + a.low * b.high)};
}

/// Number type of the loops: Twofold if sums are exact.
template <bool exact, class Lanes>
using Number = std::conditional_t<exact, Twofold<Lanes>, Lanes>;

template <bool exact, class Lanes>
[[gnu::always_inline]] inline Number<exact, Lanes> number(double high, double low) {
  if constexpr (exact)
    return {Lanes::Constant(high), Lanes::Constant(low)};
  else
    return Lanes::Constant(high);
}
template <class Lanes>
[[gnu::always_inline]] inline Lanes rounded(const Lanes& a) {
  return a;
}
template <class Lanes>
[[gnu::always_inline]] inline Lanes rounded(const Twofold<Lanes>& a) {
  return a.high;
}
/// Returns `target - charge`.
template <bool exact, class Lanes>
[[gnu::always_inline]] inline Number<exact, Lanes> displacement(const Lanes& target, const Lanes& target_low,
                                                                double charge, double charge_low) {
  if constexpr (exact) {
    const Twofold<Lanes> of_high = sum_of<Lanes>(target, Lanes::Constant(-charge));
    return sum_of<Lanes>(of_high.high, of_high.low + (target_low - charge_low));
  } else {
    return target - charge;
  }
}
template <class Lanes>
[[gnu::always_inline]] inline Lanes reciprocal_root(const Lanes& a) {
  return a.rsqrt();
}
/// Eigen's reciprocal root is right to a few units in the last place. A step of Newton's method gives the low part.
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> reciprocal_root(const Twofold<Lanes>& a) {
  const Lanes y = a.high.rsqrt(), root = product_of(a.high, y), root_low = fused<Lanes>(a.high, y, -root) + a.low * y;
  const Lanes lacks = fused<Lanes>(-root, y, Lanes::Ones()) - root_low * y;
  return {y, 0.5 * y * lacks};
}
/// max(1 - a, 0)
template <class Lanes>
[[gnu::always_inline]] inline Lanes rest_of_one(const Lanes& a) {
  return (1 - a).max(0);
}
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> rest_of_one(const Twofold<Lanes>& a) {
  const Twofold<Lanes> rest = sum_of<Lanes>(Lanes::Ones(), -a.high);
  const Lanes high = rest.high.max(0);
  return {high, (rest.low - a.low).max(-high).min(high)};
}

/// Running sums, one per lane. The code avoids +=, because GCC would then store the sums to memory in each step.
template <bool exact, class Lanes>
struct LaneSums {
  Lanes sum = Lanes::Zero(), lost = Lanes::Zero();
  [[gnu::always_inline]] void add(const Number<exact, Lanes>& terms) {
    if constexpr (exact) {
      const Twofold<Lanes> next = sum_of(sum, terms.high);
      lost = lost + (next.low + terms.low);
      sum = next.high;
    } else {
      sum = sum + terms;
    }
  }
};

/// Returns `a` as a number of the loops.
template <bool exact, class Lanes>
[[gnu::always_inline]] inline Number<exact, Lanes> number_of(const Lanes& a) {
  if constexpr (exact)
    return {a, Lanes::Zero()};
  else
    return a;
}
/// max(a, least)
template <class Lanes>
[[gnu::always_inline]] inline Lanes larger_of(const Lanes& a, const Lanes& least) {
  return a.max(least);
}
template <class Lanes>
[[gnu::always_inline]] inline Twofold<Lanes> larger_of(const Twofold<Lanes>& a, const Lanes& least) {
  return {a.high.max(least), (a.high < least).select(Lanes::Zero(), a.low)};
}

/// Value, slope and bounds of a screened charge. Eigen's exponential function ends at exp(-708). The code uses
/// exp(-x/2)^2, because -x/2 stays above -708 until exp(-x) is 0. `x_low` is the low part of x.
template <class Lanes>
[[gnu::always_inline]] inline DampingFactors<Lanes> screened_lanes(const Lanes& x, const Lanes& x_low, double least) {
  const Lanes root = (-0.5 * x).exp(), value = root * (root - root * x_low), slope = value * (1 + x);
  return {value, slope, slope.max(least), (slope * (1 + x)).max(least)};
}
template <class Lanes>
[[gnu::always_inline]] inline DampingFactors<Lanes> gaussian_lanes(const Lanes& t) {
  DampingFactors<Lanes> damping{Lanes::Ones(), Lanes::Ones(), Lanes::Ones(), Lanes::Ones()};
  if ((t >= far_from_gaussian).all()) return damping;
  for (int lane = 0; lane < Lanes::SizeAtCompileTime; ++lane) {
    const DampingFactors<double> one = gaussian_damping(t[lane]);
    damping.value[lane] = one.value;
    damping.slope[lane] = one.slope;
  }
  return damping;
}

template <bool exact, bool field, bool cutoff, InteractionKind kind>
void add_charges(const TileCharges& charges, std::int64_t first, std::int64_t last, const TileTargets& targets,
                 const TileLaw& law, TileSums& sums) {
  // Number of targets at a time. The registers can hold the sums of this many targets.
  constexpr int lanes = (exact ? 1 : field ? 2 : 4) * lanes_of_register;
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
    const auto softening2 = number<exact, Lanes>(law.softening2, law.softening2_low);
    [[maybe_unused]] const auto per_screening_length =
        number<exact, Lanes>(law.per_screening_length, law.per_screening_length_low);
    [[maybe_unused]] const auto per_cutoff2 = number<exact, Lanes>(law.per_cutoff2, law.per_cutoff2_low);
    [[maybe_unused]] const auto four_per_cutoff2 = number<exact, Lanes>(4 * law.per_cutoff2, 4 * law.per_cutoff2_low);
    for (std::int64_t i = first; i < last; ++i) {
      const auto dx = displacement<exact>(x, x_low, charges.high[0][i], charges.low[0][i]);
      const auto dy = displacement<exact>(y, y_low, charges.high[1][i], charges.low[1][i]);
      const auto dz = displacement<exact>(z, z_low, charges.high[2][i], charges.low[2][i]);
      const Number<exact, Lanes> r2 = dx * dx + dy * dy + dz * dz, rho2 = r2 + softening2;
      nearest2 = nearest2.min(rounded(rho2));
      const auto charge = number<exact, Lanes>(charges.charge[i], 0);
      Number<exact, Lanes> reciprocal;  // 1 / rho
      [[maybe_unused]] DampingFactors<Lanes> damping{Lanes::Ones(), Lanes::Ones(), Lanes::Ones(), Lanes::Ones()};
      if constexpr (kind == InteractionKind::gaussian) {
        const Lanes width2 = Given(targets.width2 + begin) + charges.width2[i];
        reciprocal =
            reciprocal_root(larger_of<Lanes>(r2, gaussian_length_in_widths * gaussian_length_in_widths * width2));
        damping =
            // Eigen's root of infinity is not a number.
            gaussian_lanes<Lanes>((rounded(r2) / (2 * width2)).min(100).sqrt());
      } else {
        reciprocal = reciprocal_root(rho2);
      }
      if constexpr (kind == InteractionKind::screened) {
        const Number<exact, Lanes> lengths = rho2 * reciprocal * per_screening_length;
        if constexpr (exact)
          damping = screened_lanes<Lanes>(lengths.high, lengths.low, law.least_bound);
        else
          damping = screened_lanes<Lanes>(lengths, Lanes::Zero(), law.least_bound);
      }
      const auto times = [](const Number<exact, Lanes>& q, const Lanes& factor) -> Number<exact, Lanes> {
        if constexpr (kind == InteractionKind::plain)
          return q;
        else
          return q * number_of<exact, Lanes>(factor);
      };
      const Number<exact, Lanes> in_value = times(charge, damping.value);
      [[maybe_unused]] const Number<exact, Lanes> in_field = times(charge, damping.slope);
      const Lanes per_rho = rounded(reciprocal);
      const auto counts_in = [&](Lanes term, const Lanes& of_interaction) -> Lanes {
        if constexpr (kind == InteractionKind::screened) return term * of_interaction;
        return term;
      };
      if constexpr (!cutoff) {
        const Lanes bound_per_charge = per_rho * (law.relative + law.shift * per_rho);
        potential.add(in_value * reciprocal);
        bound = bound + counts_in(charges.counted[i] * bound_per_charge, damping.value_bound);
        if constexpr (field) {
          field_bound =
              field_bound + counts_in((charges.counted_in_field[i] * bound_per_charge) * per_rho, damping.slope_bound);
          const Number<exact, Lanes> per_rho2 = (in_field * reciprocal) * reciprocal;
          field_x.add(per_rho2 * (dx * reciprocal));
          field_y.add(per_rho2 * (dy * reciprocal));
          field_z.add(per_rho2 * (dz * reciprocal));
        }
      } else {
        const Lanes counts =
            ((law.reach2 - rounded(r2)) * law.per_last_digit_of_reach2).max(0).min(1);  // 1 within the reach, else 0
        const Lanes per_length = per_rho.max(law.per_cutoff);                           // 1 / min(rho, c)
        const Lanes bound_per_charge = counts * (per_rho * (law.relative + law.shift * per_length));
        bound = bound + counts_in(charges.counted[i] * bound_per_charge, damping.value_bound);
        const Number<exact, Lanes> w = rest_of_one<Lanes>(r2 * per_cutoff2);
        potential.add((in_value * reciprocal) * (w * w));
        if constexpr (field) {
          field_bound = field_bound +
                        counts_in((charges.counted_in_field[i] * bound_per_charge) * per_length, damping.slope_bound);
          Number<exact, Lanes> slope;
          if constexpr (kind == InteractionKind::plain)
            slope = charge * (w * (w * (reciprocal * reciprocal) + four_per_cutoff2));
          else
            slope = w * (w * (in_field * (reciprocal * reciprocal)) + in_value * four_per_cutoff2);
          field_x.add(slope * (dx * reciprocal));
          field_y.add(slope * (dy * reciprocal));
          field_z.add(slope * (dz * reciprocal));
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

template <bool exact, bool field, bool cutoff>
constexpr TileLoopOfKind loop_of_kind{add_charges<exact, field, cutoff, InteractionKind::plain>,
                                      add_charges<exact, field, cutoff, InteractionKind::screened>,
                                      add_charges<exact, field, cutoff, InteractionKind::gaussian>};
constexpr TileLoops loops_named(const char* name) {
  return {name,
          {{{loop_of_kind<false, false, false>, loop_of_kind<false, false, true>},
            {loop_of_kind<false, true, false>, loop_of_kind<false, true, true>}},
           {{loop_of_kind<true, false, false>, loop_of_kind<true, false, true>},
            {loop_of_kind<true, true, false>, loop_of_kind<true, true, true>}}}};
}

}  // namespace

}  // namespace smallbatch
