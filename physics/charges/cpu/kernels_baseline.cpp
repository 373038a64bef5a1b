// The loops for vectors of 16 bytes (SSE2, NEON, or the compiler's substitute). Roots and quotients are correctly
// rounded.
#include "physics/charges/cpu/kernels_body.hpp"

namespace smallbatch {

namespace {
struct BaselineLanes {
  typedef float Float __attribute__((vector_size(16)));
  typedef double Double __attribute__((vector_size(16)));
  static constexpr int float_vectors = 2;
  static Float inverse_sqrt(Float r2) {
    for (int lane = 0; lane < 4; ++lane) r2[lane] = __builtin_sqrtf(r2[lane]);
    return 1.0F / r2;
  }
  static Float smaller(Float a, Float b) { return a < b ? a : b; }
  static Double smaller(Double a, Double b) { return a < b ? a : b; }
  static Double inverse_sqrt(Double r2) {
    for (int lane = 0; lane < 2; ++lane) r2[lane] = __builtin_sqrt(r2[lane]);
    return 1.0 / r2;
  }
  template <class Vector>
  static Vector multiply_add(Vector a, Vector b, Vector c) {
    return a * b + c;
  }
  template <class Mask>
  static bool any(Mask mask) {
    return (mask[0] | mask[1]) != 0;
  }
};
}  // namespace

constinit const DirectSumKernels direct_sum_kernels_baseline = lanes_of<BaselineLanes>("baseline");

}  // namespace smallbatch
