// The CPU's inner loops, V(p) = sum_i q_i / |s_i - p| for a few points at a time, one implementation per instruction
// set (direct_sum_lanes_*.cpp, all from the one body in direct_sum_lanes_body.hpp). SIMD lanes hold points.
#pragma once

#include <cstdint>
#include <vector>

namespace smallbatch {

/// Most points per call.
inline constexpr int points_per_call = 64;

/// Charges for single precision, relative to the lattice's origin.
struct SingleCharges {
  std::int64_t count = 0;
  const float *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
};
struct SinglePoints {
  int count = 0;
  alignas(64) float x[points_per_call], y[points_per_call], z[points_per_call];
};

/// Coordinates relative to the lattice's origin as unevaluated sums x + x_low: exact, whatever was subtracted.
struct DoubleCharges {
  std::int64_t count = 0;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *x_low = nullptr, *y_low = nullptr, *z_low = nullptr;
  const double* q = nullptr;
};
struct DoublePoints {
  int count = 0;
  alignas(64) double x[points_per_call], y[points_per_call], z[points_per_call];
  alignas(64) double x_low[points_per_call], y_low[points_per_call], z_low[points_per_call];
};

/// Sums over the charges that are not on the point, and over the charges that are.
struct DoubleSums {
  alignas(64) double others[points_per_call];     ///< sum of q/r, off the point
  alignas(64) double net[points_per_call];        ///< sum of q, on the point
  alignas(64) double magnitude[points_per_call];  ///< sum of |q|, on the point
};

/// One instruction set. Points from `count` up to the next full vector are computed too, from whatever lies there.
struct DirectSumLanes {
  const char* name;  ///< "avx2"
  /// Single precision terms and partial sums (partial_sums.hpp), totals in double precision. A charge on or very
  /// near a point makes that total meaningless.
  void (*sum_single)(const SingleCharges& charges, const SinglePoints& points, double* totals);
  /// Double precision throughout, totals compensated. A charge nearer than singular_distance is on the point.
  void (*sum_double)(const DoubleCharges& charges, const DoublePoints& points, double singular_distance,
                     DoubleSums& sums);
};

extern const DirectSumLanes direct_sum_lanes_baseline;  ///< runs everywhere
extern const DirectSumLanes direct_sum_lanes_avx2;      ///< x86-64 with AVX2 and FMA
extern const DirectSumLanes direct_sum_lanes_avx512;    ///< x86-64 with AVX-512F

/// Those that this machine can run, the fastest first; never empty.
std::vector<const DirectSumLanes*> supported_direct_sum_lanes();

}  // namespace smallbatch
