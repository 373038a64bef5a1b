// What the kernels of direct summation share: coordinates, charges in shared memory, one pair, totals, and the sum of
// one target in double precision. Private to physics/*.cu.
#pragma once

#include "physics/direct_sum.cuh"
#include "physics/near_charges.hpp"
#include "physics/software_rsqrt.cuh"

namespace smallbatch {

namespace {

inline constexpr int warp_lanes = 32;
inline constexpr unsigned whole_warp = 0xffffffffU;
inline constexpr int charges_in_shared_memory = 256;

/// Terms that are added in T before a total takes their sum (with a field on lattices, four such sums of V are added
/// first, and E goes on to 64). Each addition costs up to u of what the sum holds, and the bound leaves 4 u for
/// everything: where one charge outweighs the rest, 32 would be too many.
inline constexpr int charges_per_sum = 16;
static_assert(charges_in_shared_memory % charges_per_sum == 0);

/// What is wrong with a problem's input; not finite outweighs out of range.
enum Fault : unsigned { not_finite = 1, out_of_range = 2 };
__device__ inline std::int32_t info_of_faults(unsigned faults) {
  return (faults & not_finite) != 0 ? info_charges_not_finite : info_charges_out_of_range;
}

/// One charge as the inner loops read it: relative to the origin, in the precision of the sum.
template <class T>
struct alignas(16) ShiftedCharge {
  T x, y, z, q;
};

/// A charge that adds nothing anywhere: zero, and where no target is, so that 1/r is finite.
template <class T>
__device__ ShiftedCharge<T> no_charge() {
  constexpr T far = static_cast<T>(-4 * largest_input<T>);
  return {far, far, far, T{0}};
}

/// position - origin along one axis, as the exact sum shifted + low.
struct ShiftedCoordinate {
  double shifted, low;
};
__device__ inline ShiftedCoordinate shift(double position, double origin) {
  const double shifted = position - origin, minus_origin = shifted - position;
  return {shifted, (position - (shifted - minus_origin)) - (origin + minus_origin)};
}

/// Softening and cut-off as the inner loops need them.
template <class T>
struct Truncation {
  T softening2;   ///< eps^2
  T one;          ///< 1 + eps^2/c^2, so that w = one - rho^2/c^2
  T per_cutoff2;  ///< 1/c^2, a little too large: w must not be above 0 at the cut-off, whatever its rounding
};
template <class T>
Truncation<T> truncation_of(const PotentialOptions& options) {
  constexpr bool single = sizeof(T) == sizeof(float);
  // A cut-off whose square T cannot hold reaches no target that is not summed again in double precision.
  const double cutoff = options.cutoff > 0 ? fmax(options.cutoff, single ? 1e-18 : 1e-150) : 0;
  const double softening2 = options.softening * options.softening, per_cutoff2 = cutoff > 0 ? 1 / (cutoff * cutoff) : 0;
  return {static_cast<T>(softening2), static_cast<T>(1 + softening2 * per_cutoff2),
          static_cast<T>(per_cutoff2 * (single ? 1 + 0x1p-21 : 1 + 0x1p-50))};
}

/// 1/sqrt(x). For float the hardware's approximation (2^-22.9 relative) with denormals flushed, on purpose: rsqrtf
/// spends three more instructions on denormals, which only targets that are summed again can meet.
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

/// sum += q / sqrt(r2) without the special-function unit.
__device__ __forceinline__ void add_in_software(float r2, float q, float& sum) {
  const SoftwareRsqrt root = software_rsqrt<4>(r2);
  sum = __fmaf_rn(__fmul_rn(q, root.seed), root.correction, sum);
}

/// A total of sums that takes back at the next addition what it lost at the last (W. Kahan, Commun. ACM 8, 40 (1965)):
/// its error does not grow with their number, and no number of twice the length is needed until it is read.
template <class T>
struct Total {
  T sum, surplus;
  __device__ __forceinline__ void add(T next) {
    const T corrected = next - surplus, grown = sum + corrected;
    surplus = (grown - sum) - corrected;
    sum = grown;
  }
  [[nodiscard]] __device__ double value() const { return static_cast<double>(sum) - static_cast<double>(surplus); }
};

/// What double precision finds at one target.
struct TargetSums {
  Total<double> others{};  // q g of the charges off the target
  double field[3]{};       // their field
  double net = 0;          // q of those on it
  double magnitude = 0;    // |q| of those on it
  __device__ void add(const TargetSums& more) {
    others.add(more.others.value());
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) field[axis] += more.field[axis];
    net += more.net;
    magnitude += more.magnitude;
  }
  /// One charge at target - charge = d. Below `singular2`, unless softened, it is on the target.
  __device__ void add_charge(double q, const double (&d)[3], double singular2, const PotentialOptions& options) {
    const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (options.softening == 0 && r2 < singular2) {
      net += q;
      magnitude += fabs(q);
      return;
    }
    const double per_rho = rsqrt(r2 + options.softening * options.softening);
    double g = per_rho, slope = per_rho * per_rho * per_rho;
    if (options.cutoff > 0) {
      const double cutoff2 = options.cutoff * options.cutoff, per_cutoff2 = 1 / cutoff2;
      if (r2 >= cutoff2) return;
      const double w = 1 - r2 * per_cutoff2;
      g = per_rho * w * w;
      slope = per_rho * w * (w * per_rho * per_rho + 4 * per_cutoff2);
    }
    others.add(q * g);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) field[axis] += q * d[axis] * slope;
  }
};

/// The sum over a warp's lanes, valid in lane 0.
__device__ inline TargetSums sum_over_warp(TargetSums sums) {
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    TargetSums other;
    other.others = {__shfl_down_sync(whole_warp, sums.others.sum, distance),
                    __shfl_down_sync(whole_warp, sums.others.surplus, distance)};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) other.field[axis] = __shfl_down_sync(whole_warp, sums.field[axis], distance);
    other.net = __shfl_down_sync(whole_warp, sums.net, distance);
    other.magnitude = __shfl_down_sync(whole_warp, sums.magnitude, distance);
    sums.add(other);
  }
  return sums;
}

/// Stores what double precision found at value `index` of the result.
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
