#include "solvers/cpu/backward_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/scaled_residual.hpp"

namespace smallbatch {

namespace {

/// Returns 2^-e for a magnitude of about 2^e. The result is exact, and finite for any magnitude.
double normalizer_of(double magnitude) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, std::min(1020, -exponent));
}

/// The residual `b - sum a x` in twice the precision of T, for |a|, |x| <= 1; residual.hpp has the same sum for lanes.
/// Products are exact or come from std::fma. No bit therefore depends on whether the compiler fuses multiply-adds.
template <class T>
class WideSum;
template <>
class WideSum<float> {
 public:
  explicit WideSum(double b) : sum_(b) {}
  void subtract(double a, double x) { sum_ -= a * x; }
  [[nodiscard]] double value() const { return sum_; }

 private:
  double sum_;
};
template <>
class WideSum<double> {
 public:
  explicit WideSum(double b) : sum_(b + origin), rest_(b - (sum_ - origin)) {}
  void subtract(double a, double x) {
    const double next = std::fma(-a, x, sum_);
    rest_ -= std::fma(a, x, next - sum_);
    sum_ = next;
  }
  [[nodiscard]] double value() const { return (sum_ - origin) + rest_; }

 private:
  static constexpr double origin = 0x1.8p11;
  double sum_, rest_;
};

}  // namespace

template <class T>
double backward_error_of(const SpdShape& shape, const T* a, const T* b, const T* x, std::int64_t x_distance) {
  const int n = shape.n, columns = shape.wants_inverse() ? n : shape.nrhs;
  const auto element = [&](int i, int j) -> double {
    const int row = std::max(i, j), column = std::min(i, j);
    return shape.storage == Storage::dense         ? a[i * n + j]
           : shape.storage == Storage::dense_lower ? a[row * n + column]
                                                   : a[row * (row + 1) / 2 + column];
  };
  const auto solution = [&](int i, int c) -> double { return x[(i * std::int64_t{columns} + c) * x_distance]; };

  double largest = 0, norm_a = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) largest = std::max(largest, std::abs(element(i, j)));
  const double a_factor = normalizer_of(largest);
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::abs(element(i, j) * a_factor);
    norm_a = std::max(norm_a, sum);
  }
  const auto largest_of = [&](int first, int last) {
    double magnitude = 0;
    for (int c = first; c < last; ++c)
      for (int i = 0; i < n; ++i) magnitude = std::max(magnitude, std::abs(solution(i, c)));
    return magnitude;
  };
  // All columns of an inverse are scaled alike, because its norm is the largest of its columns' norms.
  double x_factor = shape.wants_inverse() ? normalizer_of(largest_of(0, n)) : 0;
  double worst = 0, worst_residual = 0, norm_inverse = 0;
  for (int c = 0; c < columns; ++c) {
    if (!shape.wants_inverse()) x_factor = normalizer_of(largest_of(c, c + 1));
    double norm_x = 0, norm_r = 0;
    for (int i = 0; i < n; ++i) {
      const double right = shape.wants_inverse() ? (i == c ? 1 : 0) : b[i * std::int64_t{columns} + c];
      WideSum<T> residual(with_factors(right, a_factor, x_factor));
      for (int j = 0; j < n; ++j) residual.subtract(element(i, j) * a_factor, solution(j, c) * x_factor);
      norm_r += std::abs(residual.value());
      norm_x += std::abs(solution(i, c) * x_factor);
    }
    if (norm_r != 0) worst = std::max(worst, norm_r / (norm_a * norm_x));
    worst_residual = std::max(worst_residual, norm_r);
    norm_inverse = std::max(norm_inverse, norm_x);
  }
  if (!shape.wants_inverse()) return worst;
  return worst_residual == 0 ? 0 : worst_residual / (norm_a * norm_inverse);
}

template double backward_error_of(const SpdShape&, const float*, const float*, const float*, std::int64_t);
template double backward_error_of(const SpdShape&, const double*, const double*, const double*, std::int64_t);

}  // namespace smallbatch
