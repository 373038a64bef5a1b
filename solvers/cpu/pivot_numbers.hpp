// The numbers of a system's answer that are computed from its pivots, if no pivot was raised. (pivot_repair.cpp handles
// raised pivots.)
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/scale.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

template <class Work>
struct PivotNumbers {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Wide = typename L::Wide;
  using X = Exponents<L>;
  using P = Parts<T, W>;

  const int n;
  const Scaling<Work>& scaling;
  const Pivots<L>& pivots;

  /// Stores each number by put(numbers of the lanes, output array).
  template <class Put>
  void store(const SpdSolution<T>& out, Put put) const {
    T numbers[W] = {};
    std::int32_t none[W] = {};
    put(none, out.repaired);
    put(numbers, out.perturbation);
    if (out.smallest_pivot != nullptr) {
      smallest_pivots(numbers);
      put(numbers, out.smallest_pivot);
    }
    if (out.log_determinant != nullptr) {
      double logarithms[W];
      for (int part = 0; part < L::parts; ++part) P::put(log_determinant(part), part, logarithms);
      put(logarithms, out.log_determinant);
    }
  }

 private:
  void smallest_pivots(T* of_lane) const {
    Vector smallest = Vector{} + L::largest;
    for (int k = 0; k < n; ++k)
      smallest = smaller(smallest, scaling.scaled ? X::scale(pivots.d[k], -2 * scaling.half[k]) : pivots.d[k]);
    __builtin_memcpy(of_lane, &smallest, sizeof(smallest));
  }

  /// Returns ln det A of one part's lanes: the logarithm of the product of the pivots' mantissas, plus their exponents
  /// times ln 2.
  Wide log_determinant(int part) const {
    using Wider = Exponents<Lanes<double, P::lanes>>;
    typename L::WideMask exponents{};
    Wide mantissas = Wide{} + 1;
    for (int k = 0; k < n; ++k) {
      const Wide pivot = P::widen(pivots.d[k], part);
      const Wide normal = pivot < 0x1p-1022 ? pivot * 0x1p54 : pivot;
      const auto exponent = Wider::of(normal);
      mantissas *= normal * Wider::power_of_two(-exponent);
      exponents += exponent - ((pivot < 0x1p-1022) & 54);
    }
    Wide sum{};
    for (int lane = 0; lane < P::lanes; ++lane) {
      std::int64_t exponent = exponents[lane];
      for (int k = 0; k < n && scaling.scaled; ++k) exponent -= 2 * scaling.half[k][part * P::lanes + lane];
      constexpr double ln_2 = 0.693147180559945309417;
      sum[lane] = __builtin_log(mantissas[lane]) + static_cast<double>(exponent) * ln_2;
    }
    return sum;
  }
};

}  // namespace
}  // namespace smallbatch
