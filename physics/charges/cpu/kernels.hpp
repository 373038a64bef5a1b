// The CPU's inner loops: potential and field (physics/potential.hpp) of all charges at a few targets at a time. SIMD
// lanes hold targets. There is one implementation per instruction set (kernels_*.cpp, all from the body in
// kernels_body.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "physics/potential.hpp"

namespace smallbatch {

/// Maximum number of targets per call.
inline constexpr int targets_per_call = 64;

/// Options of a call: the interaction, and whether the field is wanted.
struct SumOptions {
  double softening = 0;
  double cutoff = 0;  ///< 0: none
  bool field = false;
  InteractionKind kind = InteractionKind::plain;
  double screening_length = 0;
};

/// Indices of the partial sums (partial_sums.hpp) that a call adds up, in this order. If `list` is null, the call adds
/// all partial sums.
struct ListedSums {
  const std::int32_t* list = nullptr;
  std::int64_t count = 0;
};

/// Charges for sums in single precision. Coordinates are relative to the problem's origin.
struct SingleCharges {
  std::int64_t count = 0;
  const float *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
  /// One number per partial sum. If rho^2 between a target and a charge of the sum is smaller than this number,
  /// SingleSums::near marks the target. Null: no target is marked.
  const float* near_squared = nullptr;
  const float* spread = nullptr;  ///< twice the squared widths of Gaussian charges
};
/// Targets of a call in single precision.
struct SingleTargets {
  int count = 0;
  alignas(64) float x[targets_per_call], y[targets_per_call], z[targets_per_call];
  /// If a target is a charge, the index of this charge, which the sum at the target leaves out; otherwise -1. If
  /// SingleCharges::near_squared is null, all are -1.
  alignas(64) std::int32_t own[targets_per_call];
  std::int64_t first_own = 0, last_own = -1;   ///< smallest and largest index in `own`, apart from -1
  alignas(64) float spread[targets_per_call];  ///< twice the squared widths, if targets are Gaussian
};
/// Results of a call in single precision.
struct SingleSums {
  alignas(64) double potential[targets_per_call];
  alignas(64) double field[3][targets_per_call];    ///< only if the field is wanted
  alignas(64) std::int32_t near[targets_per_call];  ///< not 0: a charge is so near that these sums are invalid
};

/// Charges for sums in double precision. Coordinates are relative to the problem's origin and are unevaluated, exact
/// sums such as x + x_low.
struct DoubleCharges {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *x_low = nullptr, *y_low = nullptr, *z_low = nullptr;
  const double* q = nullptr;
  const double* spread = nullptr;  ///< twice the squared widths of Gaussian charges
};
/// Targets of a call in double precision.
struct DoubleTargets {
  int count = 0;
  alignas(64) double x[targets_per_call], y[targets_per_call], z[targets_per_call];
  alignas(64) double x_low[targets_per_call], y_low[targets_per_call], z_low[targets_per_call];
  alignas(64) std::int64_t own[targets_per_call];  ///< as in SingleTargets; without leave_own_out, all are -1
  bool leave_own_out = false;                      ///< whether the targets are charges
  alignas(64) double spread[targets_per_call];
};

/// Sums over the charges that are not on the target, and over the charges that are.
struct DoubleSums {
  alignas(64) double potential[targets_per_call];  ///< of charges off the target
  alignas(64) double field[3][targets_per_call];   ///< of charges off the target, only if the field is wanted
  alignas(64) double net[targets_per_call];        ///< sum of q, on the target
  alignas(64) double magnitude[targets_per_call];  ///< sum of |q|, on the target
};

/// Loops of one instruction set. The last vectors of targets may be partly filled. The results in their remaining lanes
/// mean nothing.
struct DirectSumKernels {
  const char* name;  ///< "avx2"
  /// Terms and partial sums (partial_sums.hpp) are in single precision, totals in double precision. A charge on or very
  /// near a target makes that target's total invalid.
  void (*sum_single)(const SingleCharges& charges, const ListedSums& listed, const SingleTargets& targets,
                     const SumOptions& options, SingleSums& sums);
  /// Sums in double precision, with compensated totals. A charge nearer than singular_distance lies on the target.
  void (*sum_double)(const DoubleCharges& charges, const ListedSums& listed, const DoubleTargets& targets,
                     const SumOptions& options, double singular_distance, DoubleSums& sums);
};

extern const DirectSumKernels direct_sum_kernels_baseline;  ///< runs everywhere
extern const DirectSumKernels direct_sum_kernels_avx2;      ///< x86-64 only
extern const DirectSumKernels direct_sum_kernels_avx512;    ///< x86-64 only

/// The loops that this processor can run, best first. The baseline is always last.
std::vector<DirectSumKernels> usable_direct_sum_kernels();

}  // namespace smallbatch
