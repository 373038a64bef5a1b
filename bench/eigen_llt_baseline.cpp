// Row 0 of the host's solve ladder: Eigen's LLT with a size known to the compiler, one system after another.
//
// The eigen_*_baseline.cpp files are compiled for the machine they are built on. Their flags rename Eigen's namespace,
// so that none of their functions replaces a function of the referee.
#include "bench/solve_cpu_ladder.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstdint>

namespace smallbatch {

namespace {

template <class T>
void solve_batch(std::int64_t count, const T* a, const T* b, T* x) {
  constexpr int n = 32;
  using Matrix = Eigen::Matrix<T, n, n>;
  using Column = Eigen::Matrix<T, n, 1>;
  for (std::int64_t k = 0; k < count; ++k) {
    const Eigen::LLT<Matrix> factors(Eigen::Map<const Matrix>(a + k * n * n));
    Eigen::Map<Column>(x + k * n) = factors.solve(Eigen::Map<const Column>(b + k * n));
  }
}

}  // namespace

void solve_by_eigen_llt(std::int64_t count, const float* a, const float* b, float* x) { solve_batch(count, a, b, x); }
void solve_by_eigen_llt(std::int64_t count, const double* a, const double* b, double* x) {
  solve_batch(count, a, b, x);
}

}  // namespace smallbatch
