// Repairs use double precision and symmetric pivoting, for any method and type. Eliminating a nearly semidefinite
// matrix in the order of its rows may multiply rounding errors without limit. The pivots then say nothing about A (N.
// J. Higham, "Accuracy and Stability of Numerical Algorithms", section 10.3).
#include "solvers/cpu/pivot_repair.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/not_finite.hpp"
#include "solvers/cpu/backward_error.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

using Row = std::array<double, max_system_size>;
using Exponents = std::array<int, max_system_size>;

/// Factors S (A + diag(e)) S = L D L^T up to the order of the rows. S = diag(2^half) brings the diagonal of S A S into
/// [1, 4). Vectors keep the row order of A. Column k of L belongs to the k-th pivot. It is 0 in the row of this pivot
/// and in the rows of earlier pivots.
class NearbyFactors {
 public:
  template <class T>
  NearbyFactors(const SpdShape& shape, const T* a, double floor, PivotRepairMemory& memory)
      : n_(shape.n), l_(memory.factor()) {
    const bool packed = shape.storage == Storage::packed_lower;
    const auto element = [&](int i, int j) -> double { return a[packed ? i * (i + 1) / 2 + j : i * n_ + j]; };
    for (int i = 0; i < n_; ++i) {
      if (!(element(i, i) > 0)) {
        failed_ = i + 1;
        return;
      }
      half_[i] = -(std::ilogb(element(i, i)) >> 1);
    }
    const Square s = memory.remainder();
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j <= i; ++j) s[i][j] = s[j][i] = std::ldexp(element(i, j), half_[i] + half_[j]);
    double largest = 0;
    for (int i = 0; i < n_; ++i) largest = std::max(largest, element(i, i));
    factor(s, floor, spd_used_floor<T>(0, n_) * largest);
  }

  /// Returns 0, or the row, counted from 1, with a diagonal element that is not positive or would have to grow by more
  /// than is allowed.
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] std::int32_t repaired() const { return repaired_; }
  [[nodiscard]] double perturbation() const { return perturbation_; }
  /// Returns the exponent of row i of S.
  [[nodiscard]] int half(int i) const { return half_[i]; }
  /// Returns the amount that repairs add to diagonal element i of S A S.
  [[nodiscard]] double added(int i) const { return added_[i]; }

  [[nodiscard]] double smallest_pivot() const {
    double smallest = infinity;
    for (int k = 0; k < n_; ++k) smallest = std::min(smallest, std::ldexp(pivot_[k], -2 * half_[order_[k]]));
    return smallest;
  }
  [[nodiscard]] double log_determinant() const {
    double sum = 0;
    int exponent = 0;
    for (int k = 0; k < n_; ++k) {
      sum += std::log(pivot_[k]);
      exponent -= 2 * half_[order_[k]];
    }
    return sum + exponent * 0.693147180559945309417;  // ln 2
  }

  /// Replaces the right-hand side b by numbers such that row i of x is b_i 2^exponent_i.
  void solve(Row& b, Exponents& exponent) const {
    constexpr int none = std::numeric_limits<int>::min();
    int top = none;
    for (int i = 0; i < n_; ++i)
      if (b[i] != 0) top = std::max(top, std::ilogb(b[i]) + half_[i]);
    if (top == none) top = 0;
    for (int i = 0; i < n_; ++i) b[i] = std::ldexp(b[i], half_[i] - top);
    for (int k = 0; k < n_; ++k) {
      const double known = b[order_[k]];
      for (int i = 0; i < n_; ++i) b[i] -= l_[k][i] * known;
    }
    for (int k = n_ - 1; k >= 0; --k) {
      double sum = b[order_[k]] / pivot_[k];
      for (int i = 0; i < n_; ++i) sum -= l_[k][i] * b[i];
      b[order_[k]] = sum;
    }
    for (int i = 0; i < n_; ++i) exponent[i] = half_[i] + top;
  }

  /// Computes the inverse of S (A + diag(e)) S as Y D^-1 Y^T with L^T Y = I.
  void invert(const Square& inverse) const {
    inverse.fill(0);
    for (int c = 0; c < n_; ++c) {
      Row y{};
      y[order_[c]] = 1;
      for (int k = c - 1; k >= 0; --k) {
        double sum = 0;
        for (int i = 0; i < n_; ++i) sum -= l_[k][i] * y[i];
        y[order_[k]] = sum;
      }
      for (int i = 0; i < n_; ++i) {
        const double scaled = y[i] / pivot_[c];
        for (int j = 0; j <= i; ++j) inverse[i][j] += scaled * y[j];
      }
    }
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < i; ++j) inverse[j][i] = inverse[i][j];
  }

 private:
  /// Returns the row of the next pivot. Each diagonal element is compared as a fraction of its original value. The next
  /// pivot is in the first remaining row with nearly the largest fraction. Once the largest fraction is below the
  /// floor, the next pivot is in the first remaining row.
  [[nodiscard]] int next_pivot(const Square& s, const Row& diagonal, const std::array<bool, max_system_size>& done,
                               double floor, bool& raising) const {
    double largest = -infinity;
    for (int i = 0; i < n_; ++i)
      if (!done[i]) largest = std::max(largest, s[i][i] / diagonal[i]);
    raising = raising || !(largest >= floor);
    for (int i = 0; i < n_; ++i)
      if (!done[i] && (raising || s[i][i] / diagonal[i] >= spd_nearly_largest * largest)) return i;
    return -1;
  }

  /// Factors s. `rounding` is the possible error of the elements of A, without the scaling by S.
  void factor(const Square& s, double floor, double rounding) {
    Row diagonal{};
    for (int i = 0; i < n_; ++i) diagonal[i] = s[i][i];
    std::array<bool, max_system_size> done{};
    bool raising = false;
    for (int k = 0; k < n_; ++k) {
      const int row = order_[k] = next_pivot(s, diagonal, done, floor, raising);
      pivot_[k] = s[row][row];
      if (raising) {
        ++repaired_;
        pivot_[k] = floor * diagonal[row];
        for (int i = 0; i < n_; ++i)
          if (!done[i] && i != row) pivot_[k] = std::max(pivot_[k], s[row][i] * s[row][i] / (floor * diagonal[i]));
        added_[row] = pivot_[k] - s[row][row];
        perturbation_ = std::max(perturbation_, added_[row] / diagonal[row]);
        const double allowed = std::max(floor * diagonal[row], std::ldexp(rounding, 2 * half_[row]));
        if (!(added_[row] <= spd_largest_repair * allowed)) {
          failed_ = row + 1;
          return;
        }
      }
      done[row] = true;
      Row column{};
      for (int i = 0; i < n_; ++i)
        if (!done[i]) column[i] = s[row][i];
      for (int i = 0; i < n_; ++i) l_[k][i] = column[i] / pivot_[k];
      for (int i = 0; i < n_; ++i)
        if (!done[i])
          for (int j = 0; j < n_; ++j) s[i][j] -= l_[k][i] * column[j];
    }
  }

  int n_, failed_ = 0;
  std::int32_t repaired_ = 0;
  double perturbation_ = 0;
  Exponents half_{}, order_{};  // order_[k] is the row of the k-th pivot
  Row pivot_{}, added_{};
  Square l_;  // l_[k][i] is row i of column k
};

/// Returns 1 / (||A + diag(e)||_1 ||(A + diag(e))^-1||_1), from the inverse of S (A + diag(e)) S.
template <class T>
double rcond_of(const SpdShape& shape, const T* a, const NearbyFactors& factors, const Square& inverse) {
  const int n = shape.n;
  const auto element = [&](int i, int j) -> double {
    const int row = std::max(i, j), column = std::min(i, j);
    return a[shape.storage == Storage::packed_lower ? row * (row + 1) / 2 + column : row * n + column];
  };
  int top = std::numeric_limits<int>::min();
  for (int i = 0; i < n; ++i) top = std::max(top, std::ilogb(element(i, i)));
  double norm = 0, norm_inverse = 0;  // of A 2^-top, and of its inverse
  for (int j = 0; j < n; ++j) {
    double sum = std::ldexp(factors.added(j), -2 * factors.half(j) - top), sum_inverse = 0;
    for (int i = 0; i < n; ++i) {
      sum += std::abs(std::ldexp(element(i, j), -top));
      sum_inverse += std::abs(std::ldexp(inverse[i][j], factors.half(i) + factors.half(j) + top));
    }
    norm = std::max(norm, sum);
    norm_inverse = std::max(norm_inverse, sum_inverse);
  }
  return 1 / norm / norm_inverse;
}

/// Stores the solutions of the nearby system. Returns their status.
template <class T>
std::int32_t store_solutions(const SpdShape& shape, const T* b, const NearbyFactors& factors, T* x) {
  constexpr double u = std::numeric_limits<T>::epsilon() / 2.0;
  const int n = shape.n;
  std::int32_t info = 0;
  for (int c = 0; c < shape.nrhs; ++c) {
    Row y{};
    Exponents exponent{};
    for (int i = 0; i < n; ++i) y[i] = b[i * std::int64_t{shape.nrhs} + c];
    factors.solve(y, exponent);
    int top = std::numeric_limits<int>::min() / 2;
    for (int i = 0; i < n; ++i)
      if (y[i] != 0) top = std::max(top, std::ilogb(y[i]) + exponent[i]);
    double lost = 0, norm = 0;
    for (int i = 0; i < n; ++i) {
      const T stored = static_cast<T>(std::ldexp(y[i], exponent[i]));
      if (!std::isfinite(stored)) return info_result_not_finite;
      const double exact = std::ldexp(y[i], exponent[i] - top);
      lost += std::abs(exact - std::ldexp(static_cast<double>(stored), -top));
      norm += std::abs(exact);
      x[i * std::int64_t{shape.nrhs} + c] = stored;
    }
    if (lost > spd_underflow_loss * u * norm) info = info_result_underflowed;
  }
  return info;
}

template <class T>
std::int32_t store_inverse(const SpdShape& shape, const NearbyFactors& factors, const Square& inverse, T* x) {
  for (int i = 0; i < shape.n; ++i)
    for (int j = 0; j < shape.n; ++j) {
      const T stored = static_cast<T>(std::ldexp(inverse[i][j], factors.half(i) + factors.half(j)));
      if (!std::isfinite(stored)) return info_result_not_finite;
      x[i * shape.n + j] = stored;
    }
  return 0;
}

template <class V, class Value>
void put(V* place, Value value) {
  if (place != nullptr) *place = static_cast<V>(value);
}

template <class T>
void store_failure(const SpdShape& shape, std::int32_t info, const SpdSolution<T>& results) {
  *results.info = info;
  std::fill_n(results.x, shape.solution_size(), std::numeric_limits<T>::quiet_NaN());
  for_each_spd_number<T>([&](const auto& number) { put(results.*number.in_solution, number.of_failed()); });
}

}  // namespace

template <class T>
void repair_pivots(const SpdShape& shape, const T* a, const T* b, double pivot_floor, const SpdSolution<T>& results,
                   PivotRepairMemory& memory) {
  const std::int32_t info = *results.info;
  if (is_input_refused(info)) return;
  const NearbyFactors factors(shape, a, spd_used_floor<T>(pivot_floor, shape.n), memory);
  if (factors.failed() != 0) {
    if (info == 0) store_failure(shape, factors.failed(), results);
    return;
  }
  if (factors.repaired() == 0 && info <= 0) return;

  const Square inverse = memory.inverse();
  if (shape.wants_inverse() || results.rcond != nullptr) factors.invert(inverse);
  std::int32_t status = 0;
  if (shape.wants_inverse())
    status = store_inverse(shape, factors, inverse, results.x);
  else if (!shape.determinant_only)
    status = store_solutions(shape, b, factors, results.x);
  if (status != 0) return store_failure(shape, status, results);
  *results.info = 0;
  if (!shape.determinant_only && results.backward_error != nullptr)
    put(results.backward_error, backward_error_of(shape, a, b, results.x));
  if (results.rcond != nullptr) put(results.rcond, rcond_of(shape, a, factors, inverse));
  put(results.smallest_pivot, factors.smallest_pivot());
  put(results.log_determinant, factors.log_determinant());
  put(results.repaired, factors.repaired());
  put(results.perturbation, factors.perturbation());
}

template void repair_pivots(const SpdShape&, const float*, const float*, double, const SpdSolution<float>&,
                            PivotRepairMemory&);
template void repair_pivots(const SpdShape&, const double*, const double*, double, const SpdSolution<double>&,
                            PivotRepairMemory&);

}  // namespace smallbatch
