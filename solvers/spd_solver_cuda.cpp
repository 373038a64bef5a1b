// The cuda plan: owns a stream and one piece of device memory, copies systems in, launches the four steps of
// spd_solver.cuh, copies the results out. A batch that does not fit into the free memory is worked through in pieces.
#include <algorithm>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "solvers/spd_solver.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

class CudaSpdSolver final : public SpdSolver {
 public:
  /// The caller has made `device` current for the time of construction.
  explicit CudaSpdSolver(int device) : device_(device) {}
  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override { run(batch, solution); }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override { run(batch, solution); }
  [[nodiscard]] std::string description() const override {
    return "cuda:" + std::to_string(device_) + " gauss_jordan, ldlt where its backward error is large";
  }

 private:
  static constexpr std::size_t alignment = 256;  // of each array in the memory
  static constexpr std::size_t arrays = 5;

  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
    check_spd_batch(batch, solution);
    if (batch.count == 0) return;
    const DeviceGuard guard(device_);
    const SpdShape& shape = batch.shape;
    const auto a_bytes = static_cast<std::size_t>(shape.matrix_size()) * sizeof(T);
    const auto b_bytes = static_cast<std::size_t>(shape.rhs_size()) * sizeof(T);
    const auto x_bytes = static_cast<std::size_t>(shape.solution_size()) * sizeof(T);
    const std::int64_t piece = piece_size(batch.count, a_bytes + b_bytes + x_bytes + sizeof(T) + sizeof(std::int32_t));
    const auto systems = static_cast<std::size_t>(piece);

    std::byte* free = memory_.reserve<std::byte>(capacity_);
    const auto carve = [&free, systems](std::size_t bytes_per_system) {
      std::byte* array = free;
      free += (systems * bytes_per_system + alignment - 1) / alignment * alignment;
      return array;
    };
    T* a = reinterpret_cast<T*>(carve(a_bytes));
    T* b = reinterpret_cast<T*>(carve(b_bytes));
    const SpdSolution<T> on_device{reinterpret_cast<T*>(carve(x_bytes)),
                                   reinterpret_cast<std::int32_t*>(carve(sizeof(std::int32_t))),
                                   reinterpret_cast<T*>(carve(sizeof(T)))};

    for (std::int64_t first = 0; first < batch.count; first += piece) {
      const std::int64_t count = std::min(piece, batch.count - first);
      const auto pieces = static_cast<std::size_t>(count);
      copy(a, batch.a + first * shape.matrix_size(), pieces * a_bytes, cudaMemcpyHostToDevice);
      if (b_bytes > 0) copy(b, batch.b + first * shape.rhs_size(), pieces * b_bytes, cudaMemcpyHostToDevice);
      check(launch_spd_solve<T>({shape, count, a, b}, on_device, stream_.get()));
      copy(solution.x + first * shape.solution_size(), on_device.x, pieces * x_bytes, cudaMemcpyDeviceToHost);
      copy(solution.info + first, on_device.info, pieces * sizeof(std::int32_t), cudaMemcpyDeviceToHost);
      copy(solution.backward_error + first, on_device.backward_error, pieces * sizeof(T), cudaMemcpyDeviceToHost);
    }
    stream_.synchronize();
  }

  /// Systems that the device takes at once; makes capacity_ large enough for them.
  std::int64_t piece_size(std::int64_t count, std::size_t bytes_per_system) {
    const auto needed = [bytes_per_system](std::int64_t systems) {
      return static_cast<std::size_t>(systems) * bytes_per_system + arrays * alignment;
    };
    if (needed(count) <= capacity_) return count;
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    // memory_ is given back before it grows. An eighth stays free for the runtime and for other plans.
    const std::size_t usable = std::max(capacity_, (free_bytes + capacity_) / 8 * 7);
    const std::size_t fitting = usable > needed(1) ? (usable - arrays * alignment) / bytes_per_system : 1;
    const std::int64_t piece = std::min(count, static_cast<std::int64_t>(fitting));
    capacity_ = std::max(capacity_, needed(piece));
    return piece;
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }

  int device_;
  Stream stream_;
  DeviceMemory memory_;
  std::size_t capacity_ = 0;  // bytes that memory_ holds
};

}  // namespace

template <class T>
cudaError_t launch_spd_solve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, cudaStream_t stream) {
  cudaError_t status = launch_spd_inspect(batch, solution.info, stream);
  if (status == cudaSuccess) status = launch_spd_gauss_jordan(batch, solution, stream);
  if (status == cudaSuccess) status = launch_spd_backward_error(batch, solution, stream);
  if (status == cudaSuccess) status = launch_spd_resolve(batch, solution, stream);
  return status;
}

template cudaError_t launch_spd_solve(const SpdBatch<float>&, const SpdSolution<float>&, cudaStream_t);
template cudaError_t launch_spd_solve(const SpdBatch<double>&, const SpdSolution<double>&, cudaStream_t);

std::unique_ptr<SpdSolver> make_cuda_spd_solver(int device, const SpdOptions&) {
  (void)cuda_device(device);  // throws where there is none
  const DeviceGuard guard(device);
  return std::make_unique<CudaSpdSolver>(device);
}

}  // namespace smallbatch
