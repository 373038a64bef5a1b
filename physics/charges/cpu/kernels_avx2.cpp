// The loops for AVX2 and FMA. Single precision takes the hardware's 12-bit estimate y of 1/sqrt(a) and one step of
// third order. With e = 1 - a y^2, 1/sqrt(a) = y (1 + e/2 + 3/8 e^2 + O(e^3)). Because |e| < 2^-10.4, the remaining
// error is below 2^-32.
#include <immintrin.h>

#include "physics/charges/cpu/kernels.hpp"

#pragma GCC target("avx2,fma")
#include "physics/charges/cpu/kernels_body.hpp"

namespace smallbatch {

namespace {
struct Avx2Lanes {
  using Float = __m256;
  using Double = __m256d;
  static constexpr int float_vectors = 2;
  static Float inverse_sqrt(Float r2) { return third_order_step<Avx2Lanes, float>(r2, _mm256_rsqrt_ps(r2)); }
  static Float smaller(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Double smaller(Double a, Double b) { return _mm256_min_pd(a, b); }
  static Double inverse_sqrt(Double r2) { return 1.0 / _mm256_sqrt_pd(r2); }
  static Float multiply_add(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Double multiply_add(Double a, Double b, Double c) { return _mm256_fmadd_pd(a, b, c); }
  static float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
  template <class Mask>
  static bool any(Mask mask) {
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
  }
};
}  // namespace

constinit const DirectSumKernels direct_sum_kernels_avx2 = lanes_of<Avx2Lanes>("avx2");

}  // namespace smallbatch
