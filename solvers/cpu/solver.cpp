// The cpu plan. All threads work on groups of systems; the kernels for this processor interleave each group across SIMD
// lanes (kernels_body.hpp).
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/usable_kernels.hpp"
#include "solvers/by_size.hpp"
#include "solvers/cpu/pivot_repair.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

struct AlignedDelete {
  void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{ldlt_alignment}); }
};

class CpuSpdSolver final : public SpdSolver {
 public:
  CpuSpdSolver(unsigned threads, const LdltKernels& kernels, const SpdOptions& options)
      : threads_(threads),
        kernels_(kernels),
        method_(options.method == SpdMethod::automatic ? SpdMethod::ldlt : options.method),
        pivot_floor_(options.pivot_floor) {}

  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override {
    solve_with(kernels_.float32, batch, solution);
  }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override {
    solve_with(kernels_.float64, batch, solution);
  }
  void factor(const SpdBatch<float>& batch, const SpdFactors<float>& factors) override {
    factor_with(kernels_.float32, batch, factors);
  }
  void factor(const SpdBatch<double>& batch, const SpdFactors<double>& factors) override {
    factor_with(kernels_.float64, batch, factors);
  }
  void solve_factored(const SpdFactoredBatch<float>& batch, const SpdSolution<float>& solution) override {
    solve_factored_with(kernels_.float32, batch, solution);
  }
  void solve_factored(const SpdFactoredBatch<double>& batch, const SpdSolution<double>& solution) override {
    solve_factored_with(kernels_.float64, batch, solution);
  }
  [[nodiscard]] std::string description() const override {
    return "cpu " + std::string(spd_method_name(method_)) + " " + kernels_.name;
  }

 private:
  template <class T>
  void solve_with(const LdltKernel<T>& kernel, const SpdBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_batch(batch, solution);
    if (batch.sizes != nullptr) {
      constexpr std::int64_t groups = 8;  // few enough to fit into the cache
      solve_by_size<T>(batch, solution, {groups * kernel.lanes, threads_, threads_},
                       [&](const SpdBatch<T>& alike, const SpdSolution<T>& to) { solve_with(kernel, alike, to); });
      return;
    }
    const SpdShape& shape = batch.shape;
    LdltTask<T> all{shape.n, shape.nrhs, shape.wants_inverse(), shape.storage,  method_,  batch.count,
                    batch.a, batch.b,    batch.a_step(),        batch.b_step(), solution, nullptr};
    all.solution.x_stride = solution.x_step(shape);
    for_each_spd_number<T>([&](const auto& number) {
      auto*& array = all.solution.*number.in_solution;
      if (!number.is_of(shape)) array = nullptr;
    });
    for_pieces(kernel, all, [&](const LdltTask<T>& task) {
      std::vector<T> kept;  // copies of right-hand sides for the repair, because solutions replace them
      if (pivot_floor_ > 0 && task.solution.x == task.b && shape.nrhs > 0)
        kept.assign(task.b, task.b + (task.count - 1) * task.b_step + shape.rhs_size());
      kernel.solve(task);
      if (!(pivot_floor_ > 0)) return;
      PivotRepairMemory memory(shape.n);
      for (std::int64_t k = 0; k < task.count; ++k)
        repair_pivots(shape, task.a + k * task.a_step, (kept.empty() ? task.b : kept.data()) + k * task.b_step,
                      pivot_floor_, beginning_at(k, task.solution), memory);
    });
  }

  template <class T>
  void factor_with(const LdltKernel<T>& kernel, const SpdBatch<T>& batch, const SpdFactors<T>& factors) const {
    check_spd_factors(batch, factors);
    const SpdShape& shape = batch.shape;
    LdltTask<T> all{shape.n,
                    0,
                    false,
                    shape.storage,
                    SpdMethod::ldlt,
                    batch.count,
                    batch.a,
                    nullptr,
                    batch.a_step(),
                    0,
                    of_pivots(factors),
                    nullptr};
    all.factors = factors.factors;
    all.factors_step = factors.factors_step(shape.n);
    for_pieces(kernel, all, kernel.factor);
  }

  template <class T>
  void solve_factored_with(const LdltKernel<T>& kernel, const SpdFactoredBatch<T>& batch,
                           const SpdSolution<T>& solution) const {
    check_spd_factored(batch, solution);
    LdltTask<T> all{batch.n,     batch.nrhs,    false,   Storage::packed_lower, SpdMethod::ldlt,
                    batch.count, batch.factors, batch.b, batch.factors_step(),  batch.b_step(),
                    solution,    nullptr};
    all.solution.x_stride = solution.x_step(batch.shape());
    all.factors_info = batch.factors_info;
    all.factors_info_step = batch.factors_info_step();
    for_pieces(kernel, all, kernel.solve_factored);
  }

  /// Calls work(piece of the task) on all threads.
  template <class T, class Work>
  void for_pieces(const LdltKernel<T>& kernel, const LdltTask<T>& all, const Work& work) const {
    const std::size_t workspace_size = kernel.workspace_size(all);
    // Pieces are large, because each begins with matrices that were not prefetched and with fresh memory. There are
    // enough of them for all threads. A few groups of large systems take long enough.
    const std::int64_t lanes = kernel.lanes, workers = thread_count(threads_);
    const std::int64_t least = std::clamp<std::int64_t>((1 << 14) / (std::int64_t{all.n} * all.n), 2, 16);
    const std::int64_t groups = std::clamp<std::int64_t>(all.count / (4 * workers * lanes), least, 128) / 2 * 2;
    parallel_for(all.count, groups * lanes, threads_, [&](std::int64_t first, std::int64_t last) {
      const std::unique_ptr<void, AlignedDelete> workspace(
          ::operator new (workspace_size, std::align_val_t{ldlt_alignment}));
      LdltTask<T> task = all;
      task.count = last - first;
      task.a += first * all.a_step;
      if (all.nrhs > 0) task.b += first * all.b_step;
      if (all.factors != nullptr) task.factors += first * all.factors_step;
      if (all.factors_info != nullptr) task.factors_info += first * all.factors_info_step;
      task.solution = beginning_at(first, all.solution);
      task.workspace = workspace.get();
      work(task);
    });
  }

  /// Returns the same arrays, beginning at system `first`.
  template <class T>
  static SpdSolution<T> beginning_at(std::int64_t first, SpdSolution<T> solution) {
    if (solution.x != nullptr) solution.x += first * solution.x_stride;
    solution.info += first;
    for_each_spd_number<T>([&](const auto& number) {
      if (auto*& array = solution.*number.in_solution; array != nullptr) array += first;
    });
    return solution;
  }

  unsigned threads_;
  LdltKernels kernels_;
  SpdMethod method_;
  double pivot_floor_;
};

}  // namespace

std::vector<LdltKernels> usable_ldlt_kernels() { return usable_kernels<ldlt_baseline, ldlt_avx2, ldlt_avx512>(); }

std::unique_ptr<SpdSolver> make_cpu_spd_solver(unsigned threads, const LdltKernels& kernels,
                                               const SpdOptions& options) {
  return std::make_unique<CpuSpdSolver>(threads, kernels, options);
}

}  // namespace smallbatch
