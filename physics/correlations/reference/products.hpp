// The referee's products of matrices, by Eigen in double precision. They are compiled once per instruction set
// (products_*.cpp, all from the body in products_body.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "core/usable_kernels.hpp"

namespace smallbatch {

/// Products of one instruction set.
struct ProductLoops {
  const char* name;
  /// Computes product (a_rows, b_rows) = a (a_rows, times) b (b_rows, times)^T. All three matrices are stored column by
  /// column. If a and b are the same, it computes only the upper triangle.
  void (*multiply)(const double* a, std::int64_t a_rows, const double* b, std::int64_t b_rows, std::int64_t times,
                   double* product);
  /// Adds sum_t (re + i im) (other_re - i other_im) to sum[0] + i sum[1].
  void (*add_product)(const double* re, const double* im, const double* other_re, const double* other_im,
                      std::int64_t times, double* sum);
};

extern const ProductLoops product_loops_baseline;  ///< runs everywhere
extern const ProductLoops product_loops_avx2;      ///< x86-64 with AVX2 and FMA
extern const ProductLoops product_loops_avx512;    ///< x86-64 with AVX-512F

/// The loops that this processor can run, best first. The baseline is always last.
inline std::vector<ProductLoops> usable_product_loops() {
  return usable_kernels<product_loops_baseline, product_loops_avx2, product_loops_avx512>();
}

}  // namespace smallbatch
