// 1/sqrt(x) on the arithmetic pipes, for kernels that already keep the special-function unit busy. The production
// kernels and those of the benchmark use these steps.
//
// A seed y comes from the bits of x: shifting them by one halves the exponent. One correction of high order follows:
//
//     1/sqrt(x) = y / sqrt(x y^2) = y P(e),   e = x y^2 - c
//
// P is the minimax polynomial of (c + e)^(-1/2) for the relative error. The magic constant makes the interval of x y^2
// as short as possible: [1.5, 1.6875], a ratio of 9/8. The seed is then about 1.26/sqrt(x). With the usual constants,
// the seed is close to 1/sqrt(x) itself, but the ratio is 1.146. The point c lies in the interval, so e is small, and
// the terms of P decrease. The rounding of the last multiply-add is therefore the only one that matters. A polynomial
// in x y^2 itself would take as many instructions, and its rounding error would be four times as large. The
// coefficients come from the Remez algorithm, then from a search over neighbouring floats.
//
// The following numbers are the largest relative errors over all floats in [1, 4), with the arithmetic below. (Powers
// of 4 scale exactly.) They are errors of the product y P before it is rounded, as in fma(q y, P, sum):
//
//     degree 3: 4.81e-7 (the polynomial alone 4.1e-7)      degree 4: 9.24e-8 (1.1e-8)
//
// rsqrt.approx.ftz has 2^-22.9 = 1.28e-7. At x = 0 this function returns a large finite value, and rsqrt.approx.ftz an
// infinity.
#pragma once

namespace smallbatch {

/// The factors of 1/sqrt(x) = seed * correction, for normal x. The caller multiplies them.
struct SoftwareRsqrt {
  float seed, correction;
};

/// Degree in the production kernels (add_root, physics/charges/cuda/device.cuh). It is as accurate as the hardware's
/// approximation.
inline constexpr int production_rsqrt_degree = 4;

/// Constant that gives positive seeds.
inline constexpr int rsqrt_magic = 0x5f600000;
/// Constant that gives negative seeds, and therefore -1/sqrt(x). The correction is the same.
inline constexpr int negative_rsqrt_magic = rsqrt_magic - 0x7fffffff - 1;

template <int Degree>
__device__ __forceinline__ SoftwareRsqrt software_rsqrt(float x, int magic = rsqrt_magic) {
  static_assert(Degree == 3 || Degree == 4);
  const float y =
      __int_as_float((-__float_as_int(x) >> 1) + magic);  // two instructions: a negation, and a shift with addition
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
