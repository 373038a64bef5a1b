// The numbers of a system's answer that come from its pivots. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

/// Numbers gathered over the pivots of one system, by the lanes that share it.
template <class T>
struct PivotNumbers {
  T smallest = infinity<T>();
  double mantissas = 1;  // product of the mantissas of all pivots; below 2^max_system_size
  int exponents = 0;     // sum of the exponents of all pivots
  double log_determinant = 0;

  /// Adds a pivot of D A D, where D has 2^exponent in this row. The pivot of A is 2^(-2 exponent) times as large.
  template <class Pivot>
  __device__ __forceinline__ void add(Pivot pivot, int exponent) {
    smallest = min(smallest, static_cast<T>(scale(pivot, -2 * exponent)));
    const auto wide = static_cast<double>(pivot);
    mantissas *= __hiloint2double((__double2hiint(wide) & 0xfffff) | 0x3ff00000, __double2loint(wide));
    exponents += exponent_of(wide) - 2 * exponent;
  }
  /// Adds the numbers `other`, which were gathered over other pivots of the system.
  __device__ __forceinline__ void add(const PivotNumbers& other) {
    smallest = min(smallest, other.smallest);
    mantissas *= other.mantissas;
    exponents += other.exponents;
  }
  /// Combines the numbers of the lanes that share the system. The whole warp calls.
  template <int Lanes>
  __device__ __forceinline__ void combine() {
    constexpr double ln_2 = 0.693147180559945309417;
    smallest = min_of_group<Lanes>(smallest);
#pragma unroll
    for (int step = Lanes / 2; step > 0; step /= 2) mantissas *= __shfl_xor_sync(whole_warp, mantissas, step);
    exponents = sum_of_group<Lanes>(exponents);
    log_determinant = log(mantissas) + exponents * ln_2;
  }
  /// Stores the numbers. One lane calls.
  __device__ __forceinline__ void store(const Arguments<T>& args, std::int64_t system, int repaired = 0,
                                        double perturbation = 0) const {
    if (args.to.smallest_pivot != nullptr) args.to.smallest_pivot[system] = smallest;
    if (args.to.log_determinant != nullptr) args.to.log_determinant[system] = log_determinant;
    if (args.to.repaired != nullptr) args.to.repaired[system] = repaired;
    if (args.to.perturbation != nullptr) args.to.perturbation[system] = static_cast<T>(perturbation);
  }
};

/// Stores the numbers of a system without rows: those of an identity matrix.
template <class T>
__device__ void store_no_pivots(const Arguments<T>& args, std::int64_t system) {
  PivotNumbers<T> none;
  none.smallest = 1;
  none.store(args, system);
}

/// Stores the numbers of a failed system: NaN, and 0 repaired pivots.
template <class T>
__device__ void forget_pivots(const Arguments<T>& args, std::int64_t system) {
  PivotNumbers<T> none;
  none.smallest = not_a_number<T>();
  none.log_determinant = not_a_number<double>();
  none.store(args, system, 0, not_a_number<double>());
}

}  // namespace

}  // namespace smallbatch
