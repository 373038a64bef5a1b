// Action of two charges on each other on the GPU: g and -g' of screened and of Gaussian charges
// (physics/potential.hpp). The kernels of plain charges compute 1/rho with faster instructions (device.cuh). On the
// host, only tests use these functions. Private to physics/charges/cuda/.
//
// Screened:
//
//     g = exp(-rho/l)/rho,   -g' = g (1/rho + 1/l)
//
// Gaussian, with a = 1/(sqrt(2) w), x = a r and F(z) = erf(sqrt(z))/sqrt(z):
//
//     g = a F(x^2) = erf(x)/r,   -g' = -2 a^2 x F'(x^2) = (g - 2 a exp(-x^2)/sqrt(pi))/r
//
// Near a charge the last difference loses digits, so F and F' are computed by power series. Far away, a Gaussian charge
// acts as a point charge.
#pragma once

#include <cmath>
#include <limits>

#include "physics/potential.hpp"

namespace smallbatch {

namespace {

/// rho and 1/rho, each with an error of about one rounding. At rho = 0, rho is 0 and per_rho is a large number.
template <class T>
struct Root {
  T rho, per_rho;
};
template <class T>
__host__ __device__ __forceinline__ Root<T> root_of(T rho2) {
  const T y = rsqrt(max(rho2, std::numeric_limits<T>::min())), rho = rho2 * y, half = T{0.5} * y;
  return {fma(half, fma(-rho, rho, rho2), rho), fma(half, fma(-rho, y, T{1}), y)};
}

/// Action of a charge of 1 at distance rho: g, and the force -g'.
template <class T>
struct Action {
  T g, force;
};

inline constexpr double two_per_root_pi = 1.1283791670955126;

/// Coefficients of the power series of F in x^2, for x^2 below `largest`.
template <class T>
struct GaussianSeries {
  static constexpr int degree = sizeof(T) == sizeof(float) ? 8 : 15;
  static constexpr T largest = T{0.5625};
  T coefficient[degree + 1];
  constexpr GaussianSeries() : coefficient() {
    double sign_per_factorial = two_per_root_pi;
    for (int k = 0; k <= degree; ++k) {
      coefficient[k] = static_cast<T>(sign_per_factorial / (2 * k + 1));
      sign_per_factorial /= -(k + 1);
    }
  }
};

/// From this x^2 on, a Gaussian charge counts as a point.
template <class T>
inline constexpr T far_from_gaussian = sizeof(T) == sizeof(float) ? T{20} : T{40};

/// Computes the action of a charge. `per_length` is 1/l for screened charges, and a for Gaussian charges.
template <InteractionKind kind, class T>
__host__ __device__ __forceinline__ Action<T> action(const Root<T>& root, T per_length) {
  const T x = root.rho * per_length, per_rho = root.per_rho;
  if constexpr (kind == InteractionKind::screened) {
    const T g = per_rho * exp(-x);
    return {g, g * (per_rho + per_length)};
  } else {
    const T z = x * x;
    if (z >= far_from_gaussian<T>) return {per_rho, per_rho * per_rho};
    if (z >= GaussianSeries<T>::largest) {
      const T g = erf(x) * per_rho;
      return {g, fma(-static_cast<T>(two_per_root_pi) * per_length, exp(-z), g) * per_rho};
    }
    constexpr GaussianSeries<T> series;
    T f = 0, slope = 0;
#pragma unroll
    for (int k = series.degree; k >= 0; --k) {
      slope = fma(slope, z, f);
      f = fma(f, z, series.coefficient[k]);
    }
    return {per_length * f, -2 * per_length * per_length * x * slope};
  }
}

/// Applies a cut-off, with w = max(0, 1 - r^2/c^2).
template <class T>
__host__ __device__ __forceinline__ Action<T> cut_off(const Action<T>& whole, const Root<T>& root, T w, T per_cutoff2) {
  return {w * w * whole.g, w * fma(w, whole.force, 4 * per_cutoff2 * (whole.g * root.rho))};
}

/// Largest result of per_length_of(), which returns 1/length for the length l or sqrt(2) w. For a point, the length is
/// 0 and this number is the result. Then x^2 is above far_from_gaussian, so action() returns that of a point charge.
template <class T>
inline constexpr double largest_per_length = sizeof(T) == sizeof(float) ? 0x1p100 : 0x1p511;
template <class T>
__host__ __device__ T per_length_of(double length) {
  return static_cast<T>(fmin(1 / length, largest_per_length<T>));
}

}  // namespace

}  // namespace smallbatch
