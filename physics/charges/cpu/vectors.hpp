// Arithmetic of vectors: multiply-adds, reciprocal roots, polynomials, exp(-x).
//
// Only kernels_body.hpp includes this file. The rules of kernels_body.hpp hold here: everything has internal linkage,
// and instructions come from Lanes. Sums of products are explicit multiply-adds. A compiler that contracted them in
// some places only would make bits depend on the place.
#pragma once

#include "physics/charges/cpu/kernels.hpp"

namespace smallbatch {
namespace {

template <class Vector, class T>
Vector load(const T* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <class Vector, class T>
void store(T* to, Vector v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

/// Returns a b + c. A scalar argument stands for a vector of equal numbers.
template <class Lanes, class A, class B, class C>
[[gnu::always_inline]] inline auto multiply_add(A a, B b, C c) {
  using Sum = decltype(a * b + c);
  return Lanes::multiply_add(a - Sum{}, b - Sum{}, c - Sum{});
}

// Error e = 1 - a y^2 of an estimate y of 1/sqrt(a). The steps below improve the estimate.
template <class Lanes, class Vector>
Vector error_of_inverse_sqrt(Vector a, Vector y) {
  return multiply_add<Lanes>(-(a * y), y, decltype(a[0] + a[0]){1});
}
/// Newton's step; its error is 3/8 e^2.
template <class Lanes, class T, class Vector>
Vector second_order_step(Vector a, Vector y) {
  return multiply_add<Lanes>(y * error_of_inverse_sqrt<Lanes>(a, y), T{0.5}, y);
}
/// Step of third order; its error is 5/16 e^3.
template <class Lanes, class T, class Vector>
Vector third_order_step(Vector a, Vector y) {
  const Vector e = error_of_inverse_sqrt<Lanes>(a, y);
  return multiply_add<Lanes>(y * e, multiply_add<Lanes>(e, T{0.375}, T{0.5}), y);
}
/// Step of fourth order; its error is 35/128 e^4.
template <class Lanes, class T, class Vector>
Vector fourth_order_step(Vector a, Vector y) {
  const Vector e = error_of_inverse_sqrt<Lanes>(a, y);
  const Vector cubic = multiply_add<Lanes>(e, multiply_add<Lanes>(e, T{0.3125}, T{0.375}), T{0.5});
  return multiply_add<Lanes>(y * e, cubic, y);
}

template <class T, int terms>
struct Coefficients {
  T of[terms];
};
template <class Lanes, class Vector, class T, int terms>
[[gnu::always_inline]] inline Vector polynomial(Vector x, const Coefficients<T, terms>& coefficients) {
  Vector sum = Vector{} + coefficients.of[terms - 1];
  for (int k = terms - 2; k >= 0; --k) sum = multiply_add<Lanes>(sum, x, coefficients.of[k]);
  return sum;
}

/// The coefficients 1/k! of exp(f).
template <class T>
constexpr auto exponential_series() {
  Coefficients<T, sizeof(T) == 4 ? 8 : 14> series{};
  double term = 1;
  for (int k = 0; auto& coefficient : series.of) {
    coefficient = static_cast<T>(term);
    term /= ++k;
  }
  return series;
}
/// exp(-x) for x >= 0: 2^-n times a power series of the remainder, which is at most ln(2)/2. The result is 0 where
/// exp(-x) lies below the normal numbers.
template <class Lanes, class T, class Vector>
[[gnu::always_inline]] inline Vector exp_of_minus(Vector x) {
  using Bits = decltype(x < x);
  constexpr bool single = sizeof(T) == 4;
  constexpr T largest = single ? T{87} : T{708}, to_integer = single ? T{0x1.8p23} : T{0x1.8p52};
  constexpr T ln2_high = single ? T{0x1.63p-1} : T{0x1.62e42feep-1};
  constexpr T ln2_low = static_cast<T>(single ? -2.12194440e-4 : 1.90821492927058770e-10);
  constexpr T per_ln2 = static_cast<T>(1.4426950408889634);
  constexpr auto series = exponential_series<T>();
  const Vector some = Lanes::smaller(x, Vector{} + largest);
  // Adding to_integer rounds to an integer. The integer is then in the lowest bits.
  const Vector beside = multiply_add<Lanes>(some, per_ln2, to_integer), n = beside - to_integer;
  const Vector rest = multiply_add<Lanes>(n, ln2_low, multiply_add<Lanes>(n, ln2_high, -some));
  const Bits zero = reinterpret_cast<Bits>(Vector{} + to_integer), integer = reinterpret_cast<Bits>(beside) - zero;
  const Bits power = (reinterpret_cast<Bits>(Vector{} + T{1}) >> (single ? 23 : 52)) - integer;
  const Vector scale = reinterpret_cast<Vector>(power << (single ? 23 : 52));
  return x > largest ? Vector{} : polynomial<Lanes>(rest, series) * scale;
}

}  // namespace
}  // namespace smallbatch
