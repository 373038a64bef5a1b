// The referee judges a sample of every row's solutions before the row is timed. A wrong row is not timed. All arrays
// begin at cache lines, so that rows can be compared.
#include "bench/solve_cpu_ladder.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/compare.hpp"
#include "core/parallel.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr int n = 32;
constexpr std::int64_t batch = std::int64_t{1} << 14;
constexpr int repeats = 15;

template <class T>
struct Problem {
  static constexpr SpdShape shape{n, 1, Storage::dense};
  AlignedVector<T> a, b, x, backward_error;
  AlignedVector<std::int32_t> info;

  Problem() : a(batch * n * n), b(batch * n), x(batch * n), backward_error(batch), info(batch) {
    generate_spd(SpdFamily::gram, shape, 1, 1, 0, batch, a.data(), b.data());
  }
  [[nodiscard]] SpdBatch<T> systems() const { return {shape, batch, a.data(), b.data()}; }
  [[nodiscard]] SpdSolution<T> solution(bool with_backward_error) {
    return {x.data(), info.data(), with_backward_error ? backward_error.data() : nullptr};
  }
  void poison() {
    std::fill(x.begin(), x.end(), std::numeric_limits<T>::quiet_NaN());
    std::fill(info.begin(), info.end(), 0);  // Eigen's row writes no info
  }
  /// Returns the largest of the referee's ratios for a sample of the systems, divided by the referee's limit. If it is
  /// above 1, the answers of the row are wrong. Infinity means that a status is wrong or a ratio is NaN.
  [[nodiscard]] double error_over_bound() const {
    Comparison comparison;
    constexpr std::int64_t sample = 31;
    for (std::int64_t k = 0; k < batch; k += sample) {
      const SpdJudgement judgement =
          judge_spd_solution(shape, a.data() + k * n * n, b.data() + k * n, x.data() + k * n, info[k]);
      if (!same_status(info[k], judgement, scalar_type_of<T>, n)) return std::numeric_limits<double>::infinity();
      for (const double ratio : {judgement.residual_ratio, judgement.forward_ratio})
        comparison.add(ratio / spd_ratio_limit, k);
    }
    return comparison.worst;
  }
};

struct Row {
  std::string name, idea;
  std::function<void()> run;
};

struct Seconds {
  double median = 0, lowest = 0, highest = 0;
};
Seconds time_of(const std::function<void()>& run) {
  std::vector<double> seconds(repeats);
  for (double& s : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[repeats / 2], seconds.front(), seconds.back()};
}

template <class T>
std::vector<Row> rows_of(Problem<T>& problem) {
  std::vector<Row> rows;
  rows.push_back({"eigen_llt_fixed", "Eigen's LLT with n known to the compiler, one system after another, one thread",
                  [&problem] { solve_by_eigen_llt(batch, problem.a.data(), problem.b.data(), problem.x.data()); }});
  const auto add = [&](std::string idea, unsigned threads, const LdltKernels& kernels, SpdMethod method, bool errors) {
    const std::shared_ptr<SpdSolver> solver = make_cpu_spd_solver(threads, kernels, {method, 0});
    std::string name = std::string(kernels.name) + "_" + std::string(spd_method_name(method));
    if (errors) name += "_judged";
    if (threads > 1) name += "_" + std::to_string(threads) + "_threads";
    rows.push_back({std::move(name), std::move(idea),
                    [&problem, solver, errors] { solver->solve(problem.systems(), problem.solution(errors)); }});
  };
  const std::vector<LdltKernels> usable = usable_ldlt_kernels();
  for (const LdltKernels& kernels : std::ranges::reverse_view(usable)) {
    add("both triangles compared, Gauss-Jordan with the right-hand side carried along", 1, kernels,
        SpdMethod::gauss_jordan, false);
    add("L D L^T, panels of four rows in register tiles", 1, kernels, SpdMethod::ldlt, false);
  }
  add("production: the same with the backward error of every system", 1, usable.front(), SpdMethod::ldlt, true);
  std::vector<unsigned> threads;
  for (unsigned t = 2; t < hardware_threads(); t *= 2) threads.push_back(t);
  if (hardware_threads() > 1) threads.push_back(hardware_threads());
  for (const unsigned t : threads)
    add("production on " + std::to_string(t) + " threads", t, usable.front(), SpdMethod::ldlt, true);
  return rows;
}

template <class T>
bool print_table() {
  Problem<T> problem;
  std::printf("\n## solve on the host, n=%d, one right-hand side, dense %s, batch %lld\n\n", n,
              sizeof(T) == 4 ? "float32" : "float64", static_cast<long long>(batch));
  std::printf("Host: %u threads, %s. Median of %d calls by the host's clock, data in host memory.\n\n",
              hardware_threads(), usable_ldlt_kernels().front().name, repeats);
  std::printf("| step | idea | 10^6 systems/s | times row 0 | Gflop/s | error / bound | ms, lowest to highest |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  constexpr double flops = n * n * n / 3.0 + 2.0 * n * n;  // Cholesky's method and two triangular solves
  bool all_right = true;
  double first = 0;
  for (const Row& row : rows_of(problem)) {
    problem.poison();
    row.run();
    const double error = problem.error_over_bound();
    if (!within(error, 1)) {
      std::printf("| %s | %s | wrong, not timed |\n", row.name.c_str(), row.idea.c_str());
      all_right = false;
      continue;
    }
    const Seconds seconds = time_of(row.run);
    const double rate = static_cast<double>(batch) / seconds.median;
    if (first == 0) first = rate;
    std::printf("| %s | %s | %.2f | %.2f | %.1f | %.3f | %.2f to %.2f |\n", row.name.c_str(), row.idea.c_str(),
                rate / 1e6, rate / first, rate * flops / 1e9, error, 1e3 * seconds.lowest, 1e3 * seconds.highest);
    std::fflush(stdout);
  }
  return all_right;
}

/// Returns a table cell: the rate of the production code on one thread, in 10^6 systems/s.
template <class T>
std::string rate_cell(const SpdShape& shape, bool with_backward_error) {
  constexpr std::int64_t numbers = std::int64_t{1} << 23, samples = 50;
  SpdBlock<T> block;
  block.resize(shape, numbers / shape.matrix_size());
  generate_spd(SpdFamily::gram, shape, 1, 1, 0, block.count, block.a.data(), block.b.data());
  std::fill(block.x.begin(), block.x.end(), std::numeric_limits<T>::quiet_NaN());
  const std::unique_ptr<SpdSolver> solver = make_cpu_spd_solver(1, usable_ldlt_kernels().front(), {});
  SpdSolution<T> solution{block.x.data(), block.info.data()};
  if (with_backward_error) solution.backward_error = block.backward_error.data();
  const auto run = [&] { solver->solve(block.batch(), solution); };
  run();
  for (std::int64_t k = 0; k < block.count; k += block.count / samples) {
    const SpdJudgement judgement =
        judge_spd_solution(shape, block.a.data() + k * shape.matrix_size(), block.b.data() + k * shape.rhs_size(),
                           block.x.data() + k * shape.solution_size(), block.info[static_cast<std::size_t>(k)]);
    if (!within(judgement.residual_ratio, spd_ratio_limit) || !within(judgement.forward_ratio, spd_ratio_limit))
      return "wrong, not timed";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(block.count) / time_of(run).median / 1e6);
  return text.data();
}

bool print_sizes() {
  std::printf(
      "\n## solve on the host, by size, dense, one thread\n\n10^6 systems/s of the cpu backend, %s, on 2^23 "
      "elements of A.\n\n",
      usable_ldlt_kernels().front().name);
  std::string head = "| n |", rule = "|---|";
  for (const char* const type : {"float32", "float64"})
    for (const char* const what : {"x", "x with its backward error", "inverse", "inverse with its backward error"}) {
      head += std::string(" ") + type + ": " + what + " |";
      rule += "---|";
    }
  std::printf("%s\n%s\n", head.c_str(), rule.c_str());
  bool all_right = true;
  for (const int size : {8, 16, 32, 64}) {
    std::string line = "| " + std::to_string(size) + " |";
    const auto add = [&](const std::string& cell) {
      line += " " + cell + " |";
      all_right &= cell.find("wrong") == std::string::npos;
    };
    for (const int nrhs : {1, 0})
      for (const bool judged : {false, true}) add(rate_cell<float>({size, nrhs, Storage::dense}, judged));
    for (const int nrhs : {1, 0})
      for (const bool judged : {false, true}) add(rate_cell<double>({size, nrhs, Storage::dense}, judged));
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return all_right;
}

}  // namespace

bool print_solve_cpu_ladder() {
  const bool singles = print_table<float>(), doubles = print_table<double>();
  return print_sizes() && singles && doubles;
}

}  // namespace smallbatch
