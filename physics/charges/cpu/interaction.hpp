// Action of a charge on a target, over vectors. The symbols r, rho, l and w are those of physics/potential.hpp. Without
// a cut-off, a charge of 1 contributes value/m to V, and slope/m^3 times the displacement to E:
//
//     screened, x = rho/l:             m = rho, value = exp(-x), slope = (1 + x) exp(-x)
//
//     Gaussian, t = r/(sqrt(2) w):     m = max(r, 1.25 w), L = m/(sqrt(2) w) = max(t, 0.88)
//
//     value = L erf(t)/t,              slope = (L/t)^3 (erf(t) - 2/sqrt(pi) t exp(-t^2))
//
// For point charges, value and slope are 1. For t < 1, erf(t)/t and the slope are power series of t^2. From t = 1 on,
// erf(t) is 1 - exp(-t^2) P(1/t). The polynomial P approximates erfc(t) exp(t^2) on (1, 6.2). Its error times exp(-t^2)
// is below 2^-55 in double and below 2^-31 in single precision.
//
// Only kernels_body.hpp includes this file. The rules of kernels_body.hpp hold here: everything has internal linkage,
// and instructions come from Lanes.
#pragma once

#include "physics/charges/cpu/vectors.hpp"

namespace smallbatch {
namespace {

inline constexpr double two_per_root_pi = 1.1283791670955126;
/// Coefficients of power series in t^2, for t < 1. The series is erf(t)/t if `first` is 1, and (erf(t) - 2/sqrt(pi) t
/// exp(-t^2))/t^3 if `first` is 3.
template <class T, int first>
constexpr auto gaussian_series() {
  Coefficients<T, sizeof(T) == 4 ? 11 : 18> series{};
  double term = first == 1 ? two_per_root_pi : 2 * two_per_root_pi;
  for (int k = 0; auto& coefficient : series.of) {
    coefficient = static_cast<T>(term / (2 * k + first));
    term /= -++k;
  }
  return series;
}
/// Coefficients of a polynomial in 1/t - 5/8 that approximates erfc(t) exp(t^2), for t > 1.
template <class T>
constexpr auto gaussian_tail() {
  if constexpr (sizeof(T) == 4)
    return Coefficients<T, 8>{{0.30595299292967775F, 0.38228385105609996F, -0.17239586543058720F, 0.043760869820992033F,
                               0.023446090393773477F, -0.047158821422315683F, 0.041168956797972035F,
                               -0.018045913339657554F}};
  else
    return Coefficients<T, 18>{{0.30595299227094107, 0.38228375508095246, -0.17239473879426377, 0.043769317874666374,
                                0.023328124401054975, -0.047038274428360664, 0.043296464251168938,
                                -0.025365796354893519, 0.0035410614343790008, 0.014955986735367844,
                                -0.025880916807673116, 0.027731346338675225, -0.021437950261307667,
                                0.0093018820808887010, 0.0071827494728321913, -0.024825363764184892,
                                0.030555894846492458, -0.015329828816355033}};
}

template <class Vector>
struct DampingVectors {
  Vector value, slope;
};

template <class Lanes, class T, class Vector>
[[gnu::always_inline]] inline DampingVectors<Vector> screened_vectors(Vector x) {
  const Vector value = exp_of_minus<Lanes, T>(x);
  return {value, multiply_add<Lanes>(Lanes::smaller(x, Vector{} + T{1000}), value, value)};
}

/// The least L^2: (1.25/sqrt(2))^2. The least m^2 is therefore 0.78125 times 2 w^2.
template <class T>
inline constexpr T least_gaussian_length2 = 0.78125;

/// Returns value and slope of Gaussian charges. `t2` is t^2 and may be an infinity.
template <class Lanes, class T, class Vector>
[[gnu::always_inline]] inline DampingVectors<Vector> gaussian_vectors(Vector t2) {
  constexpr auto of_value = gaussian_series<T, 1>(), of_slope = gaussian_series<T, 3>();
  constexpr auto of_tail = gaussian_tail<T>();
  constexpr T least = least_gaussian_length2<T>;
  // Beyond this t^2 the tail is 0 in working precision.
  const Vector s = Lanes::smaller(t2, Vector{} + (sizeof(T) == 4 ? T{80} : T{600}));
  const Vector length2 = s < least ? Vector{} + least : s, per_length = Lanes::inverse_sqrt(length2);
  const Vector length = length2 * per_length, density = exp_of_minus<Lanes, T>(s);
  const Vector tail = polynomial<Lanes>(per_length - T{0.625}, of_tail);
  const Vector value = multiply_add<Lanes>(-tail, density, T{1});
  const Vector slope = multiply_add<Lanes>(density * length, -static_cast<T>(two_per_root_pi), value);
  const auto is_near = s < T{1};
  return {is_near ? polynomial<Lanes>(s, of_value) * length : value,
          is_near ? polynomial<Lanes>(s, of_slope) * (length * length2) : slope};
}

}  // namespace
}  // namespace smallbatch
