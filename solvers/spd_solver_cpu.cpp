// The cpu plan: all threads over groups of systems, each group interleaved across SIMD lanes (ldlt_lanes_body.hpp) by
// the kernels for this processor.
#include <algorithm>
#include <memory>
#include <new>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

std::size_t ldlt_workspace_size(int n, int nrhs, bool packed, int lanes) {
  const auto size = static_cast<std::size_t>(n);
  const auto columns = static_cast<std::size_t>(nrhs);
  const std::size_t lower = size * (size + 1) / 2;
  const std::size_t matrix = packed ? lower : size * size;
  const std::size_t solution = size * (nrhs == 0 ? size : columns);
  return (matrix + lower + size * columns + solution + columns) * static_cast<std::size_t>(lanes);
}

namespace {

struct AlignedDelete {
  void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{ldlt_alignment}); }
};

class CpuSpdSolver final : public SpdSolver {
 public:
  CpuSpdSolver(unsigned threads, const LdltKernels& kernels) : threads_(threads), kernels_(kernels) {}

  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override {
    solve_with(kernels_.float32, batch, solution);
  }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override {
    solve_with(kernels_.float64, batch, solution);
  }
  [[nodiscard]] std::string description() const override { return std::string("cpu ldlt ") + kernels_.name; }

 private:
  template <class T>
  void solve_with(const LdltKernel<T>& kernel, const SpdBatch<T>& batch, const SpdSolution<T>& solution) const {
    check_spd_batch(batch, solution);
    const SpdShape& shape = batch.shape;
    const bool packed = shape.storage == Storage::packed_lower;
    const std::size_t workspace_size = ldlt_workspace_size(shape.n, shape.nrhs, packed, kernel.lanes);
    constexpr std::int64_t groups_per_piece = 16;
    parallel_for(batch.count, groups_per_piece * kernel.lanes, threads_, [&](std::int64_t first, std::int64_t last) {
      const std::unique_ptr<void, AlignedDelete> workspace(
          ::operator new (workspace_size * sizeof(T), std::align_val_t{ldlt_alignment}));
      kernel.solve({shape.n, shape.nrhs, packed, last - first, batch.a + first * shape.matrix_size(),
                    shape.wants_inverse() ? nullptr : batch.b + first * shape.rhs_size(),
                    solution.x + first * shape.solution_size(), solution.info + first, solution.backward_error + first,
                    static_cast<T*>(workspace.get())});
    });
  }

  unsigned threads_;
  LdltKernels kernels_;
};

}  // namespace

std::unique_ptr<SpdSolver> make_cpu_spd_solver(unsigned threads, const LdltKernels& kernels, const SpdOptions&) {
  return std::make_unique<CpuSpdSolver>(threads, kernels);
}

}  // namespace smallbatch
