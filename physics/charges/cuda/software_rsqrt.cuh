// 1/sqrt(x) on the arithmetic pipes, for kernels that keep the special-function unit busy already: production's and the
// benchmark's steps.
//
// A seed y from the bits of x (shifted by one the exponent halves), then one correction of high order:
//     1/sqrt(x) = y / sqrt(x y^2) = y P(e),   e = x y^2 - c
// P is the minimax polynomial of (c + e)^(-1/2) for the relative error. The magic constant makes the interval of x y^2
// as short as it can be, [1.5, 1.6875]: 9/8, where the constant of an unscaled seed leaves 1.144. Centred about c the
// coefficients fall off, and the last multiply-add alone rounds; a polynomial in x y^2 itself would take as many
// instructions and lose four times as much. Coefficients: Remez, then a search over neighbouring floats.
//
// Largest relative errors over all floats in [1, 4), the arithmetic as below (powers of 4 scale exactly), y P taken
// before it is rounded, as in fma(q y, P, sum):
//     degree 3: 4.81e-7 (the polynomial alone 4.1e-7)      degree 4: 9.24e-8 (1.1e-8)
// rsqrt.approx.ftz has 2^-22.9 = 1.28e-7. At x = 0 the value is large and finite where that one is infinite.
#pragma once

namespace smallbatch {

/// 1/sqrt(x) = seed * correction, for normal x; the caller multiplies.
struct SoftwareRsqrt {
  float seed, correction;
};

/// Production's (add_root, physics/charges/cuda/device.cuh): as exact as the hardware's.
inline constexpr int production_rsqrt_degree = 4;

/// The seed's constant.
inline constexpr int rsqrt_magic = 0x5f600000;
/// Gives seeds below zero, and so -1/sqrt(x); the correction is the same.
inline constexpr int negative_rsqrt_magic = rsqrt_magic - 0x7fffffff - 1;

template <int Degree>
__device__ __forceinline__ SoftwareRsqrt software_rsqrt(float x, int magic = rsqrt_magic) {
  static_assert(Degree == 3 || Degree == 4);
  const float y = __int_as_float((-__float_as_int(x) >> 1) + magic);  // a negation, and a shift that adds
  if constexpr (Degree == 3) {
    const float e = fmaf(x * y, y, -1.59375F);
    return {y, fmaf(fmaf(fmaf(-0.0613517091F, e, 0.1172406F), e, -0.248507246F), e, 0.792117715F)};
  } else {
    const float e = fmaf(x * y, y, -1.5F);
    const float high = fmaf(fmaf(0.033713188F, e, -0.0739989504F), e, 0.135978669F);
    return {y, fmaf(fmaf(high, e, -0.272163033F), e, 0.816496551F)};
  }
}

}  // namespace smallbatch
