// One system in Eigen's types: its inspection, its factors, its repair with a pivot floor, and measures of its answers.
// The reference backend solves with it and the referee judges with it; nothing else may include it.
//
// The input is inspected here first, because Eigen's LLT reports success for NaN, infinities and asymmetric matrices.
// Every system is scaled exactly, by powers of two, to numbers near 1, so that products of norms stay in range.
// Residuals are computed in double precision for float input and in long double for double input. Pivots that a pivot
// floor may raise, and the factors of repaired matrices, have that precision, too.
//
// This is one file, because it has one class, for one scaled matrix and its factor.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <vector>

#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// A matrix on the heap, because the stack of a caller's thread may be small.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using Column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1, Eigen::ColMajor, max_system_size, 1>;

/// The precision in which residuals of T are computed.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Returns floor(log2 of the largest magnitude), or 0 if all values are 0.
template <class Derived>
int exponent_of(const Eigen::DenseBase<Derived>& values) {
  const auto largest = values.derived().cwiseAbs().maxCoeff();
  return largest > 0 ? std::ilogb(largest) : 0;
}
/// Returns values * 2^exponent.
template <class Derived>
auto scaled(const Eigen::DenseBase<Derived>& values, int exponent) {
  using Scalar = typename Derived::Scalar;
  constexpr int largest = 1000;  // up to here 2^exponent itself is in range
  if (std::abs(exponent) <= largest) return (values.derived() * std::ldexp(Scalar(1), exponent)).eval();
  return values.derived().unaryExpr([exponent](Scalar v) { return std::ldexp(v, exponent); }).eval();
}
template <class Derived>
double norm1(const Eigen::MatrixBase<Derived>& m) {
  return static_cast<double>(m.cwiseAbs().colwise().sum().maxCoeff());
}

/// One system: the stored matrix A, and the Cholesky factor of a scaled matrix. The scaled matrix is E = 2^-g H A H
/// with a diagonal matrix H of powers of two. The exponent g brings the largest element next to 1. Then the powers of
/// two in H = diag(2^half) bring the diagonal next to 1, too. Raising a pivot adds to the diagonal element, so with a
/// floor E + diag(shift) is factored.
template <class T>
class RefereeSystem {
 public:
  /// Inspects and factors a system. If A is so close to the limit of symmetry that rounding matters, `leaning` decides:
  /// with 1, A is symmetric; with -1, A is not symmetric.
  RefereeSystem(const SpdShape& shape, const T* a, const T* b, double pivot_floor, int leaning = 0)
      : shape_(shape), b_(b), matrix_(shape.n, shape.n), shift_(shape.n) {
    const int n = shape.n;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const bool is_whole = shape.storage == Storage::dense;
        const int row = is_whole ? i : std::max(i, j), column = is_whole ? j : std::min(i, j);
        matrix_(i, j) = a[row_begin(shape.storage, n, row) + column];
      }
    shift_.setZero();
    info_ = inspect(leaning);
    if (info_ != 0) return;
    exponent_ = exponent_of(matrix_);
    for (int i = 0; i < n; ++i) half_[i] = matrix_(i, i) != 0 ? -(std::ilogb(matrix_(i, i)) - exponent_) / 2 : 0;
    equilibrated_ = scaled(matrix_, -exponent_);
    if (std::any_of(half_.begin(), half_.end(), [](int half) { return half != 0; }))
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          // If the matrix is not positive definite, its elements may have any size after scaling. The limit keeps
          // products of elements finite.
          constexpr double largest = 0x1p400;
          const double element = std::ldexp(matrix_(i, j), half_[i] + half_[j] - exponent_);
          equilibrated_(i, j) = std::clamp(element, -largest, largest);
        }
    matrix_ = scaled(matrix_, -exponent_);
    if (pivot_floor > 0) {
      floor_ = spd_used_floor<T>(pivot_floor, n);
      find_repairs();
    }
    if (repaired_ == 0) factor();
    if (failed_ != 0) {
      if (info_ == 0) info_ = failed_;
    } else if (repaired_ > 0 || (floor_ > 0 && info_ != 0)) {
      info_ = 0;
      factor_nearby();
    }
  }

  [[nodiscard]] std::int32_t info() const { return info_; }
  [[nodiscard]] int columns() const { return shape_.wants_inverse() ? shape_.n : shape_.nrhs; }
  /// Returns the largest allowed max_k shift_k / a_kk; 0 without a floor.
  [[nodiscard]] double largest_perturbation() const {
    double largest = 0;
    for (int i = 0; i < shape_.n && floor_ > 0; ++i)
      largest = std::max(largest, largest_shift(i) / equilibrated_(i, i));
    return largest;
  }
  /// Returns whether rounding decides which pivots are raised. The shifts then have no error bounds.
  [[nodiscard]] bool undecided() const { return undecided_; }

  /// Returns column c of the solution, refined with wide residuals.
  Column<Wide<T>> solve(int c) const {
    Column<Wide<T>> rhs = stored_rhs(c);
    for (int i = 0; i < shape_.n; ++i) rhs(i) = std::ldexp(rhs(i), half_[i]);
    const int rhs_exponent = exponent_of(rhs);
    rhs = scaled(rhs, -rhs_exponent);
    Column<Wide<T>> x = solve_once(rhs);
    constexpr int refinements = 2;
    for (int step = 0; step < refinements; ++step) {
      const Column<Wide<T>> r = rhs - equilibrated_.template cast<Wide<T>>() * x - shift_.cwiseProduct(x);
      x += solve_once(r);
    }
    for (int i = 0; i < shape_.n; ++i) x(i) = std::ldexp(x(i), half_[i] + rhs_exponent - exponent_);
    return x;
  }

  /// Stores A^-1 = Y Y^T with L^T Y = I, which is exactly symmetric. Columns that are solved one by one and then
  /// mirrored would not do. Their errors differ by as much as the condition number allows, and A times the difference
  /// is not small.
  ///
  /// The product is computed in Wide<T>, because A times the error of the product is not small either if A is nearly
  /// singular. With Y^T from L Y^T = I, the product would lose another square root of the condition number (Higham,
  /// chapter 14).
  void store_inverse(T* x) const {
    using W = Wide<T>;
    const int n = shape_.n;
    Matrix<W> l = equilibrated_.template cast<W>();
    l.diagonal() += shift_;
    if (const Eigen::LLT<Matrix<W>> llt(l); llt.info() == Eigen::Success)
      l = llt.matrixLLT();
    else
      l = factor_.template cast<W>();
    Matrix<W> y = Matrix<W>::Identity(n, n);
    l.template triangularView<Eigen::Lower>().transpose().solveInPlace(y);
    const Matrix<W> product = y * y.transpose();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        x[i * n + j] = x[j * n + i] = static_cast<T>(std::ldexp(product(i, j), half_[i] + half_[j] - exponent_));
  }

  /// Returns ||b - A x||_1 / (||A||_1 ||x||_1), the largest over the right-hand sides, or ||I - A X||_1 / (||A||_1
  /// ||X||_1).
  double backward_error(const T* x) const { return residual(x, Column<Wide<T>>::Zero(shape_.n)); }

  /// Returns the allowed error of a backend's backward error, besides 1 %.
  [[nodiscard]] double rounding_of_backward_error(const T* x) const {
    constexpr int least = -1020;  // the least exponent of elements that one multiplication can bring next to 1
    bool twice = sizeof(T) == sizeof(double) && exponent_ >= least;
    for (int c = 0; c < columns(); ++c) {
      const Column<double> column = stored_solution(x, c);
      twice = twice && (exponent_of(column) >= least || column.isZero(0));
    }
    return twice ? 0x1p-59 : shape_.n * 0x1p-53;
  }

  /// Returns the backward error of x for the matrix A + diag(e) that x fits best. No e_k exceeds the amount that may be
  /// added.
  double error_as_repaired(const T* x) const {
    using W = Wide<T>;
    Column<W> product = Column<W>::Zero(shape_.n), square = product;
    const int of_all = shape_.wants_inverse() ? exponent_of_columns(x) : 0;
    for (int c = 0; c < columns(); ++c) {
      const ResidualOfColumn of = residual_of(x, c, of_all, Column<W>::Zero(shape_.n));
      product += of.residual.cwiseProduct(of.x);
      square += of.x.cwiseAbs2();
    }
    Column<W> added(shape_.n);
    for (int i = 0; i < shape_.n; ++i) {
      const W most = std::ldexp(W(largest_shift(i)), -2 * half_[i]);
      added(i) = product(i) > 0 ? std::min<W>(product(i) / square(i), most) : W(0);
    }
    return residual(x, added);
  }

  /// The solution x*, all columns.
  using Solution =
      Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, max_system_size, Eigen::Dynamic>;
  [[nodiscard]] Solution solve() const {
    Solution all(shape_.n, columns());
    for (int c = 0; c < columns(); ++c) all.col(c) = solve(c);
    return all;
  }

  /// Returns the maximum over columns of ||x - x*||_inf / ||x*||_inf.
  double forward_error(const T* x, const Solution& solution) const {
    double worst = 0;
    for (int c = 0; c < columns(); ++c) {
      const Column<Wide<T>> expected = solution.col(c);
      const Column<double> stored = stored_solution(x, c);
      if (!stored.allFinite()) return nan_value;
      const Column<Wide<T>> difference = stored.template cast<Wide<T>>() - expected;
      const Wide<T> error = difference.cwiseAbs().maxCoeff();
      if (error == 0) continue;
      const double relative = static_cast<double>(error / expected.cwiseAbs().maxCoeff());
      if (!(relative <= worst)) worst = relative;
    }
    return worst;
  }

  /// Change of solutions by rounding to T, relative to ||x||_1, in multiples of u. `found` is the largest change of a
  /// solution. `most` is the largest that underflow could cause: n elements, each by half the smallest number of T.
  struct RoundingLoss {
    double found = 0, most = 0;
  };
  [[nodiscard]] RoundingLoss rounding_loss(const Solution& solution) const {
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    RoundingLoss worst;
    for (int c = 0; c < shape_.nrhs; ++c) {
      const Column<Wide<T>> x = solution.col(c);
      const double norm = static_cast<double>(x.cwiseAbs().sum() / std::numeric_limits<T>::denorm_min());
      worst.found = std::max(worst.found, relative_loss(x) / u);
      if (norm > 0) worst.most = std::max(worst.most, shape_.n / 2.0 / norm / u);
    }
    return worst;
  }
  /// Returns whether rounding may change some solution by at least half of what backends allow. The answer
  /// needs no solution: if the residual is small, ||x||_1 is at least about ||b||_1 / ||A + diag(e)||_1.
  [[nodiscard]] bool may_underflow() const {
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    const double norm_a = norm1(matrix_) * (1 + largest_perturbation());
    for (int c = 0; c < shape_.nrhs; ++c) {
      const Wide<T> norm_b = stored_rhs(c).cwiseAbs().sum() / std::numeric_limits<T>::denorm_min();
      const double norm_x = static_cast<double>(std::ldexp(norm_b, -exponent_)) / norm_a;
      if (norm_b > 0 && shape_.n / 2.0 > 0.5 * spd_underflow_loss * u * norm_x) return true;
    }
    return false;
  }
  /// Returns the relative change of one solution by rounding to T.
  [[nodiscard]] static double relative_loss(const Column<Wide<T>>& x) {
    Wide<T> lost = 0, norm = 0;
    for (const Wide<T> value : x) {
      const T stored = static_cast<T>(value);
      if (!std::isfinite(stored)) return 0;  // this is an overflow
      lost += std::abs(value - Wide<T>(stored));
      norm += std::abs(value);
    }
    return norm == 0 ? 0 : static_cast<double>(lost / norm);
  }

  /// Returns whether a solution leaves the range of T.
  [[nodiscard]] static bool overflows(const Solution& solution) {
    return std::any_of(solution.data(), solution.data() + solution.size(),
                       [](Wide<T> value) { return !std::isfinite(static_cast<T>(value)); });
  }

  /// The condition number, and the effects of errors |dA_ij| <= e sqrt(a_ii a_jj) (spd_referee.hpp has the formulas).
  struct Conditions {
    double rcond = 0;
    double norm_change = 0;      ///< relative change of ||A||_1 by repairs
    double smallest_pivot = 0;   ///< |d min_k d_k|
    double log_determinant = 0;  ///< |d ln det A|
    double shift = 0;            ///< max_k |d s_k| / a_kk
    [[nodiscard]] double relaxed(double e) const { return 1 + shift / e; }
  };
  [[nodiscard]] Conditions conditions(double e) const {
    const int n = shape_.n;
    Conditions found;
    Matrix<double> inverse = Matrix<double>::Identity(n, n);
    factor_.template triangularView<Eigen::Lower>().solveInPlace(inverse);
    std::array<double, max_system_size> pivot_error = nearby_pivot_error_;
    for (int k = 0; k < n && !as_nearby_; ++k) {
      double sum = 0;
      for (int i = 0; i <= k; ++i) sum += std::abs(inverse(k, i)) * factor_(k, k) * std::sqrt(equilibrated_(i, i));
      pivot_error[k] = e * sum * sum;
    }
    add_pivot_errors(e, pivot_error, found);
    factor_.template triangularView<Eigen::Lower>().adjoint().solveInPlace(inverse);
    for (int i = 0; i < n; ++i) {
      if (half_[i] == 0) continue;
      inverse.row(i) *= std::ldexp(1.0, half_[i]);
      inverse.col(i) *= std::ldexp(1.0, half_[i]);
    }
    Matrix<double> repaired = matrix_;
    repaired.diagonal() += shift_of_matrix().template cast<double>();
    const double norm = norm1(repaired);
    found.rcond = 1 / (norm * norm1(inverse));
    found.norm_change = std::abs(norm / norm1(matrix_) - 1);
    return found;
  }

  /// Returns the numbers about A; rcond is that of `conditions`.
  [[nodiscard]] SpdValues numbers(const Conditions& conditions) const {
    SpdValues found;
    found.rcond = conditions.rcond;
    found.smallest_pivot = smallest_pivot();
    found.log_determinant = log_determinant();
    found.repaired = repaired_;
    found.perturbation = perturbation_;
    return found;
  }
  /// Returns bounds: how far a backend's numbers may lie from numbers(). The bounds allow for a backward error of e,
  /// and for roundings. solvers/spd_referee.hpp has the formulas.
  [[nodiscard]] SpdValues bounds(double e, const Conditions& conditions) const {
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    const int n = shape_.n;
    SpdValues bound;
    // A backend may compute rcond of a repaired matrix with the norm of A as given.
    bound.rcond =
        conditions.relaxed(e) * e * (1 + conditions.rcond) + (n * u + conditions.norm_change) * conditions.rcond;
    bound.smallest_pivot = conditions.smallest_pivot + static_cast<double>(std::numeric_limits<T>::denorm_min());
    bound.log_determinant = conditions.log_determinant + (n + 3) * 0x1p-53 * log_magnitude();
    bound.repaired = 0;
    bound.perturbation = conditions.shift + 2 * u * perturbation_;
    return bound;
  }

  /// Returns the factors of A = L D L^T: L below the diagonal, and D on the diagonal. Wide<T> holds numbers that leave
  /// the range of T.
  [[nodiscard]] Matrix<Wide<T>> factors() const {
    const int n = shape_.n;
    Matrix<Wide<T>> found = Matrix<Wide<T>>::Zero(n, n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) found(i, j) = std::ldexp(Wide<T>(factor_(i, j)) / factor_(j, j), half_[j] - half_[i]);
      found(i, i) = std::ldexp(pivots_[i], exponent_ - 2 * half_[i]);
    }
    return found;
  }

  /// Returns d_k of E = L D L^T; that of A is 2^(g - 2 half_k) times as large.
  [[nodiscard]] double pivot_of_equilibrated(int k) const { return static_cast<double>(pivots_[k]); }
  [[nodiscard]] double smallest_pivot() const {
    double smallest = std::numeric_limits<double>::infinity();
    for (int k = 0; k < shape_.n; ++k)
      smallest = std::min(smallest, std::ldexp(pivot_of_equilibrated(k), exponent_ - 2 * half_[k]));
    return smallest;
  }
  [[nodiscard]] double log_determinant() const {
    Wide<T> sum = 0;
    int exponent = 0;
    for (int k = 0; k < shape_.n; ++k) {
      sum += std::log(pivots_[k]);
      exponent += exponent_ - 2 * half_[k];
    }
    return static_cast<double>(sum + exponent * std::numbers::ln2_v<Wide<T>>);
  }
  /// Returns sum_k |ln m_k| + |e_k ln 2| with d_k = m_k 2^e_k. The roundings of ln det A are relative to this sum.
  [[nodiscard]] double log_magnitude() const {
    double sum = 0;
    for (int k = 0; k < shape_.n; ++k) {
      const double pivot = pivot_of_equilibrated(k);
      const int exponent = std::ilogb(pivot);
      sum += std::log(std::ldexp(pivot, -exponent)) + std::abs(exponent + exponent_ - 2 * half_[k]) * std::numbers::ln2;
    }
    return sum;
  }

  /// Returns the smallest divided by the largest eigenvalue of the leading k x k block with its diagonal scaled to 1.
  [[nodiscard]] double scaled_block_rcond(int k) const {
    Eigen::MatrixXd block = equilibrated_.topLeftCorner(k, k);
    if (!(block.diagonal().minCoeff() > 0)) return block.diagonal().minCoeff() < 0 ? -1 : 0;
    const Eigen::VectorXd d = block.diagonal().cwiseSqrt().cwiseInverse();
    block = d.asDiagonal() * block * d.asDiagonal();
    const Eigen::VectorXd eigenvalues =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(block, Eigen::EigenvaluesOnly).eigenvalues();
    return eigenvalues(0) / eigenvalues(k - 1);
  }

 private:
  /// One column of `b - (A + diag(added)) x`, and x, both multiplied by powers of two that keep them in range.
  struct ResidualOfColumn {
    Column<Wide<T>> residual, x;
  };
  ResidualOfColumn residual_of(const T* x, int c, int exponent_of_all, const Column<Wide<T>>& added) const {
    const Column<double> stored = stored_solution(x, c);
    const int exponent = shape_.wants_inverse() ? exponent_of_all : exponent_of(stored);
    const Column<Wide<T>> wide = scaled(stored, -exponent).template cast<Wide<T>>();
    return {scaled(stored_rhs(c), -exponent_ - exponent) - (matrix_.template cast<Wide<T>>() * wide).eval() -
                added.cwiseProduct(wide),
            wide};
  }
  int exponent_of_columns(const T* x) const {
    int exponent = exponent_of(stored_solution(x, 0));
    for (int c = 1; c < columns(); ++c) exponent = std::max(exponent, exponent_of(stored_solution(x, c)));
    return exponent;
  }
  double residual(const T* x, const Column<Wide<T>>& added) const {
    const double norm_a = norm1((matrix_ + Matrix<double>(added.template cast<double>().asDiagonal())).eval());
    for (int c = 0; c < columns(); ++c)
      if (!stored_solution(x, c).allFinite()) return nan_value;
    const int of_all = shape_.wants_inverse() ? exponent_of_columns(x) : 0;
    double worst = 0, norm_inverse = 0;
    for (int c = 0; c < columns(); ++c) {
      const ResidualOfColumn of = residual_of(x, c, of_all, added);
      const double residual = static_cast<double>(of.residual.cwiseAbs().sum());
      const double norm_x = static_cast<double>(of.x.cwiseAbs().sum());
      norm_inverse = std::max(norm_inverse, norm_x);
      if (residual == 0) continue;
      const double error = shape_.wants_inverse() ? residual : residual / (norm_a * norm_x);
      if (!(error <= worst)) worst = error;
    }
    return shape_.wants_inverse() && worst > 0 ? worst / (norm_a * norm_inverse) : worst;
  }

  /// Adds the effects of errors in pivots and repairs on the numbers about the matrix. The floor alone determines a
  /// raised pivot, whatever its value was before.
  void add_pivot_errors(double e, const std::array<double, max_system_size>& pivot_error, Conditions& found) const {
    double smallest = std::numeric_limits<double>::infinity(), lowest = smallest, error_of_smallest = 0;
    for (int k = 0; k < shape_.n; ++k) {
      const double d = pivot_of_equilibrated(k);
      double error = pivot_error[k];
      if (shift_(k) != 0) {
        found.shift = std::max(found.shift, error / equilibrated_(k, k));
        error = 0;
      }
      // Repaired systems are computed in double precision; the pivot is rounded at the end.
      found.log_determinant += as_nearby_ ? error / d + e_of_double : error / d;
      if (as_nearby_) error += e * d;
      const int exponent = exponent_ - 2 * half_[k];
      lowest = std::min(lowest, std::ldexp(d - error, exponent));
      if (const double pivot = std::ldexp(d, exponent); pivot < smallest) {
        smallest = pivot;
        error_of_smallest = std::ldexp(error, exponent);
      }
    }
    found.smallest_pivot = std::max(error_of_smallest, smallest - lowest);
  }

  std::int32_t inspect(int leaning) const {
    constexpr auto eps = static_cast<double>(std::numeric_limits<T>::epsilon());
    constexpr auto least = static_cast<double>(std::numeric_limits<T>::denorm_min());
    const int n = shape_.n;
    if (!matrix_.allFinite()) return info_matrix_not_finite;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) {
        const double bound = n * eps * std::sqrt(std::abs(matrix_(i, i))) * std::sqrt(std::abs(matrix_(j, j)));
        const double rounding = 4 * eps * bound + least;  // rounding of a bound that is computed in T
        if (std::abs(matrix_(i, j) - matrix_(j, i)) > bound + leaning * rounding) return info_matrix_not_symmetric;
      }
    for (std::int64_t e = 0; e < shape_.rhs_size(); ++e)
      if (!std::isfinite(b_[e])) return info_rhs_not_finite;
    return 0;
  }

  void factor() {
    const Eigen::LLT<Matrix<double>> llt(equilibrated_);
    if (llt.info() == Eigen::Success) {
      factor_ = llt.matrixLLT();
      for (int k = 0; k < shape_.n; ++k) pivots_[k] = Wide<T>(factor_(k, k)) * factor_(k, k);
    } else {
      info_ = first_failing_block();
    }
  }

  /// Returns the most that may be added to diagonal element i of E.
  [[nodiscard]] double largest_shift(int i) const {
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    const double rounding = shape_.n * u * matrix_.diagonal().maxCoeff();  // of 2^-g A
    return spd_largest_repair * std::max(floor_ * equilibrated_(i, i), std::ldexp(rounding, 2 * half_[i]));
  }

  /// Finds the pivots that the floor raises, and their shifts, by the symmetric pivoting of solvers/spd_solver.hpp.
  /// Rows of L^-1 are computed beside the Schur complement; they give the errors of its diagonal.
  void find_repairs() {
    using W = Wide<T>;
    const int n = shape_.n;
    Matrix<W> s = equilibrated_.template cast<W>(), v = Matrix<W>::Identity(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) s(j, i) = s(i, j);  // only the lower triangle of E is used
    std::array<double, max_system_size> shift_error{};
    std::vector<int> left(static_cast<std::size_t>(n));
    std::iota(left.begin(), left.end(), 0);
    const auto share = [&](int i) { return static_cast<double>(s(i, i) / W(equilibrated_(i, i))); };
    const auto error_of = [&](int i) {
      double sum = 0, of_shifts = 0;
      for (int j = 0; j < n; ++j) {
        const double weight = std::abs(static_cast<double>(v(i, j)));
        sum += weight * std::sqrt(equilibrated_(j, j));
        of_shifts += weight * weight * shift_error[j];
      }
      return e_of_double * sum * sum + of_shifts;
    };
    for (int i = 0; i < n; ++i)
      if (!(equilibrated_(i, i) > 0)) {
        failed_ = i + 1;
        return;
      }
    bool raising = false, order_undecided = false;
    while (!left.empty()) {
      auto chosen = left.begin();
      if (!raising) {
        const int best = *std::max_element(left.begin(), left.end(), [&](int i, int j) { return share(i) < share(j); });
        const double error_of_best = error_of(best) / equilibrated_(best, best);
        raising = share(best) < floor_;
        if (!(std::abs(share(best) - floor_) > error_of_best)) undecided_ = true;
        const double least = spd_nearly_largest * share(best);
        if (!raising) chosen = std::find_if(left.begin(), left.end(), [&](int i) { return share(i) >= least; });
        for (auto i = left.begin(); !raising && i <= chosen; ++i) {
          const double error = error_of(*i) / equilibrated_(*i, *i) + error_of_best;
          if (*i != best && !(std::abs(share(*i) - least) > error)) order_undecided = true;
        }
        // If all pivots are well above the floor in one order, they are well above it in any other order, too.
        if (order_undecided && share(best) < 2 * floor_) undecided_ = true;
      }
      const int row = *chosen;
      left.erase(chosen);
      nearby_pivot_error_[row] = error_of(row);
      pivots_[row] = s(row, row);
      if (raising) {
        ++repaired_;
        W raised = W(floor_) * equilibrated_(row, row);
        for (const int i : left)
          raised = std::max<W>(raised, s(i, row) * s(i, row) / (W(floor_) * equilibrated_(i, i)));
        pivots_[row] = raised;
        shift_(row) = raised - s(row, row);
        shift_error[row] = nearby_pivot_error_[row];
        const double added = static_cast<double>(shift_(row)) / equilibrated_(row, row);
        perturbation_ = std::max(perturbation_, added);
        if (!(shift_error[row] < floor_ / 4 * equilibrated_(row, row))) undecided_ = true;
        if (!(static_cast<double>(shift_(row)) <= largest_shift(row))) {
          failed_ = row + 1;
          repaired_ = 0;
          perturbation_ = 0;
          shift_.setZero();
          return;
        }
      }
      for (const int i : left) {
        const W l = s(i, row) / pivots_[row];
        for (const int j : left) s(i, j) -= l * s(row, j);
        v.row(i) -= l * v.row(row);
      }
    }
  }

  /// Factors E + diag(shift); LLT in double precision might fail for it.
  void factor_nearby() {
    as_nearby_ = true;
    Matrix<Wide<T>> nearby = equilibrated_.template cast<Wide<T>>();
    nearby.diagonal() += shift_;
    wide_factor_ = Eigen::LLT<Matrix<Wide<T>>>(nearby).matrixL();
    factor_ = wide_factor_.template cast<double>();
  }

  /// Returns the amounts that repairs add to the diagonal of matrix_.
  Column<Wide<T>> shift_of_matrix() const {
    Column<Wide<T>> shift = shift_;
    for (int i = 0; i < shape_.n; ++i) shift(i) = std::ldexp(shift(i), -2 * half_[i]);
    return shift;
  }

  Column<Wide<T>> solve_once(const Column<Wide<T>>& rhs) const {
    if (as_nearby_) {
      Column<Wide<T>> x = rhs;
      wide_factor_.template triangularView<Eigen::Lower>().solveInPlace(x);
      wide_factor_.template triangularView<Eigen::Lower>().adjoint().solveInPlace(x);
      return x;
    }
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): solveInPlace writes to what it takes as const
    Column<double> x = rhs.template cast<double>();
    factor_.template triangularView<Eigen::Lower>().solveInPlace(x);
    factor_.template triangularView<Eigen::Lower>().adjoint().solveInPlace(x);
    return x.template cast<Wide<T>>();
  }

  /// Returns the smallest leading block that LLT cannot factor: its last pivot is the first that is not positive.
  std::int32_t first_failing_block() const {
    for (int k = 1; k < shape_.n; ++k)
      if (Eigen::LLT<Eigen::MatrixXd>(equilibrated_.topLeftCorner(k, k)).info() != Eigen::Success) return k;
    return shape_.n;
  }

  Column<Wide<T>> stored_rhs(int c) const {
    Column<Wide<T>> rhs(shape_.n);
    for (int i = 0; i < shape_.n; ++i)
      rhs(i) = shape_.wants_inverse() ? (i == c ? 1 : 0) : b_[i * std::int64_t{shape_.nrhs} + c];
    return rhs;
  }
  Column<double> stored_solution(const T* x, int c) const {
    Column<double> column(shape_.n);
    for (int i = 0; i < shape_.n; ++i) column(i) = x[i * std::int64_t{columns()} + c];
    return column;
  }

  SpdShape shape_;
  const T* b_;
  Matrix<double> matrix_;        // A; after inspection 2^-exponent_ A
  Matrix<double> equilibrated_;  // E
  int exponent_ = 0;             // g
  std::array<int, max_system_size> half_{};
  Matrix<double> factor_;                          // lower triangle, of E + diag(shift)
  Column<Wide<T>> shift_;                          // 0 if the pivot was not raised
  std::array<Wide<T>, max_system_size> pivots_{};  // of E + diag(shift)
  std::int32_t info_ = 0;
  // The members below are used with a floor only.
  static constexpr double e_of_double = spd_ratio_limit * 0x1p-53;
  double floor_ = 0;  // F
  std::int32_t repaired_ = 0;
  double perturbation_ = 0;
  int failed_ = 0;  // the row with a pivot that cannot be raised, counted from 1
  bool undecided_ = false;
  bool as_nearby_ = false;  // whether the factors are those of a nearby matrix, and the pivots those of find_repairs()
  std::array<double, max_system_size> nearby_pivot_error_{};
  Matrix<Wide<T>> wide_factor_;
};

}  // namespace smallbatch
