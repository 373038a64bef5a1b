// A square matrix in memory of its owner. Matrices of the largest systems are too large for the stack of a thread.
#pragma once

#include <algorithm>
#include <cstddef>

namespace smallbatch {

/// A view of n x n numbers, by rows.
class Square {
 public:
  Square(double* numbers, int n) : numbers_(numbers), n_(n) {}
  double* operator[](int i) const { return numbers_ + std::ptrdiff_t{i} * n_; }
  void fill(double value) const { std::fill_n(numbers_, std::ptrdiff_t{n_} * n_, value); }

 private:
  double* numbers_;
  int n_;
};

/// Returns how many numbers a square matrix of n rows has.
constexpr std::size_t square_size(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }

}  // namespace smallbatch
