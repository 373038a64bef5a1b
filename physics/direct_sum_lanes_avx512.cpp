// AVX-512. Single precision takes the hardware's 14-bit estimate y of 1/sqrt(a) and one step of Newton's method,
// y (1 + e/2) with e = 1 - a y^2, |e| < 2^-12.9, so what is left is 3/8 e^2 < 2^-27.
#include <immintrin.h>

#include "physics/direct_sum_lanes_body.hpp"

namespace smallbatch {

namespace {
struct Avx512Lanes {
  using Float = __m512;
  using Double = __m512d;
  static constexpr int float_vectors = 4;
  // (The forms without a mask make GCC 12 warn of an uninitialised variable in its own header.)
  static Float inverse_sqrt(Float r2) {
    const Float y = _mm512_maskz_rsqrt14_ps(0xffff, r2);
    const Float e = 1.0F - (r2 * y) * y;
    return y + (y * e) * 0.5F;
  }
  static Float smaller(Float a, Float b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static Double smaller(Double a, Double b) { return _mm512_maskz_min_pd(0xff, a, b); }
  static Double inverse_sqrt(Double r2) { return 1.0 / _mm512_maskz_sqrt_pd(0xff, r2); }
};
}  // namespace

constinit const DirectSumLanes direct_sum_lanes_avx512 = lanes_of<Avx512Lanes>("avx512");

}  // namespace smallbatch
