// The referee: Eigen's LLT in double precision, one system after another, as a backend and as a judge.
//
// Input is inspected here first, because Eigen's LLT reports success for NaN, infinities and asymmetric matrices. Every
// system is scaled by powers of two to numbers near 1 (exact), so that products of norms stay in range. Residuals are
// computed in double precision for float input and in long double for double input. Pivots below a floor are repaired
// in a textbook L D L^T of the residuals' precision, because a Cholesky factorization never shows them.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "core/parallel.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Matrices of N x N, or of any size up to max_system_size for N = Eigen::Dynamic; on the stack either way.
template <class Scalar, int N>
using Matrix = Eigen::Matrix<Scalar, N, N, Eigen::ColMajor, N == Eigen::Dynamic ? max_system_size : N,
                             N == Eigen::Dynamic ? max_system_size : N>;
template <class Scalar, int N>
using Column = Eigen::Matrix<Scalar, N, 1, Eigen::ColMajor, N == Eigen::Dynamic ? max_system_size : N, 1>;

/// The precision in which residuals of T are computed.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// floor(log2 of the largest magnitude); 0 where all are 0.
template <class Derived>
int exponent_of(const Eigen::DenseBase<Derived>& values) {
  const auto largest = values.derived().cwiseAbs().maxCoeff();
  return largest > 0 ? std::ilogb(largest) : 0;
}
/// values * 2^exponent.
template <class Derived>
auto scaled(const Eigen::DenseBase<Derived>& values, int exponent) {
  using Scalar = typename Derived::Scalar;
  constexpr int largest = 1000;  // 2^exponent itself stays in range for the common ones
  if (std::abs(exponent) <= largest) return (values.derived() * std::ldexp(Scalar(1), exponent)).eval();
  return values.derived().unaryExpr([exponent](Scalar v) { return std::ldexp(v, exponent); }).eval();
}
template <class Derived>
double norm1(const Eigen::MatrixBase<Derived>& m) {
  return static_cast<double>(m.cwiseAbs().colwise().sum().maxCoeff());
}

/// One system as the referee sees it: the stored matrix A, and the Cholesky factor of E = 2^-g H A H, where g brings
/// the largest element next to 1 and the powers of two in H = diag(2^half) then bring the diagonal there, too.
/// Repairing a pivot adds to the diagonal element, so E + diag(shift) is what is factored where there is a floor.
template <class T, int N>
class RefereeSystem {
 public:
  RefereeSystem(const SpdShape& shape, const T* a, const T* b, double pivot_floor)
      : shape_(shape), b_(b), floor_(pivot_floor), matrix_(shape.n, shape.n), shift_(shape.n) {
    const int n = shape.n;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const int row = std::max(i, j), column = std::min(i, j);
        matrix_(i, j) = shape.storage == Storage::dense         ? a[i * n + j]
                        : shape.storage == Storage::dense_lower ? a[row * n + column]
                                                                : a[row * (row + 1) / 2 + column];
      }
    shift_.setZero();
    info_ = inspect();
    if (info_ != 0) return;
    exponent_ = exponent_of(matrix_);
    for (int i = 0; i < n; ++i) half_[i] = matrix_(i, i) != 0 ? -(std::ilogb(matrix_(i, i)) - exponent_) / 2 : 0;
    equilibrated_ = scaled(matrix_, -exponent_);
    if (std::any_of(half_.begin(), half_.end(), [](int half) { return half != 0; }))
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) equilibrated_(i, j) = std::ldexp(matrix_(i, j), half_[i] + half_[j] - exponent_);
    matrix_ = scaled(matrix_, -exponent_);
    if (floor_ > 0) factor_with_floor();
    if (info_ == 0 && repaired_ == 0) factor();
  }

  [[nodiscard]] std::int32_t info() const { return info_; }
  [[nodiscard]] int columns() const { return shape_.wants_inverse() ? shape_.n : shape_.nrhs; }
  [[nodiscard]] std::int32_t repaired() const { return repaired_; }

  /// Column c of the solution, refined with wide residuals.
  Column<Wide<T>, N> solve(int c) const {
    Column<Wide<T>, N> rhs = stored_rhs(c);
    for (int i = 0; i < shape_.n; ++i) rhs(i) = std::ldexp(rhs(i), half_[i]);
    const int rhs_exponent = exponent_of(rhs);
    rhs = scaled(rhs, -rhs_exponent);
    Column<Wide<T>, N> x = solve_once(rhs).template cast<Wide<T>>();
    constexpr int refinements = 2;
    for (int step = 0; step < refinements; ++step) {
      const Column<Wide<T>, N> r = rhs - equilibrated_.template cast<Wide<T>>() * x - shift_.cwiseProduct(x);
      x += solve_once(r).template cast<Wide<T>>();
    }
    for (int i = 0; i < shape_.n; ++i) x(i) = std::ldexp(x(i), half_[i] + rhs_exponent - exponent_);
    return x;
  }

  /// A^-1 = Y Y^T with L^T Y = I, exactly symmetric. (Columns solved one by one and then mirrored would not do: their
  /// errors differ by as much as the condition number allows, and A times the difference is no longer small.) In the
  /// wider precision, because A times the error of the product is not small either where A is nearly singular. With
  /// Y^T from L Y^T = I the product would miss by another square root of the condition number (Higham, chapter 14).
  void store_inverse(T* x) const {
    using W = Wide<T>;
    const int n = shape_.n;
    Matrix<W, N> l = equilibrated_.template cast<W>();
    l.diagonal() += shift_;
    if (const Eigen::LLT<Matrix<W, N>> llt(l); llt.info() == Eigen::Success)
      l = llt.matrixLLT();
    else
      l = factor_.template cast<W>();
    Matrix<W, N> y = Matrix<W, N>::Identity(n, n);
    l.template triangularView<Eigen::Lower>().transpose().solveInPlace(y);
    const Matrix<W, N> product = y * y.transpose();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        x[i * n + j] = x[j * n + i] = static_cast<T>(std::ldexp(product(i, j), half_[i] + half_[j] - exponent_));
  }

  /// ||b - A x||_1 / (||A||_1 ||x||_1), largest over the right-hand sides, or ||I - A X||_1 / (||A||_1 ||X||_1); for A
  /// as given, or as repaired.
  double backward_error(const T* x, bool as_repaired) const {
    Column<Wide<T>, N> added = Column<Wide<T>, N>::Zero(shape_.n);
    if (as_repaired) added = shift_of_matrix();
    const double norm_a = norm1((matrix_ + Matrix<double, N>(added.template cast<double>().asDiagonal())).eval());
    double worst = 0, norm_inverse = 0;
    int x_exponent = 0;
    for (int c = 0; c < columns(); ++c) {
      const Column<double, N> stored = stored_solution(x, c);
      if (!stored.allFinite()) return nan_value;
      x_exponent = c == 0 || !shape_.wants_inverse() ? exponent_of(stored) : std::max(x_exponent, exponent_of(stored));
    }
    for (int c = 0; c < columns(); ++c) {
      Column<double, N> stored = stored_solution(x, c);
      if (!shape_.wants_inverse()) x_exponent = exponent_of(stored);
      stored = scaled(stored, -x_exponent);
      const Column<Wide<T>, N> wide = stored.template cast<Wide<T>>();
      const Column<Wide<T>, N> r = scaled(stored_rhs(c), -exponent_ - x_exponent) -
                                   (matrix_.template cast<Wide<T>>() * wide).eval() - added.cwiseProduct(wide);
      const double residual = static_cast<double>(r.cwiseAbs().sum()), norm_x = stored.cwiseAbs().sum();
      norm_inverse = std::max(norm_inverse, norm_x);
      if (residual == 0) continue;
      const double error = shape_.wants_inverse() ? residual : residual / (norm_a * norm_x);
      if (!(error <= worst)) worst = error;
    }
    return shape_.wants_inverse() && worst > 0 ? worst / (norm_a * norm_inverse) : worst;
  }

  /// max over columns of ||x - x*||_inf / ||x*||_inf.
  double forward_error(const T* x) const {
    double worst = 0;
    for (int c = 0; c < columns(); ++c) {
      const Column<Wide<T>, N> expected = solve(c);
      const Column<double, N> stored = stored_solution(x, c);
      if (!stored.allFinite()) return nan_value;
      const Column<Wide<T>, N> difference = stored.template cast<Wide<T>>() - expected;
      const Wide<T> error = difference.cwiseAbs().maxCoeff();
      if (error == 0) continue;
      const double relative = static_cast<double>(error / expected.cwiseAbs().maxCoeff());
      if (!(relative <= worst)) worst = relative;
    }
    return worst;
  }

  /// Whether some solution leaves the range of T.
  [[nodiscard]] bool overflows() const {
    for (int c = 0; c < columns(); ++c)
      for (const Wide<T> value : solve(c))
        if (!std::isfinite(static_cast<T>(value))) return true;
    return false;
  }

  /// The condition number, and what errors |dA_ij| <= e sqrt(a_ii a_jj) do (spd_referee.hpp has the formulas).
  struct Conditions {
    double rcond = 0;
    double norm_change = 0;      ///< by how much repairs change ||A||_1, relatively
    double smallest_pivot = 0;   ///< |d min_k d_k|
    double log_determinant = 0;  ///< |d ln det A|
    double shift = 0;            ///< max_k |d s_k| / a_kk
    std::int32_t undecided = 0;  ///< pivots within their error of the floor
  };
  [[nodiscard]] Conditions conditions(double e) const {
    const int n = shape_.n;
    Conditions found;
    Matrix<double, N> inverse = Matrix<double, N>::Identity(n, n);
    factor_.template triangularView<Eigen::Lower>().solveInPlace(inverse);
    add_pivot_errors(inverse, e, found);
    factor_.template triangularView<Eigen::Lower>().adjoint().solveInPlace(inverse);
    for (int i = 0; i < n; ++i) {
      if (half_[i] == 0) continue;
      inverse.row(i) *= std::ldexp(1.0, half_[i]);
      inverse.col(i) *= std::ldexp(1.0, half_[i]);
    }
    Matrix<double, N> repaired = matrix_;
    repaired.diagonal() += shift_of_matrix().template cast<double>();
    const double norm = norm1(repaired);
    found.rcond = 1 / (norm * norm1(inverse));
    found.norm_change = std::abs(norm / norm1(matrix_) - 1);
    return found;
  }

  /// d_k of E = L D L^T; that of A is 2^(g - 2 half_k) times as large.
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
  /// sum_k |ln d_k|: what the roundings of ln det A are relative to.
  [[nodiscard]] double log_magnitude() const {
    double sum = 0;
    for (int k = 0; k < shape_.n; ++k)
      sum += std::abs(std::log(pivot_of_equilibrated(k)) + (exponent_ - 2 * half_[k]) * std::numbers::ln2);
    return sum;
  }

  /// Smallest over largest eigenvalue of the leading k x k block with its diagonal scaled to 1.
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
  /// The errors of pivots and repairs, from the inverse of the Cholesky factor of E, whose rows are v_k / sqrt(d_k).
  void add_pivot_errors(const Matrix<double, N>& inverse_factor, double e, Conditions& found) const {
    std::array<double, max_system_size> shift_error{};  // |d s_k| of E
    double smallest = std::numeric_limits<double>::infinity(), lowest = smallest, error_of_smallest = 0;
    for (int k = 0; k < shape_.n; ++k) {
      const double d = pivot_of_equilibrated(k);
      double sum = 0, of_shifts = 0;
      for (int i = 0; i <= k; ++i) {
        const double v = std::abs(inverse_factor(k, i)) * factor_(k, k);
        sum += v * std::sqrt(equilibrated_(i, i) + static_cast<double>(shift_(i)));
        of_shifts += v * v * shift_error[i];
      }
      double error = e * sum * sum + of_shifts;
      const double floor = floor_ * equilibrated_(k, k);
      const bool undecided = floor_ > 0 && !(std::abs(unrepaired_[k] - floor) > error);
      if (undecided) ++found.undecided;
      if (undecided || shift_(k) != 0) {
        shift_error[k] = error;
        found.shift = std::max(found.shift, error / equilibrated_(k, k));
      }
      if (shift_(k) != 0 && !undecided) error = e * d;  // it is the floor, whatever was below it
      found.log_determinant += error / d;
      const int exponent = exponent_ - 2 * half_[k];
      lowest = std::min(lowest, std::ldexp(d - error, exponent));
      if (const double pivot = std::ldexp(d, exponent); pivot < smallest) {
        smallest = pivot;
        error_of_smallest = std::ldexp(error, exponent);
      }
    }
    found.smallest_pivot = std::max(error_of_smallest, smallest - lowest);
  }

  std::int32_t inspect() const {
    const int n = shape_.n;
    if (!matrix_.allFinite()) return info_matrix_not_finite;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) {
        const double bound = n * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                             std::sqrt(std::abs(matrix_(i, i))) * std::sqrt(std::abs(matrix_(j, j)));
        if (std::abs(matrix_(i, j) - matrix_(j, i)) > bound) return info_matrix_not_symmetric;
      }
    for (std::int64_t e = 0; e < shape_.rhs_size(); ++e)
      if (!std::isfinite(b_[e])) return info_rhs_not_finite;
    return 0;
  }

  void factor() {
    const Eigen::LLT<Matrix<double, N>> llt(equilibrated_);
    if (llt.info() == Eigen::Success) {
      factor_ = llt.matrixLLT();
      for (int k = 0; k < shape_.n; ++k) pivots_[k] = Wide<T>(factor_(k, k)) * factor_(k, k);
    } else if (floor_ == 0) {  // with a floor, L D L^T has shown that all pivots are positive
      info_ = first_failing_block();
    }
  }

  /// L D L^T by rows, pivots below the floor raised to it.
  void factor_with_floor() {
    const int n = shape_.n;
    Matrix<Wide<T>, N> l(n, n);
    Column<Wide<T>, N> d(n), row(n);  // row_j = l_kj d_j
    factor_.setZero(n, n);
    for (int k = 0; k < n; ++k) {
      d(k) = equilibrated_(k, k);
      for (int j = 0; j < k; ++j) {
        row(j) = equilibrated_(k, j);
        for (int m = 0; m < j; ++m) row(j) -= row(m) * l(j, m);
        l(k, j) = row(j) / d(j);
        d(k) -= row(j) * l(k, j);
      }
      unrepaired_[k] = static_cast<double>(d(k));
      const Wide<T> lowest = Wide<T>(floor_) * equilibrated_(k, k);
      if (equilibrated_(k, k) > 0 && !(d(k) >= lowest)) {
        shift_(k) = lowest - d(k);
        d(k) = lowest;
        ++repaired_;
      }
      if (!(d(k) > 0)) {
        info_ = k + 1;
        return;
      }
      pivots_[k] = d(k);
      factor_(k, k) = static_cast<double>(std::sqrt(d(k)));
      for (int i = 0; i < k; ++i) factor_(k, i) = static_cast<double>(l(k, i)) * factor_(i, i);
    }
  }

  /// What repairs add to the diagonal of matrix_.
  Column<Wide<T>, N> shift_of_matrix() const {
    Column<Wide<T>, N> shift = shift_;
    for (int i = 0; i < shape_.n; ++i) shift(i) = std::ldexp(shift(i), -2 * half_[i]);
    return shift;
  }

  Column<double, N> solve_once(const Column<Wide<T>, N>& rhs) const {
    Column<double, N> x = rhs.template cast<double>();
    factor_.template triangularView<Eigen::Lower>().solveInPlace(x);
    factor_.template triangularView<Eigen::Lower>().adjoint().solveInPlace(x);
    return x;
  }

  /// The smallest leading block that LLT cannot factor: its last pivot is the first that is not positive.
  std::int32_t first_failing_block() const {
    for (int k = 1; k < shape_.n; ++k)
      if (Eigen::LLT<Eigen::MatrixXd>(equilibrated_.topLeftCorner(k, k)).info() != Eigen::Success) return k;
    return shape_.n;
  }

  Column<Wide<T>, N> stored_rhs(int c) const {
    Column<Wide<T>, N> rhs(shape_.n);
    for (int i = 0; i < shape_.n; ++i)
      rhs(i) = shape_.wants_inverse() ? (i == c ? 1 : 0) : b_[i * std::int64_t{shape_.nrhs} + c];
    return rhs;
  }
  Column<double, N> stored_solution(const T* x, int c) const {
    Column<double, N> column(shape_.n);
    for (int i = 0; i < shape_.n; ++i) column(i) = x[i * std::int64_t{columns()} + c];
    return column;
  }

  SpdShape shape_;
  const T* b_;
  double floor_;
  Matrix<double, N> matrix_;        // A; 2^-exponent_ A once inspected
  Matrix<double, N> equilibrated_;  // E
  int exponent_ = 0;                // g
  std::array<int, max_system_size> half_{};
  Matrix<double, N> factor_;                          // lower triangular, of E + diag(shift)
  Column<Wide<T>, N> shift_;                          // 0 where the pivot was not repaired
  std::array<Wide<T>, max_system_size> pivots_{};     // of E + diag(shift)
  std::array<double, max_system_size> unrepaired_{};  // pivots of E as they were found, where there is a floor
  std::int32_t info_ = 0, repaired_ = 0;
};

/// System k of a batch; numbers that are not wanted have null pointers.
template <class T>
void solve_one(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor, std::int64_t k) {
  const SpdShape& shape = batch.shape;
  const RefereeSystem<T, Eigen::Dynamic> system(shape, batch.a + k * batch.a_step(),
                                                shape.nrhs > 0 ? batch.b + k * batch.b_step() : nullptr, pivot_floor);
  const int columns = system.columns();
  T* x = shape.determinant_only ? nullptr : solution.x + k * solution.x_step(shape);
  std::int32_t info = system.info();
  if (info == 0 && shape.wants_inverse()) {
    system.store_inverse(x);
  } else if (info == 0) {
    for (int c = 0; c < columns; ++c) {
      const Column<Wide<T>, Eigen::Dynamic> column = system.solve(c);
      for (int i = 0; i < shape.n; ++i) x[i * std::int64_t{columns} + c] = static_cast<T>(column(i));
    }
  }
  if (info == 0 && !std::all_of(x, x + shape.solution_size(), [](T value) { return std::isfinite(value); }))
    info = info_result_not_finite;
  if (info != 0) std::fill(x, x + shape.solution_size(), static_cast<T>(nan_value));
  solution.info[k] = info;
  const bool solved = info == 0;
  if (solution.backward_error != nullptr)
    solution.backward_error[k] = static_cast<T>(solved ? system.backward_error(x, false) : nan_value);
  if (solution.rcond != nullptr) solution.rcond[k] = static_cast<T>(solved ? system.conditions(0).rcond : nan_value);
  if (solution.smallest_pivot != nullptr)
    solution.smallest_pivot[k] = static_cast<T>(solved ? system.smallest_pivot() : nan_value);
  if (solution.log_determinant != nullptr) solution.log_determinant[k] = solved ? system.log_determinant() : nan_value;
  if (solution.repaired != nullptr) solution.repaired[k] = solved ? system.repaired() : 0;
}

/// The numbers about A with the bounds of spd_referee.hpp; returns by how much repairs relax the ratios.
template <class T, int N>
double judge_numbers(const RefereeSystem<T, N>& system, int n, SpdJudgement& judgement) {
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  constexpr double e = spd_ratio_limit * u;
  const auto conditions = system.conditions(e);
  const double relaxed = 1 + conditions.shift / e;
  judgement.rcond = conditions.rcond;
  // Whoever repairs may take the norm of A as given.
  judgement.rcond_bound = relaxed * e * (1 + conditions.rcond) + (n * u + conditions.norm_change) * conditions.rcond;
  judgement.smallest_pivot = system.smallest_pivot();
  judgement.smallest_pivot_bound =
      conditions.smallest_pivot + static_cast<double>(std::numeric_limits<T>::denorm_min());
  judgement.log_determinant = system.log_determinant();
  judgement.log_determinant_bound = conditions.log_determinant + n * 0x1p-53 * system.log_magnitude();
  judgement.repaired = system.repaired();
  judgement.repaired_bound = conditions.undecided;
  return relaxed;
}

template <class T, int N>
SpdJudgement judge_one(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info,
                       double pivot_floor) {
  const RefereeSystem<T, N> system(shape, a, b, pivot_floor);
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  SpdJudgement judgement;
  judgement.info = system.info();
  for (double* number : {&judgement.residual_ratio, &judgement.forward_ratio, &judgement.backward_error,
                         &judgement.rcond_bound, &judgement.smallest_pivot, &judgement.smallest_pivot_bound,
                         &judgement.log_determinant, &judgement.log_determinant_bound})
    *number = nan_value;
  if (judgement.info < 0) return judgement;
  double relaxed = 1;
  if (judgement.info == 0) relaxed = judge_numbers(system, shape.n, judgement);
  if (judgement.info == 0 && info == info_result_not_finite && system.overflows()) judgement.info = info;
  if (info == 0) {
    judgement.backward_error = system.backward_error(x, false);
    const double of_repaired = judgement.repaired > 0 ? system.backward_error(x, true) : judgement.backward_error;
    judgement.residual_ratio = of_repaired / ((shape.wants_inverse() ? shape.n * u : u) * relaxed);
    const bool certain = !(judgement.rcond < shape.n * 0x1p-53);  // or else no digit of the referee's solution is
    if (judgement.info == 0 && certain)
      judgement.forward_ratio = system.forward_error(x) * judgement.rcond / (u * relaxed);
    else
      judgement.forward_ratio = std::isnan(judgement.residual_ratio) ? nan_value : 0;
  }
  if (info >= 0 && info <= shape.n && info != judgement.info) {
    const int earlier =
        info == 0 || judgement.info == 0 ? std::max(info, judgement.info) : std::min(info, judgement.info);
    judgement.rcond = system.scaled_block_rcond(earlier);
  }
  return judgement;
}

class ReferenceSpdSolver final : public SpdSolver {
 public:
  ReferenceSpdSolver(unsigned threads, double pivot_floor) : threads_(threads), pivot_floor_(pivot_floor) {}
  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override { run(batch, solution); }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override { run(batch, solution); }
  [[nodiscard]] std::string description() const override { return "reference eigen llt"; }

 private:
  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_batch(batch, solution);
    constexpr std::int64_t grain = 64;
    parallel_for(batch.count, grain, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) solve_one(batch, solution, pivot_floor_, k);
    });
  }
  unsigned threads_;
  double pivot_floor_;
};

}  // namespace

// Every method is the same to the referee.
std::unique_ptr<SpdSolver> make_reference_spd_solver(unsigned threads, const SpdOptions& options) {
  return std::make_unique<ReferenceSpdSolver>(threads, options.pivot_floor);
}

template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info,
                                double pivot_floor) {
  constexpr int commonest = 32;  // the size whose loops the compiler sees whole
  if (shape.n == commonest) return judge_one<T, commonest>(shape, a, b, x, info, pivot_floor);
  return judge_one<T, Eigen::Dynamic>(shape, a, b, x, info, pivot_floor);
}

template SpdJudgement judge_spd_solution(const SpdShape&, const float*, const float*, const float*, std::int32_t,
                                         double);
template SpdJudgement judge_spd_solution(const SpdShape&, const double*, const double*, const double*, std::int32_t,
                                         double);

bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n) {
  if (backend_info == judgement.info) return true;
  if (backend_info < 0 || backend_info > n || judgement.info < 0) return false;
  const double u = type == ScalarType::float32 ? 0x1p-24 : 0x1p-53;
  return std::abs(judgement.rcond) < n * u;
}

}  // namespace smallbatch
