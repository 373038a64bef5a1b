// The numbers of a system's answer that its pivots give. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/device.cuh"

namespace smallbatch {

namespace {

/// Gathered over the pivots of one system, by the lanes that share it.
template <class T>
struct PivotNumbers {
  T smallest = infinity<T>();
  double log_determinant = 0;

  /// The pivot of D A D, D with 2^exponent in this row; that of A is 2^(-2 exponent) as much.
  template <class Pivot>
  __device__ __forceinline__ void add(const Arguments<T>& args, Pivot pivot, int exponent) {
    constexpr double ln_2 = 0.693147180559945309417;
    smallest = min(smallest, static_cast<T>(scale(pivot, -2 * exponent)));
    if (args.to.log_determinant != nullptr) log_determinant += log(static_cast<double>(pivot)) - 2 * exponent * ln_2;
  }
  /// The whole warp calls.
  template <int Lanes>
  __device__ __forceinline__ void combine() {
    smallest = min_of_group<Lanes>(smallest);
    log_determinant = sum_of_group<Lanes>(log_determinant);
  }
  /// One lane calls.
  __device__ __forceinline__ void store(const Arguments<T>& args, std::int64_t system, int repaired = 0,
                                        double perturbation = 0) const {
    if (args.to.smallest_pivot != nullptr) args.to.smallest_pivot[system] = smallest;
    if (args.to.log_determinant != nullptr) args.to.log_determinant[system] = log_determinant;
    if (args.to.repaired != nullptr) args.to.repaired[system] = repaired;
    if (args.to.perturbation != nullptr) args.to.perturbation[system] = static_cast<T>(perturbation);
  }
};

/// What is said of the pivots of a system that failed.
template <class T>
__device__ void forget_pivots(const Arguments<T>& args, std::int64_t system) {
  const PivotNumbers<T> none{not_a_number<T>(), not_a_number<double>()};
  none.store(args, system, 0, not_a_number<double>());
}

}  // namespace

}  // namespace smallbatch
