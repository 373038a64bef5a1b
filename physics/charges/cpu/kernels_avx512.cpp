// The loops for AVX-512. The hardware's 14-bit estimate y of 1/sqrt(a) has e = 1 - a y^2 with |e| < 2^-12.9. Single
// precision takes one step of Newton's method, y (1 + e/2). Its error is 3/8 e^2 < 2^-27. Double precision takes one
// step of fourth order, y (1 + e/2 + 3/8 e^2 + 5/16 e^3). Its error is 35/128 e^4 < 2^-53. This step takes less time
// than a root and a division.
#include <immintrin.h>

#include "physics/charges/cpu/kernels.hpp"

#pragma GCC target("avx512f,avx2,fma")
#include "physics/charges/cpu/kernels_body.hpp"

namespace smallbatch {

namespace {
struct Avx512Lanes {
  using Float = __m512;
  using Double = __m512d;
  static constexpr int float_vectors = 4;
  // The intrinsics without a mask make GCC 12 warn of an uninitialised variable in its own header.
  static Float inverse_sqrt(Float r2) {
    return second_order_step<Avx512Lanes, float>(r2, _mm512_maskz_rsqrt14_ps(0xffff, r2));
  }
  static Float smaller(Float a, Float b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Double smaller(Double a, Double b) { return _mm512_maskz_min_pd(0xff, a, b); }
  static Double inverse_sqrt(Double r2) {
    return fourth_order_step<Avx512Lanes, double>(r2, _mm512_maskz_rsqrt14_pd(0xff, r2));
  }
  static Float multiply_add(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Double multiply_add(Double a, Double b, Double c) { return _mm512_fmadd_pd(a, b, c); }
  static float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
  template <class Mask>
  static bool any(Mask mask) {
    const auto bits = reinterpret_cast<__m512i>(mask);
    return _mm512_test_epi64_mask(bits, bits) != 0;
  }
};
}  // namespace

constinit const DirectSumKernels direct_sum_kernels_avx512 = lanes_of<Avx512Lanes>("avx512");

}  // namespace smallbatch
