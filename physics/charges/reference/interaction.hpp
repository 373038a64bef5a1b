// The referee's action of a charge on a target. Let m = rho, or m = max(r, 1.25 w) for Gaussian charges. Then
//
//     g = value/m,   -g'(r)/r = slope/m^3.
//
// The numbers value and slope lie between 0 and 1; for point charges both are 1. The bound of g is value_bound/m, and
// the bound of its slope is slope_bound/m^2. A cut-off is a further factor and is not applied here.
//
// Everything here has internal linkage, because the tile_*.cpp files are compiled for several instruction sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/potential.hpp"

namespace smallbatch {

namespace {

/// Factors of g and of its slope, and of their bounds, relative to a point charge at the distance m.
template <class Number>
struct DampingFactors {
  Number value{1}, slope{1}, value_bound{1}, slope_bound{1};
};

/// From this t = r/(sqrt(2) w) on, a Gaussian charge acts as a point charge.
constexpr double far_from_gaussian = 7;

/// Value, slope and bounds of a screened charge, with x = rho/l. Both bounds are at least `least`.
template <class Number>
DampingFactors<Number> screened_damping(Number x, Number least) {
  const Number value = std::exp(-x), slope = value * (1 + x);
  return {value, slope, std::max(slope, least), std::max(slope * (1 + x), least)};
}

/// The incomplete gamma function P(3/2, t^2) over t^3. For t below 1 it is a series of positive terms.
template <class Number>
Number gaussian_slope(Number t) {
  const Number t2 = t * t, density = std::exp(-t2);
  if (!(t < 1)) return (std::erf(t) - 2 * std::numbers::inv_sqrtpi_v<Number> * t * density) / (t2 * t);
  Number term = 4 * std::numbers::inv_sqrtpi_v<Number> / 3, sum = 0;  // 1/Gamma(5/2)
  for (int k = 1; k <= 24; ++k) {
    sum += term;
    term *= t2 / (static_cast<Number>(k) + 1.5F);
  }
  return density * sum;
}

/// Value, slope and bounds of a Gaussian charge, with t = r/(sqrt(2) w).
template <class Number>
DampingFactors<Number> gaussian_damping(Number t) {
  if (t >= far_from_gaussian) return {};
  const Number length = std::max(t, static_cast<Number>(gaussian_length_in_widths) / std::numbers::sqrt2_v<Number>);
  const Number value = t > 0 ? std::erf(t) / t : 2 * std::numbers::inv_sqrtpi_v<Number>;
  return {value * length, gaussian_slope(t) * (length * length * length), 1, 1};
}

/// Action of a charge on a target or on another charge: m, value, slope and bounds.
template <class Number>
struct Action : DampingFactors<Number> {
  Number length;
};
/// Computes the action at the squared distance `r2`. The arguments are the squared softening, the sum of both squared
/// widths, and `per_screening_length` = 1/l.
template <class Number>
Action<Number> action_of(InteractionKind kind, Number r2, Number softening2, Number width2, Number per_screening_length,
                         Number least_bound) {
  if (kind == InteractionKind::gaussian) {
    const Number m2 = std::max(r2, static_cast<Number>(gaussian_length_in_widths * gaussian_length_in_widths) * width2);
    return {width2 > 0 ? gaussian_damping(std::sqrt(r2 / (2 * width2))) : DampingFactors<Number>{}, std::sqrt(m2)};
  }
  const Number rho = std::sqrt(r2 + softening2);
  if (kind == InteractionKind::plain) return {{}, rho};
  return {screened_damping(rho * per_screening_length, least_bound), rho};
}

}  // namespace

}  // namespace smallbatch
