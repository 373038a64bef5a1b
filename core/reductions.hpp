// Sums, extremes and norms of arrays, on host and device. The bits of a result depend only on the values and their
// number. They do not depend on the number of threads or blocks, on the GPU, or on whether a GPU computes at all. Host
// and device walk the same tree (core/reduction_tree.hpp). core/reductions.cuh has the reductions of device arrays.
#pragma once

#include <cstdint>

namespace smallbatch {

enum class Reduction {
  sum,      ///< sum_i x_i; 0 for an empty array
  minimum,  ///< NaN if any value is NaN; +infinity for an empty array
  maximum,  ///< NaN if any value is NaN; -infinity for an empty array
  dot,      ///< sum_i x_i y_i; 0 for an empty array
  norm2  ///< sqrt(sum_i x_i^2), without scaling: infinity if the sum of squares leaves the range of its type; 0 for an
         ///< empty array
};

/// The precision in which the terms of sum, dot and norm2 are rounded and added. Minimum and maximum are always exact.
/// The error of a sum grows with the length d of the paths in the tree, which is at most 120 for up to 2^28 values.
enum class Accumulation {
  fast,        ///< the type of the values, with unit roundoff u: |error| <= (d + 1) u sum |terms|, to first order
  float64,     ///< double precision: products of float32 values are exact, and their squares do not overflow
  compensated  ///< pairs of numbers of the values' type, a sum and its rounding errors: |error| <= 2^-53 |result| + (2
               ///< d + 2)^2 u^2 sum |terms| (T. Ogita, S. M. Rump, S. Oishi, SIAM J. Sci. Comput. 26, 1955 (2005))
};

/// Returns the reduction of x_0 .. x_{count-1}, computed on `threads` threads (0: one per core). Only dot uses y. T is
/// float or double. A result that is not a number is always the same NaN.
template <class T>
double reduce(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
              unsigned threads = 1);

}  // namespace smallbatch
