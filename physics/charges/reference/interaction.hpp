// How a charge acts on a target, as the referee has it. With m = rho, or max(r, 1.25 w) of Gaussian charges,
//     g = value/m,   -g'(r)/r = slope/m^3,
// where value and slope are numbers from 0 to 1; both are 1 of point charges. A bound of g is value_bound/m, of its
// slope slope_bound/m^2. A cut-off is a factor on top, which is not here.
//
// Everything here has internal linkage: the files of tiles are compiled for several instruction sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/potential.hpp"

namespace smallbatch {

namespace {

template <class Number>
struct Shares {
  Number value{1}, slope{1}, value_bound{1}, slope_bound{1};
};

/// From this t on a Gaussian charge is a point.
constexpr double far_from_gaussian = 7;

/// With x = rho/l; `least` is the least bound.
template <class Number>
Shares<Number> screened_shares(Number x, Number least) {
  const Number value = std::exp(-x), slope = value * (1 + x);
  return {value, slope, std::max(slope, least), std::max(slope * (1 + x), least)};
}

/// The incomplete gamma function P(3/2, t^2) over t^3, by a series of positive terms for t below 1.
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

/// With t = r/(sqrt(2) w).
template <class Number>
Shares<Number> gaussian_shares(Number t) {
  if (t >= far_from_gaussian) return {};
  const Number length = std::max(t, static_cast<Number>(gaussian_length_in_widths) / std::numbers::sqrt2_v<Number>);
  const Number value = t > 0 ? std::erf(t) / t : 2 * std::numbers::inv_sqrtpi_v<Number>;
  return {value * length, gaussian_slope(t) * (length * length * length), 1, 1};
}

/// One charge and one target, or two charges: m and the shares.
template <class Number>
struct Action : Shares<Number> {
  Number length;
};
/// `softening2` is a square, `width2` the sum of both squares, `per_screening_length` 1/l.
template <class Number>
Action<Number> action_of(InteractionKind kind, Number r2, Number softening2, Number width2, Number per_screening_length,
                         Number least_bound) {
  if (kind == InteractionKind::gaussian) {
    const Number m2 = std::max(r2, static_cast<Number>(gaussian_length_in_widths * gaussian_length_in_widths) * width2);
    return {width2 > 0 ? gaussian_shares(std::sqrt(r2 / (2 * width2))) : Shares<Number>{}, std::sqrt(m2)};
  }
  const Number rho = std::sqrt(r2 + softening2);
  if (kind == InteractionKind::plain) return {{}, rho};
  return {screened_shares(rho * per_screening_length, least_bound), rho};
}

}  // namespace

}  // namespace smallbatch
