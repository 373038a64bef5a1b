// The referee: Eigen's LLT in double precision, one system after another, as a backend and as a judge.
//
// Input is inspected here first, because Eigen's LLT reports success for NaN, infinities and asymmetric matrices. Every
// system is scaled by powers of two to numbers near 1 (exact), so that products of norms stay in range. Residuals are
// computed in double precision for float input and in long double for double input.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

/// One system as the referee sees it: the stored matrix A, and the factorization of E = 2^-g H A H, where g brings the
/// largest element next to 1 and the powers of two in H = diag(2^half) then bring the diagonal there, too.
template <class T, int N>
class RefereeSystem {
 public:
  RefereeSystem(const SpdShape& shape, const T* a, const T* b) : shape_(shape), b_(b), matrix_(shape.n, shape.n) {
    const int n = shape.n;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const int row = std::max(i, j), column = std::min(i, j);
        matrix_(i, j) = shape.storage == Storage::dense ? a[i * n + j] : a[row * (row + 1) / 2 + column];
      }
    info_ = inspect();
    if (info_ != 0) return;
    exponent_ = exponent_of(matrix_);
    for (int i = 0; i < n; ++i) half_[i] = matrix_(i, i) != 0 ? -(std::ilogb(matrix_(i, i)) - exponent_) / 2 : 0;
    equilibrated_ = scaled(matrix_, -exponent_);
    if (std::any_of(half_.begin(), half_.end(), [](int half) { return half != 0; }))
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) equilibrated_(i, j) = std::ldexp(matrix_(i, j), half_[i] + half_[j] - exponent_);
    matrix_ = scaled(matrix_, -exponent_);
    llt_.compute(equilibrated_);
    if (llt_.info() != Eigen::Success) info_ = first_failing_block();
  }

  [[nodiscard]] std::int32_t info() const { return info_; }
  [[nodiscard]] int columns() const { return shape_.wants_inverse() ? shape_.n : shape_.nrhs; }

  /// Column c of the solution, refined with wide residuals.
  Column<Wide<T>, N> solve(int c) const {
    Column<Wide<T>, N> rhs = stored_rhs(c);
    for (int i = 0; i < shape_.n; ++i) rhs(i) = std::ldexp(rhs(i), half_[i]);
    const int rhs_exponent = exponent_of(rhs);
    rhs = scaled(rhs, -rhs_exponent);
    Column<Wide<T>, N> x = llt_.solve(rhs.template cast<double>().eval()).template cast<Wide<T>>();
    constexpr int refinements = 2;
    for (int step = 0; step < refinements; ++step) {
      const Column<Wide<T>, N> r = rhs - equilibrated_.template cast<Wide<T>>() * x;
      x += llt_.solve(r.template cast<double>().eval()).template cast<Wide<T>>();
    }
    for (int i = 0; i < shape_.n; ++i) x(i) = std::ldexp(x(i), half_[i] + rhs_exponent - exponent_);
    return x;
  }

  /// A^-1 = L^-T L^-1, exactly symmetric. (Columns solved one by one and then mirrored would not do: their errors
  /// differ by as much as the condition number allows, and A times the difference is no longer small.)
  void store_inverse(T* x) const {
    const int n = shape_.n;
    const Matrix<double, N> l_inverse = llt_.matrixL().solve(Matrix<double, N>::Identity(n, n));
    const Matrix<double, N> product = l_inverse.transpose() * l_inverse;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        x[i * n + j] = x[j * n + i] = static_cast<T>(std::ldexp(product(i, j), half_[i] + half_[j] - exponent_));
  }

  /// ||b - A x||_1 / (||A||_1 ||x||_1), largest over the right-hand sides, or ||I - A X||_1 / (||A||_1 ||X||_1).
  double backward_error(const T* x) const {
    const double norm_a = norm1(matrix_);
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
      const Column<Wide<T>, N> r = scaled(stored_rhs(c), -exponent_ - x_exponent) -
                                   (matrix_.template cast<Wide<T>>() * stored.template cast<Wide<T>>()).eval();
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

  [[nodiscard]] double rcond() const {
    Matrix<double, N> inverse = llt_.solve(Matrix<double, N>::Identity(shape_.n, shape_.n));
    for (int i = 0; i < shape_.n; ++i) {
      if (half_[i] == 0) continue;
      inverse.row(i) *= std::ldexp(1.0, half_[i]);
      inverse.col(i) *= std::ldexp(1.0, half_[i]);
    }
    return 1 / (norm1(matrix_) * norm1(inverse));
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
  Matrix<double, N> matrix_;        // A; 2^-exponent_ A once inspected
  Matrix<double, N> equilibrated_;  // E
  int exponent_ = 0;                // g
  std::array<int, max_system_size> half_{};
  Eigen::LLT<Matrix<double, N>> llt_;
  std::int32_t info_ = 0;
};

template <class T, int N>
void solve_one(const SpdShape& shape, const T* a, const T* b, T* x, std::int32_t& info, T& backward_error) {
  const RefereeSystem<T, N> system(shape, a, b);
  info = system.info();
  const int columns = system.columns();
  if (info == 0 && system.overflows()) info = info_result_not_finite;
  if (info == 0 && shape.wants_inverse()) {
    system.store_inverse(x);
  } else if (info == 0) {
    for (int c = 0; c < columns; ++c) {
      const Column<Wide<T>, N> solution = system.solve(c);
      for (int i = 0; i < shape.n; ++i) x[i * std::int64_t{columns} + c] = static_cast<T>(solution(i));
    }
  }
  if (info == 0) {
    backward_error = static_cast<T>(system.backward_error(x));
  } else {
    std::fill(x, x + shape.solution_size(), static_cast<T>(nan_value));
    backward_error = static_cast<T>(nan_value);
  }
}

template <class T, int N>
SpdJudgement judge_one(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info) {
  const RefereeSystem<T, N> system(shape, a, b);
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  SpdJudgement judgement{system.info(), nan_value, nan_value, 0};
  if (judgement.info < 0) return judgement;
  if (judgement.info == 0) judgement.rcond = system.rcond();
  if (judgement.info == 0 && info == info_result_not_finite && system.overflows()) judgement.info = info;
  if (info == 0) {
    judgement.residual_ratio = system.backward_error(x) / (shape.wants_inverse() ? shape.n * u : u);
    if (judgement.info == 0)
      judgement.forward_ratio = system.forward_error(x) * judgement.rcond / u;
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
  explicit ReferenceSpdSolver(unsigned threads) : threads_(threads) {}
  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override { run(batch, solution); }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override { run(batch, solution); }
  [[nodiscard]] std::string description() const override { return "reference eigen llt"; }

 private:
  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_batch(batch, solution);
    const SpdShape& shape = batch.shape;
    constexpr std::int64_t grain = 64;
    parallel_for(batch.count, grain, threads_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k)
        solve_one<T, Eigen::Dynamic>(
            shape, batch.a + k * shape.matrix_size(), shape.wants_inverse() ? nullptr : batch.b + k * shape.rhs_size(),
            solution.x + k * shape.solution_size(), solution.info[k], solution.backward_error[k]);
    });
  }
  unsigned threads_;
};

}  // namespace

std::unique_ptr<SpdSolver> make_reference_spd_solver(unsigned threads, const SpdOptions&) {
  return std::make_unique<ReferenceSpdSolver>(threads);
}

template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info) {
  if (shape.n == max_system_size) return judge_one<T, max_system_size>(shape, a, b, x, info);
  return judge_one<T, Eigen::Dynamic>(shape, a, b, x, info);
}

template SpdJudgement judge_spd_solution(const SpdShape&, const float*, const float*, const float*, std::int32_t);
template SpdJudgement judge_spd_solution(const SpdShape&, const double*, const double*, const double*, std::int32_t);

bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n) {
  if (backend_info == judgement.info) return true;
  if (backend_info < 0 || backend_info > n || judgement.info < 0) return false;
  const double u = type == ScalarType::float32 ? 0x1p-24 : 0x1p-53;
  return std::abs(judgement.rcond) < n * u;
}

}  // namespace smallbatch
