// The reference backend: Eigen's LLT in double precision, one system after another.
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/grid_stride.hpp"
#include "solvers/reference/system.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

/// Stores the status and the numbers of system k. Numbers that are not wanted have null pointers.
template <class T>
void store(const SpdBatch<T>& batch, const SpdSolution<T>& solution, std::int64_t k, std::int32_t info,
           const SpdValues& values) {
  solution.info[k] = info;
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    if (V* const array = solution.*number.in_solution; array != nullptr && number.is_of(batch.shape))
      array[k] = static_cast<V>(values.*number.in_values);
  });
}

/// Solves system k of a batch, if all systems have n rows.
template <class T>
void solve_one(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor, std::int64_t k) {
  const SpdShape& shape = batch.shape;
  std::vector<T> b;  // a copy, because x may take the place of b
  if (shape.nrhs > 0) b.assign(batch.b + k * batch.b_step(), batch.b + k * batch.b_step() + shape.rhs_size());
  using System = RefereeSystem<T>;
  const System system(shape, batch.a + k * batch.a_step(), b.data(), pivot_floor);
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  const int columns = system.columns();
  T* x = shape.determinant_only ? nullptr : solution.x + k * solution.x_step(shape);
  std::int32_t info = system.info();
  bool has_underflowed = false;
  if (info == 0 && shape.wants_inverse()) {
    system.store_inverse(x);
  } else if (info == 0) {
    for (int c = 0; c < columns; ++c) {
      const Column<Wide<T>> column = system.solve(c);
      has_underflowed = has_underflowed || system.relative_loss(column) > spd_underflow_loss * u;
      for (int i = 0; i < shape.n; ++i) x[i * std::int64_t{columns} + c] = static_cast<T>(column(i));
    }
  }
  if (info == 0 && !std::all_of(x, x + shape.solution_size(), [](T value) { return std::isfinite(value); }))
    info = info_result_not_finite;
  if (info == 0 && has_underflowed) info = info_result_underflowed;
  if (info != 0) std::fill(x, x + shape.solution_size(), static_cast<T>(nan_value));
  SpdValues values;
  if (info == 0)
    values = system.numbers(solution.rcond != nullptr ? system.conditions(0) : typename System::Conditions{});
  if (info == 0 && solution.backward_error != nullptr) values.backward_error = system.backward_error(x);
  store(batch, solution, k, info, values);
}

/// Solves system k of a batch with sizes: its leading rows and columns alone.
template <class T>
void solve_leading_block(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor, std::int64_t k) {
  const SpdShape& shape = batch.shape;
  const int size = batch.sizes[k], columns = shape.wants_inverse() ? shape.n : shape.nrhs;
  T* const x = shape.determinant_only ? nullptr : solution.x + k * solution.x_step(shape);
  if (size < 0 || size > shape.n) {
    std::fill_n(x, shape.solution_size(), static_cast<T>(nan_value));
    store(batch, solution, k, info_size_out_of_range, {});
    return;
  }
  SpdBlock<T> alone;
  SpdShape own = shape;
  own.n = size;
  own.has_sizes = false;
  alone.resize(own, 1);
  for (int i = 0, e = 0; i < size; ++i)
    for (int j = 0; j < (own.storage == Storage::packed_lower ? i + 1 : size); ++j, ++e)
      alone.a[e] = batch.a[k * batch.a_step() + (own.storage == Storage::packed_lower ? e : i * shape.n + j)];
  if (shape.nrhs > 0) std::copy_n(batch.b + k * batch.b_step(), own.rhs_size(), alone.b.data());
  std::fill_n(x, shape.solution_size(), T(0));
  if (size == 0) {
    store(batch, solution, k, 0, SpdValues::of_identity());
    return;
  }
  solve_one(alone.batch(), alone.solution(), pivot_floor, 0);
  const int used = shape.wants_inverse() ? size : shape.nrhs;
  for (int i = 0; i < size && x != nullptr; ++i)
    std::copy_n(alone.x.data() + i * std::int64_t{used}, used, x + i * std::int64_t{columns});
  SpdValues values;
  for_each_spd_number<T>([&](const auto& number) {
    if (number.is_of(shape)) values.*number.in_values = static_cast<double>((alone.*number.in_block)[0]);
  });
  store(batch, solution, k, alone.info[0], values);
}

/// Factors system k.
template <class T>
void factor_one(const SpdBatch<T>& batch, const SpdFactors<T>& factors, std::int64_t k) {
  const SpdShape shape{batch.shape.n, 0, batch.shape.storage, true};
  using System = RefereeSystem<T>;
  const System system(shape, batch.a + k * batch.a_step(), nullptr, 0);
  std::int32_t info = system.info();
  T* const to = factors.factors + k * factors.factors_step(shape.n);
  T* end = to;
  SpdValues values;
  if (info == 0) {
    bool overflows = false, underflows = false;
    const Matrix<Wide<T>> wide = system.factors();
    for (int i = 0; i < shape.n; ++i)
      for (int j = 0; j <= i; ++j) {
        *end = static_cast<T>(wide(i, j));
        overflows |= !std::isfinite(*end++);
      }
    constexpr int away = 200;  // 2^200 moves subnormal numbers of T well into its normal range
    for (int i = 0; i < shape.n; ++i)
      underflows |=
          wide(i, i) < std::numeric_limits<T>::min() &&
          std::ldexp(Wide<T>(static_cast<T>(wide(i, i))), away) != static_cast<T>(std::ldexp(wide(i, i), away));
    info = overflows ? info_result_not_finite : underflows ? info_result_underflowed : 0;
  }
  if (info == 0)
    values = system.numbers({});
  else
    std::fill(to, to + std::int64_t{shape.n} * (shape.n + 1) / 2, static_cast<T>(nan_value));
  factors.info[k] = info;
  if (factors.smallest_pivot != nullptr) factors.smallest_pivot[k] = static_cast<T>(values.smallest_pivot);
  if (factors.log_determinant != nullptr) factors.log_determinant[k] = values.log_determinant;
}

/// Solves system k with its factors, in the wide precision, which has a range that needs no scaling.
template <class T>
void solve_factored_one(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution, std::int64_t k) {
  using W = Wide<T>;
  const int n = batch.n, nrhs = batch.nrhs;
  const T* from = batch.factors + k * batch.factors_step();
  Matrix<W> l = Matrix<W>::Zero(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) l(i, j) = W(*from++);
  const T* const b = batch.b + k * batch.b_step();
  T* const x = solution.x + k * solution.x_step(batch.shape());
  T* const end = x + batch.shape().rhs_size();
  std::int32_t info = batch.factors_info[k * batch.factors_info_step()];
  if (info == 0 && !std::all_of(b, b + batch.shape().rhs_size(), [](T value) { return std::isfinite(value); }))
    info = info_rhs_not_finite;
  bool underflows = false;
  for (int c = 0; c < nrhs && info == 0; ++c) {
    Column<W> column(n);
    for (int i = 0; i < n; ++i) column(i) = b[i * std::int64_t{nrhs} + c];
    l.template triangularView<Eigen::UnitLower>().solveInPlace(column);
    column.array() /= l.diagonal().array();
    l.template triangularView<Eigen::UnitLower>().transpose().solveInPlace(column);
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    underflows |= RefereeSystem<T>::relative_loss(column) > spd_underflow_loss * u;
    for (int i = 0; i < n; ++i) x[i * std::int64_t{nrhs} + c] = static_cast<T>(column(i));
  }
  if (info == 0 && !std::all_of(x, end, [](T value) { return std::isfinite(value); })) info = info_result_not_finite;
  if (info == 0 && underflows) info = info_result_underflowed;
  if (info != 0) std::fill(x, end, static_cast<T>(nan_value));
  solution.info[k] = info;
}

class ReferenceSpdSolver final : public SpdSolver {
 public:
  ReferenceSpdSolver(unsigned threads, double pivot_floor) : threads_(threads), pivot_floor_(pivot_floor) {}
  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override { run(batch, solution); }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override { run(batch, solution); }
  void factor(const SpdBatch<float>& batch, const SpdFactors<float>& factors) override { run(batch, factors); }
  void factor(const SpdBatch<double>& batch, const SpdFactors<double>& factors) override { run(batch, factors); }
  void solve_factored(const SpdFactoredBatch<float>& batch, const SpdSolution<float>& solution) override {
    run(batch, solution);
  }
  void solve_factored(const SpdFactoredBatch<double>& batch, const SpdSolution<double>& solution) override {
    run(batch, solution);
  }
  [[nodiscard]] std::string description() const override { return "reference eigen llt"; }

 private:
  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_batch(batch, solution);
    for_each(batch.count, [&](std::int64_t k) {
      (batch.sizes == nullptr ? solve_one<T> : solve_leading_block<T>)(batch, solution, pivot_floor_, k);
    });
  }
  template <class T>
  void run(const SpdBatch<T>& batch, const SpdFactors<T>& factors) const {
    check_spd_factors(batch, factors);
    for_each(batch.count, [&](std::int64_t k) { factor_one(batch, factors, k); });
  }
  template <class T>
  void run(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_factored(batch, solution);
    for_each(batch.count, [&](std::int64_t k) { solve_factored_one(batch, solution, k); });
  }
  template <class Work>
  void for_each(std::int64_t count, const Work& work) const {
    constexpr std::int64_t grain = 64;
    for_each_index_on_threads(count, grain, threads_, work);
  }
  unsigned threads_;
  double pivot_floor_;
};

}  // namespace

// The reference ignores the method: it always uses Eigen's LLT.
std::unique_ptr<SpdSolver> make_reference_spd_solver(unsigned threads, const SpdOptions& options) {
  return std::make_unique<ReferenceSpdSolver>(threads, options.pivot_floor);
}

}  // namespace smallbatch
