// Sums, extremes and norms of arrays, on host and device, whose bits depend on the values and their number alone: not
// on threads, blocks, the GPU, or whether there is one. Both walk the same tree (core/reduction_tree.hpp). On device
// arrays: core/reductions.cuh.
#pragma once

#include <cstdint>

namespace smallbatch {

enum class Reduction {
  sum,      ///< sum_i x_i; 0 of nothing
  minimum,  ///< a NaN where any value is one; +infinity of nothing
  maximum,  ///< a NaN where any value is one; -infinity of nothing
  dot,      ///< sum_i x_i y_i; 0 of nothing
  norm2     ///< sqrt(sum_i x_i^2), of squares as they are: where their sum leaves its range, infinity; 0 of nothing
};

/// In what the terms of sum, dot and norm2 are rounded and added; extremes are exact in each. A tree's error grows with
/// the length of its paths, d below: at most 120 for up to 2^28 values.
enum class Accumulation {
  fast,        ///< the values' type, whose roundoff is u: |error| <= (d + 1) u sum |terms|, to first order
  float64,     ///< double precision: no product of float32 is rounded, no square of one overflows
  compensated  ///< pairs of the values' type, which keep what the roundings lose: |error| <= 2^-53 |result|
               ///< + (2 d + 2)^2 u^2 sum |terms| (T. Ogita, S. M. Rump, S. Oishi, SIAM J. Sci. Comput. 26, 1955 (2005))
};

/// The reduction of x_0 .. x_{count-1}, and for dot of y with it, on `threads` threads (0: one per core). T: float or
/// double. A result that is not a number is always the same NaN.
template <class T>
double reduce(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
              unsigned threads = 1);

}  // namespace smallbatch
