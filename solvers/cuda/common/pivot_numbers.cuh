// The numbers of a system's answer that its pivots give. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

/// Gathered over the pivots of one system, by the lanes that share it.
template <class T>
struct PivotNumbers {
  T smallest = infinity<T>();
  double mantissas = 1;  // of all pivots, multiplied; below 2^max_system_size
  int exponents = 0;     // added
  double log_determinant = 0;

  /// The pivot of D A D, D with 2^exponent in this row; that of A is 2^(-2 exponent) as much.
  template <class Pivot>
  __device__ __forceinline__ void add(Pivot pivot, int exponent) {
    smallest = min(smallest, static_cast<T>(scale(pivot, -2 * exponent)));
    const auto wide = static_cast<double>(pivot);
    mantissas *= __hiloint2double((__double2hiint(wide) & 0xfffff) | 0x3ff00000, __double2loint(wide));
    exponents += exponent_of(wide) - 2 * exponent;
  }
  /// And those that another lane would have.
  __device__ __forceinline__ void add(const PivotNumbers& other) {
    smallest = min(smallest, other.smallest);
    mantissas *= other.mantissas;
    exponents += other.exponents;
  }
  /// The whole warp calls.
  template <int Lanes>
  __device__ __forceinline__ void combine() {
    constexpr double ln_2 = 0.693147180559945309417;
    smallest = min_of_group<Lanes>(smallest);
#pragma unroll
    for (int step = Lanes / 2; step > 0; step /= 2) mantissas *= __shfl_xor_sync(whole_warp, mantissas, step);
    exponents = sum_of_group<Lanes>(exponents);
    log_determinant = log(mantissas) + exponents * ln_2;
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

/// What is said of the pivots of a system without rows: those of an identity matrix.
template <class T>
__device__ void store_no_pivots(const Arguments<T>& args, std::int64_t system) {
  PivotNumbers<T> none;
  none.smallest = 1;
  none.store(args, system);
}

/// What is said of the pivots of a system that failed.
template <class T>
__device__ void forget_pivots(const Arguments<T>& args, std::int64_t system) {
  PivotNumbers<T> none;
  none.smallest = not_a_number<T>();
  none.log_determinant = not_a_number<double>();
  none.store(args, system, 0, not_a_number<double>());
}

}  // namespace

}  // namespace smallbatch
