// Small SPD solves, from one element per thread to production. After V. Volkov, "Unrolling parallel loops" (2011),
// whose first step is row 1 here, with the right-hand side in.
#include <cusolverDn.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.cuh"

namespace smallbatch {

namespace {

/// One system per block, one element of A per thread (thread x,y <-> column x, row y), A and b in shared memory.
template <class T>
__global__ void one_element_per_thread(const T* a, const T* b, T* x, int n, std::int64_t count) {
  __shared__ T s[32][34];  // shared: rows of A, b in column 32; padded against bank conflicts
  const int column = threadIdx.x, row = threadIdx.y;
  for (std::int64_t p = blockIdx.x; p < count; p += gridDim.x) {
    s[row][column] = a[(p * n + row) * n + column];
    if (column == 0) s[row][32] = b[p * n + row];
    for (int k = 0; k < n; ++k) {
      __syncthreads();  // row k and column k are as step k-1 left them
      const T factor = row == k ? T(0) : s[row][k] / s[k][k];
      const T pivot = s[k][column], pivot_rhs = s[k][32];
      __syncthreads();  // everybody has read them
      s[row][column] -= factor * pivot;
      if (column == 0) s[row][32] -= factor * pivot_rhs;
    }
    __syncthreads();
    if (column == 0) x[p * n + row] = s[row][32] / s[row][row];
    __syncthreads();  // the next system overwrites s
  }
}

void check_solver(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw std::runtime_error("cuSOLVER failed with status " + std::to_string(status));
}

cusolverStatus_t potrf(cusolverDnHandle_t handle, int n, float** a, int* info, int count) {
  return cusolverDnSpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count);
}
cusolverStatus_t potrf(cusolverDnHandle_t handle, int n, double** a, int* info, int count) {
  return cusolverDnDpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count);
}
cusolverStatus_t potrs(cusolverDnHandle_t handle, int n, float** a, float** b, int* info, int count) {
  return cusolverDnSpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, n, 1, a, n, b, n, info, count);
}
cusolverStatus_t potrs(cusolverDnHandle_t handle, int n, double** a, double** b, int* info, int count) {
  return cusolverDnDpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, n, 1, a, n, b, n, info, count);
}

/// The systems of a ladder, on the device; a few of them on the host, for the referee.
template <class T>
struct Systems {
  Systems(int n, std::int64_t batch) : count(batch) {
    shape = {n, 1, Storage::dense};
    const std::int64_t distinct = std::min<std::int64_t>(batch, 4096);  // repeated: making them on the host takes time
    host_a.resize(static_cast<std::size_t>(distinct * shape.matrix_size()));
    host_b.resize(static_cast<std::size_t>(distinct * n));
    generate_spd(SpdFamily::random, shape, 100, 1, 0, distinct, host_a.data(), host_b.data());
    a = memory_a.reserve<T>(static_cast<std::size_t>(batch * shape.matrix_size()));
    b = memory_b.reserve<T>(static_cast<std::size_t>(batch * n));
    x = memory_x.reserve<T>(static_cast<std::size_t>(batch * n));
    backward_error = memory_error.reserve<T>(static_cast<std::size_t>(batch));
    info = memory_info.reserve<std::int32_t>(static_cast<std::size_t>(batch));
    for (std::int64_t first = 0; first < batch; first += distinct) {
      const auto systems = static_cast<std::size_t>(std::min(distinct, batch - first));
      check(cudaMemcpy(a + first * shape.matrix_size(), host_a.data(),
                       systems * static_cast<std::size_t>(shape.matrix_size()) * sizeof(T), cudaMemcpyHostToDevice));
      check(cudaMemcpy(b + first * n, host_b.data(), systems * static_cast<std::size_t>(n) * sizeof(T),
                       cudaMemcpyHostToDevice));
    }
  }

  [[nodiscard]] SpdBatch<T> batch() const { return {shape, count, a, b}; }
  [[nodiscard]] SpdSolution<T> solution() const { return {x, info, backward_error}; }

  /// Worst ratio over its limit, of 500 systems spread over the batch.
  [[nodiscard]] double worst_error() const {
    const auto n = static_cast<std::int64_t>(shape.n);
    const auto distinct = static_cast<std::int64_t>(host_b.size()) / n;
    std::vector<T> all(static_cast<std::size_t>(count * n));
    check(cudaMemcpy(all.data(), x, all.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (const T value : all)
      if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::int64_t i = 0; i < 500; ++i) {
      const std::int64_t p = i * (count - 1) / 499, q = p % distinct;
      const SpdJudgement judgement = judge_spd_solution(shape, host_a.data() + q * shape.matrix_size(),
                                                        host_b.data() + q * n, all.data() + p * n, 0);
      worst = std::max({worst, judgement.residual_ratio / spd_ratio_limit, judgement.forward_ratio / spd_ratio_limit});
    }
    return worst;
  }

  SpdShape shape;
  std::int64_t count;
  std::vector<T> host_a, host_b;
  DeviceMemory memory_a, memory_b, memory_x, memory_error, memory_info;
  T *a, *b, *x, *backward_error;
  std::int32_t* info;
};

/// cuSOLVER's batched Cholesky; it overwrites its input, so it has copies.
template <class T>
struct CusolverCholesky {
  explicit CusolverCholesky(const Systems<T>& s) : systems(s) {
    check_solver(cusolverDnCreate(&handle));
    const auto count = static_cast<std::size_t>(s.count);
    factor = memory_factor.reserve<T>(count * static_cast<std::size_t>(s.shape.matrix_size()));
    info = memory_info.reserve<int>(count);
    std::vector<T*> a(count), b(count);
    for (std::int64_t p = 0; p < s.count; ++p) {
      a[static_cast<std::size_t>(p)] = factor + p * s.shape.matrix_size();
      b[static_cast<std::size_t>(p)] = s.x + p * s.shape.n;
    }
    a_array = memory_a.reserve<T*>(count);
    b_array = memory_b.reserve<T*>(count);
    check(cudaMemcpy(a_array, a.data(), count * sizeof(T*), cudaMemcpyHostToDevice));
    check(cudaMemcpy(b_array, b.data(), count * sizeof(T*), cudaMemcpyHostToDevice));
  }
  ~CusolverCholesky() { cusolverDnDestroy(handle); }
  CusolverCholesky(const CusolverCholesky&) = delete;
  CusolverCholesky& operator=(const CusolverCholesky&) = delete;

  void prepare(cudaStream_t stream) const {
    const auto count = static_cast<std::size_t>(systems.count);
    check(cudaMemcpyAsync(factor, systems.a, count * static_cast<std::size_t>(systems.shape.matrix_size()) * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream));
    check(cudaMemcpyAsync(systems.x, systems.b, count * static_cast<std::size_t>(systems.shape.n) * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream));
  }
  void launch(cudaStream_t stream) const {
    check_solver(cusolverDnSetStream(handle, stream));
    check_solver(potrf(handle, systems.shape.n, a_array, info, static_cast<int>(systems.count)));
    check_solver(potrs(handle, systems.shape.n, a_array, b_array, info, static_cast<int>(systems.count)));
  }

  const Systems<T>& systems;
  cusolverDnHandle_t handle = nullptr;
  DeviceMemory memory_factor, memory_info, memory_a, memory_b;
  T* factor;
  int* info;
  T **a_array, **b_array;
};

}  // namespace

template <class T>
Ladder solve_ladder(int n, std::int64_t batch) {
  auto systems = std::make_shared<Systems<T>>(n, batch);
  auto cusolver = std::make_shared<CusolverCholesky<T>>(*systems);

  Ladder ladder;
  ladder.title = "solve, n=" + std::to_string(n) + ", one right-hand side, dense " +
                 (scalar_type_of<T> == ScalarType::float32 ? "float32" : "float64") + ", batch " +
                 std::to_string(batch);
  ladder.unit = "systems";
  ladder.work = static_cast<double>(batch);
  ladder.min_bytes = static_cast<double>(batch) * static_cast<double>(n * n + 2 * n) * sizeof(T);
  ladder.flops = 2.0 * n * n * n * static_cast<double>(batch);
  ladder.poison = [systems](cudaStream_t stream) {
    const auto count = static_cast<std::size_t>(systems->count);
    check(cudaMemsetAsync(systems->x, 0xff, count * static_cast<std::size_t>(systems->shape.n) * sizeof(T), stream));
    check(cudaMemsetAsync(systems->info, 0, count * sizeof(std::int32_t), stream));
  };
  ladder.check = [systems] { return systems->worst_error(); };
  ladder.steps = {
      {"cusolver_potrf_potrs", "the vendor's batched Cholesky: factor, then two triangular solves",
       [systems, cusolver](cudaStream_t stream) { cusolver->prepare(stream); },
       [systems, cusolver](cudaStream_t stream) { cusolver->launch(stream); }},
      {"one_element_per_thread", "Gauss-Jordan, a block per system, every operand through shared memory", nullptr,
       [systems](cudaStream_t stream) {
         const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(systems->count, 65535));
         const auto n = static_cast<unsigned>(systems->shape.n);
         one_element_per_thread<<<blocks, dim3(n, n), 0, stream>>>(systems->a, systems->b, systems->x, systems->shape.n,
                                                                   systems->count);
       }},
      {"gauss_jordan", "production: rows in registers, several per lane; status per system, input not inspected",
       nullptr,
       [systems](cudaStream_t stream) {
         check(launch_spd_gauss_jordan(systems->batch(), systems->solution(), stream));
       }},
      {"inspect_solve_judge",
       "production as the command runs it: inspection before, backward error after, LDL^T where that is large", nullptr,
       [systems](cudaStream_t stream) { check(launch_spd_solve(systems->batch(), systems->solution(), stream)); }},
  };
  return ladder;
}

template Ladder solve_ladder<float>(int, std::int64_t);
template Ladder solve_ladder<double>(int, std::int64_t);

}  // namespace smallbatch
