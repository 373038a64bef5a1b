// The CPU's inner loops: potential and field (physics/potential.hpp) of all charges at a few targets at a time, one
// implementation per instruction set (kernels_*.cpp, all from the one body in kernels_body.hpp). SIMD
// lanes hold targets.
#pragma once

#include <cstdint>
#include <vector>

#include "physics/potential.hpp"

namespace smallbatch {

/// Most targets per call.
inline constexpr int targets_per_call = 64;

/// What is summed.
struct Interaction {
  double softening = 0;
  double cutoff = 0;  ///< 0: none
  bool field = false;
  InteractionKind kind = InteractionKind::plain;
  double screening_length = 0;
};

/// Which partial sums of charges (partial_sums.hpp) a call adds up: those listed, in this order, or all.
struct ListedSums {
  const std::int32_t* list = nullptr;
  std::int64_t count = 0;
};

/// Charges for single precision, relative to the problem's origin.
struct SingleCharges {
  std::int64_t count = 0;
  const float *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
  /// Per partial sum: a target nearer to one of its charges than the root of this is marked. Null: none is.
  const float* near_squared = nullptr;
  const float* spread = nullptr;  ///< twice the squares of widths, of Gaussian charges
};
struct SingleTargets {
  int count = 0;
  alignas(64) float x[targets_per_call], y[targets_per_call], z[targets_per_call];
  /// Which charge a target leaves out, being that charge itself; -1: none. Looked at where near_squared is given, and
  /// there among first_own .. last_own alone.
  alignas(64) std::int32_t own[targets_per_call];
  std::int64_t first_own = 0, last_own = -1;
  alignas(64) float spread[targets_per_call];  ///< as of the charges
};
struct SingleSums {
  alignas(64) double potential[targets_per_call];
  alignas(64) double field[3][targets_per_call];    ///< where it is wanted
  alignas(64) std::int32_t near[targets_per_call];  ///< not 0: too near to a charge for these sums to mean anything
};

/// Coordinates relative to the problem's origin as unevaluated sums x + x_low: exact, whatever was subtracted.
struct DoubleCharges {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *x_low = nullptr, *y_low = nullptr, *z_low = nullptr;
  const double* q = nullptr;
  const double* spread = nullptr;  ///< as in SingleCharges
};
struct DoubleTargets {
  int count = 0;
  alignas(64) double x[targets_per_call], y[targets_per_call], z[targets_per_call];
  alignas(64) double x_low[targets_per_call], y_low[targets_per_call], z_low[targets_per_call];
  alignas(64) std::int64_t own[targets_per_call];  ///< as in SingleTargets; -1 unless leave_own_out
  bool leave_own_out = false;
  alignas(64) double spread[targets_per_call];
};

/// Sums over the charges that are not on the target, and over the charges that are.
struct DoubleSums {
  alignas(64) double potential[targets_per_call];  ///< off the target
  alignas(64) double field[3][targets_per_call];   ///< the same, where it is wanted
  alignas(64) double net[targets_per_call];        ///< sum of q, on the target
  alignas(64) double magnitude[targets_per_call];  ///< sum of |q|, on the target
};

/// One instruction set. Targets from `count` up to the next full vectors are computed too, from whatever lies there.
struct DirectSumKernels {
  const char* name;  ///< "avx2"
  /// Single precision terms and partial sums (partial_sums.hpp), totals in double precision. A charge on or very
  /// near a target makes that total meaningless.
  void (*sum_single)(const SingleCharges& charges, const ListedSums& listed, const SingleTargets& targets,
                     const Interaction& interaction, SingleSums& sums);
  /// Double precision throughout, totals compensated. A point nearer than singular_distance is on the target.
  void (*sum_double)(const DoubleCharges& charges, const ListedSums& listed, const DoubleTargets& targets,
                     const Interaction& interaction, double singular_distance, DoubleSums& sums);
};

extern const DirectSumKernels direct_sum_kernels_baseline;  ///< runs everywhere
extern const DirectSumKernels direct_sum_kernels_avx2;      ///< x86-64 only
extern const DirectSumKernels direct_sum_kernels_avx512;    ///< x86-64 only

/// What this processor can run, best first; baseline is always the last.
std::vector<DirectSumKernels> usable_direct_sum_kernels();

}  // namespace smallbatch
