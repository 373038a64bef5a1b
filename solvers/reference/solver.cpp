// The reference backend: Eigen's LLT in double precision, one system after another.
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/parallel.hpp"
#include "solvers/reference/system.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

/// System k of a batch; numbers that are not wanted have null pointers.
template <class T>
void solve_one(const SpdBatch<T>& batch, const SpdSolution<T>& solution, double pivot_floor, std::int64_t k) {
  const SpdShape& shape = batch.shape;
  std::vector<T> b;  // x may take its place
  if (shape.nrhs > 0) b.assign(batch.b + k * batch.b_step(), batch.b + k * batch.b_step() + shape.rhs_size());
  using System = RefereeSystem<T, Eigen::Dynamic>;
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
      const Column<Wide<T>, Eigen::Dynamic> column = system.solve(c);
      has_underflowed = has_underflowed || system.relative_loss(column) > spd_underflow_loss * u;
      for (int i = 0; i < shape.n; ++i) x[i * std::int64_t{columns} + c] = static_cast<T>(column(i));
    }
  }
  if (info == 0 && !std::all_of(x, x + shape.solution_size(), [](T value) { return std::isfinite(value); }))
    info = info_result_not_finite;
  if (info == 0 && has_underflowed) info = info_result_underflowed;
  if (info != 0) std::fill(x, x + shape.solution_size(), static_cast<T>(nan_value));
  solution.info[k] = info;
  SpdValues values;
  if (info == 0)
    values = system.numbers(solution.rcond != nullptr ? system.conditions(0) : typename System::Conditions{});
  if (info == 0 && solution.backward_error != nullptr) values.backward_error = system.backward_error(x);
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    if (V* const array = solution.*number.in_solution; array != nullptr && number.is_of(shape))
      array[k] = static_cast<V>(values.*number.in_values);
  });
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

}  // namespace smallbatch
