// The cpu's repair of matrices that are singular to working precision; SpdOptions::pivot_floor defines it.
#pragma once

#include <vector>

#include "core/systems.hpp"
#include "solvers/square.hpp"

namespace smallbatch {

/// Memory for the repairs of a thread, one after the other: three matrices of n x n numbers. It lies on the heap,
/// because the stack of a thread may be small.
class PivotRepairMemory {
 public:
  explicit PivotRepairMemory(int n) : n_(n), numbers_(3 * square_size(n)) {}
  [[nodiscard]] Square remainder() { return {numbers_.data(), n_}; }
  [[nodiscard]] Square factor() { return {numbers_.data() + square_size(n_), n_}; }
  [[nodiscard]] Square inverse() { return {numbers_.data() + 2 * square_size(n_), n_}; }

 private:
  int n_;
  std::vector<double> numbers_;
};

/// Repairs the results of one system that a solver without a floor has stored; `results` points to them. If a pivot is
/// raised, or if the solver had failed at a pivot, the results become those of the nearby matrix. The arrays a, b and x
/// have no gaps; x must not be b. `memory` is for systems of this shape.
template <class T>
void repair_pivots(const SpdShape& shape, const T* a, const T* b, double pivot_floor, const SpdSolution<T>& results,
                   PivotRepairMemory& memory);

}  // namespace smallbatch
