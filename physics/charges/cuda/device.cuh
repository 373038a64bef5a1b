// Functions that the kernels of direct summation share: coordinates, one pair, totals, and the sum of one target in
// double precision. Private to physics/charges/cuda/.
#pragma once

#include "core/two_difference.hpp"
#include "physics/charges/cuda/software_rsqrt.cuh"
#include "physics/charges/summed_in_double.hpp"
#include "physics/direct_sum.cuh"

namespace smallbatch {

namespace {

template <class T>
inline constexpr bool is_single = sizeof(T) == sizeof(float);

inline constexpr int warp_lanes = 32;
inline constexpr unsigned whole_warp = 0xffffffffU;

/// Number of terms that are added in T before their sum is added to a total. Each addition loses up to u of the sum,
/// and the error bound (physics/potential.hpp) leaves 4 u for all errors. If one charge outweighs the rest, 32 terms
/// would be too many.
inline constexpr int charges_per_sum = 16;

/// Faults of a problem's input. If both occur, not_finite is reported.
enum Fault : unsigned { not_finite = 1, out_of_range = 2 };
__device__ inline std::int32_t info_of_faults(unsigned faults) {
  return (faults & not_finite) != 0 ? info_charges_not_finite : info_charges_out_of_range;
}

/// Coordinate of a padding charge, which has q = 0. No target is there, so 1/r is finite.
template <class T>
inline constexpr T far_from_all = static_cast<T>(-4 * largest_input<T>);

/// Returns d . d, always with the same order of roundings.
__device__ __forceinline__ double square_of_norm(const double (&d)[3]) {
  return fma(d[0], d[0], fma(d[1], d[1], d[2] * d[2]));
}

/// The exact difference `position - origin` along one axis, which is `shifted + low`.
struct ShiftedCoordinate {
  double shifted, low;
};
__device__ inline ShiftedCoordinate shift(double position, double origin) {
  const Exact difference = two_difference(position, origin);
  return {difference.high, difference.low};
}

/// Returns 1/sqrt(x). For float this is the hardware's approximation (2^-22.9 relative), which flushes subnormal
/// numbers. rsqrtf would need three more instructions for subnormal numbers. Only targets that are summed again in
/// double precision can meet subnormal numbers.
__device__ __forceinline__ float inverse_sqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ double inverse_sqrt(double x) { return rsqrt(x); }

__device__ __forceinline__ float saturate(float x) { return __saturatef(x); }
__device__ __forceinline__ double saturate(double x) { return fmin(fmax(x, 0.0), 1.0); }

__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double multiply(double a, double b) { return __dmul_rn(a, b); }

/// Softening and cut-off in the form that the inner loops need.
template <class T>
struct Truncation {
  T softening2;   ///< eps^2
  T one;          ///< 1 + eps^2 per_cutoff2, so that w = one - rho^2 per_cutoff2
  T per_cutoff2;  ///< 1/c^2, slightly too large, so that no rounding makes w positive at the cut-off

  /// Returns w for rho^2.
  [[nodiscard]] __device__ __forceinline__ T window(T rho2) const { return saturate(fma(-rho2, per_cutoff2, one)); }
};
template <class T>
Truncation<T> truncation_of(const PotentialOptions& options) {
  // If T cannot hold the square of a cut-off, the cut-off affects only targets that are summed again in double
  // precision. So a longer cut-off may replace it here.
  const double cutoff = options.cutoff > 0 ? fmax(options.cutoff, is_single<T> ? 1e-18 : 1e-150) : 0;
  const double larger = is_single<T> ? 1 + 0x1p-21 : 1 + 0x1p-50;
  const auto softening2 = static_cast<T>(options.softening * options.softening);
  const auto per_cutoff2 = static_cast<T>(cutoff > 0 ? larger / (cutoff * cutoff) : 0);
  return {softening2, static_cast<T>(1 + static_cast<double>(softening2) * static_cast<double>(per_cutoff2)),
          per_cutoff2};
}

/// Computes sum += q / sqrt(r2). For float, `in_software` avoids the special-function unit.
__device__ __forceinline__ void add_root(float r2, float q, bool in_software, float& sum) {
  if (in_software) {
    const SoftwareRsqrt root = software_rsqrt<production_rsqrt_degree>(r2);
    sum = __fmaf_rn(__fmul_rn(q, root.seed), root.correction, sum);
  } else {
    sum = __fmaf_rn(q, inverse_sqrt(r2), sum);
  }
}
__device__ __forceinline__ void add_root(double r2, double q, bool, double& sum) {
  sum = fma(q, inverse_sqrt(r2), sum);
}

/// Contributions of a charge of 1 at distance rho: g to V, and `slope * (p - s)` to E.
template <class T>
struct Term {
  T g, slope;
};
template <bool Cutoff, class T>
__device__ __forceinline__ Term<T> term_of(T rho2, const Truncation<T>& truncation) {
  const T per_rho = inverse_sqrt(rho2), per_rho2 = multiply(per_rho, per_rho);
  if constexpr (!Cutoff) return {per_rho, multiply(per_rho2, per_rho)};
  const T w = truncation.window(rho2), g = multiply(per_rho, w);
  return {multiply(g, w), multiply(fma(w, per_rho2, 4 * truncation.per_cutoff2), g)};
}

/// Adds a sum to its total and leaves the rounding error in the sum. The next terms are then added to that error (W.
/// Kahan, Commun. ACM 8, 40 (1965)). The error of total + sum does not grow with the number of sums. No number of twice
/// the precision is needed until total + sum is read.
template <class T>
__device__ __forceinline__ void settle(T& total, T& sum) {
  const T grown = total + sum;
  sum -= grown - total;
  total = grown;
}

/// A total to which each term is added at once, without a partial sum.
struct Total {
  double total = 0, rest = 0;
  __device__ __forceinline__ void add(double next) {
    rest += next;
    settle(total, rest);
  }
  [[nodiscard]] __device__ double value() const { return total + rest; }
};

/// Sums at one target in double precision.
struct TargetSums {
  Total others;          // sum q g over charges off the target
  double field[3]{};     // E of the same charges
  double net = 0;        // sum q over charges on the target
  double magnitude = 0;  // sum |q| over these charges
  __device__ void add(const TargetSums& more) {
    others.add(more.others.value());
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) field[axis] += more.field[axis];
    net += more.net;
    magnitude += more.magnitude;
  }
  /// Adds one charge at displacement `d = target - charge`. Without a softening, a charge with |d|^2 below `singular2`
  /// lies on the target.
  __device__ void add_charge(double q, const double (&d)[3], double singular2, const PotentialOptions& options) {
    const double r2 = square_of_norm(d);
    if (options.softening == 0 && r2 < singular2) {
      net += q;
      magnitude += fabs(q);
      return;
    }
    // Every multiplication next to an addition is a call of fma() or multiply(), which leaves no choice to the
    // compiler. All kernels therefore compute terms with the same bits.
    const double per_rho = rsqrt(fma(options.softening, options.softening, r2));
    double g = per_rho, slope = per_rho * per_rho * per_rho;
    if (options.cutoff > 0) {
      const double cutoff2 = options.cutoff * options.cutoff, per_cutoff2 = 1 / cutoff2;
      if (r2 >= cutoff2) return;
      const double w = fma(-r2, per_cutoff2, 1.0);
      g = per_rho * w * w;
      slope = per_rho * w * fma(w * per_rho, per_rho, 4 * per_cutoff2);
    }
    others.add(multiply(q, g));
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) field[axis] = fma(q * d[axis], slope, field[axis]);
  }
};

/// Adds the sums of a warp's lanes. The result is valid in lane 0.
__device__ inline TargetSums sum_over_warp(TargetSums sums) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    TargetSums other;
    other.others = {__shfl_down_sync(whole_warp, sums.others.total, distance),
                    __shfl_down_sync(whole_warp, sums.others.rest, distance)};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) other.field[axis] = __shfl_down_sync(whole_warp, sums.field[axis], distance);
    other.net = __shfl_down_sync(whole_warp, sums.net, distance);
    other.magnitude = __shfl_down_sync(whole_warp, sums.magnitude, distance);
    sums.add(other);
  }
  return sums;
}

/// Stores the sums of a target as value `index` of the result.
template <class T>
__device__ void store_exact(const PotentialResult<T>& result, std::int64_t index, const TargetSums& sums,
                            const PotentialOptions& options) {
  const double potential =
      apply_singularity(options.singular, options.unit_factor * sums.others.value(), sums.net, sums.magnitude);
  result.potential[index] = static_cast<T>(potential);
  if (result.field == nullptr) return;
  const bool singular = isinf(potential) && sums.magnitude > 0;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis)
    result.field[3 * index + axis] =
        singular ? static_cast<T>(NAN) : static_cast<T>(options.unit_factor * sums.field[axis]);
}

}  // namespace

}  // namespace smallbatch
