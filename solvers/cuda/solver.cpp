// The cuda plan: owns a stream and device memory, copies systems in, launches spd_solver.cuh, copies the results out. A
// batch that does not fit into the free memory is worked through in pieces.
#include <algorithm>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "core/error.hpp"
#include "solvers/spd_solver.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

class CudaSpdSolver final : public SpdSolver {
 public:
  /// The caller has made `device` current for the time of construction.
  CudaSpdSolver(int device, const SpdOptions& options) : device_(device), options_(options) {}
  void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) override { run(batch, solution); }
  void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) override { run(batch, solution); }
  [[nodiscard]] std::string description() const override {
    return "cuda:" + std::to_string(device_) + " " + std::string(spd_method_name(options_.method));
  }
  [[nodiscard]] double kernel_seconds() const override { return kernel_seconds_; }

 private:
  static constexpr std::size_t alignment = 256;  // of each array in the memory

  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
    check_spd_batch(batch, solution);
    if (batch.count == 0) return;
    const DeviceGuard guard(device_);
    const SpdShape& shape = batch.shape;
    const auto a_bytes = static_cast<std::size_t>(shape.matrix_size()) * sizeof(T);
    const auto b_bytes = static_cast<std::size_t>(shape.rhs_size()) * sizeof(T);
    const auto x_bytes = static_cast<std::size_t>(shape.solution_size()) * sizeof(T);
    const auto number_bytes = static_cast<std::size_t>(bytes_of_numbers(scalar_type_of<T>, shape));
    constexpr std::size_t arrays = 5 + spd_number_count<T>;  // A, b, x, info, the workspace and the numbers
    const auto workspace_bytes = [&](std::int64_t count) { return spd_workspace_bytes<T>(shape, count, options_); };
    const bool one_a = batch.a_stride == 0, one_b = batch.b_stride == 0;  // for all systems
    const std::size_t shared = (one_a ? a_bytes : 0) + (one_b ? b_bytes : 0);
    const std::size_t per_system = (one_a ? 0 : a_bytes) + (one_b ? 0 : b_bytes) + x_bytes + number_bytes;
    const auto needed = [&](std::int64_t count) {
      return static_cast<std::size_t>(count) * per_system + workspace_bytes(count) + shared + arrays * alignment;
    };
    const std::int64_t piece = piece_size(batch.count, needed);
    const auto systems = static_cast<std::size_t>(piece);

    std::byte* free = memory_.reserve<std::byte>(capacity_);
    const auto carve = [&free](std::size_t bytes) {
      std::byte* array = free;
      free += (bytes + alignment - 1) / alignment * alignment;
      return array;
    };
    T* a = reinterpret_cast<T*>(carve(one_a ? a_bytes : systems * a_bytes));
    T* b = reinterpret_cast<T*>(carve(one_b ? b_bytes : systems * b_bytes));
    SpdSolution<T> on_device;
    on_device.x = shape.determinant_only ? nullptr : reinterpret_cast<T*>(carve(systems * x_bytes));
    on_device.info = reinterpret_cast<std::int32_t*>(carve(systems * sizeof(std::int32_t)));
    for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
      if (solution.*number.in_solution != nullptr && number.is_of(shape))
        on_device.*number.in_solution = reinterpret_cast<V*>(carve(systems * sizeof(V)));
    });
    std::byte* const workspace = carve(workspace_bytes(piece));
    const SpdBatch<T> batch_on_device{shape, 0, a, b, one_a ? 0 : tight, one_b ? 0 : tight};

    if (one_a) copy_systems(a, a_bytes, batch.a, shape.matrix_size(), 1);
    if (one_b) copy_systems(b, b_bytes, batch.b, shape.rhs_size(), 1);
    for (std::int64_t first = 0; first < batch.count; first += piece) {
      SpdBatch<T> part = batch_on_device;
      part.count = std::min(piece, batch.count - first);
      if (!one_a) copy_systems(a, a_bytes, batch.a + first * batch.a_step(), batch.a_step(), part.count);
      if (!one_b && b_bytes > 0) copy_systems(b, b_bytes, batch.b + first * batch.b_step(), batch.b_step(), part.count);
      timer_.begin(stream_);
      check(launch_spd_solve<T>(part, on_device, options_, workspace, stream_.get()));
      timer_.end(stream_);
      const auto count = static_cast<std::size_t>(part.count);
      if (x_bytes > 0) {
        const std::int64_t step = solution.x_step(shape);
        check(cudaMemcpy2DAsync(solution.x + first * step, static_cast<std::size_t>(step) * sizeof(T), on_device.x,
                                x_bytes, x_bytes, count, cudaMemcpyDeviceToHost, stream_.get()));
      }
      const auto copy_back = [&]<class V>(V* to, const V* from) {
        if (to != nullptr && from != nullptr)
          check(cudaMemcpyAsync(to + first, from, count * sizeof(V), cudaMemcpyDeviceToHost, stream_.get()));
      };
      copy_back(solution.info, on_device.info);
      for_each_spd_number<T>(
          [&](const auto& number) { copy_back(solution.*number.in_solution, on_device.*number.in_solution); });
      kernel_seconds_ += timer_.seconds();
    }
    stream_.synchronize();
  }

  /// Systems that the device takes at once, of `count`; makes the memory large enough for them. needed(systems): bytes.
  template <class Needed>
  std::int64_t piece_size(std::int64_t count, Needed&& needed) {
    if (needed(count) <= capacity_) return count;
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    // memory_ is given back before it grows. Another plan may do the same now, and an eighth each stays free.
    const std::size_t usable = std::max(capacity_, (free_bytes + capacity_) / 8 * 3);
    std::int64_t piece = 1, too_many = count + 1;  // at least one, should there be no memory for it
    while (too_many - piece > 1) {
      const std::int64_t middle = piece + (too_many - piece) / 2;
      (needed(middle) <= usable ? piece : too_many) = middle;
    }
    if (const std::size_t wanted = std::max(capacity_, needed(piece)); wanted > capacity_) {
      capacity_ = 0;  // should there be no memory of that size
      (void)memory_.reserve<std::byte>(wanted);
      capacity_ = wanted;
    }
    return piece;
  }

  /// Systems of `bytes` bytes each, `step` numbers apart on the host, one right after the other on the device.
  template <class T>
  void copy_systems(T* to, std::size_t bytes, const T* from, std::int64_t step, std::int64_t count) const {
    check(cudaMemcpy2DAsync(to, bytes, from, static_cast<std::size_t>(step) * sizeof(T), bytes,
                            static_cast<std::size_t>(count), cudaMemcpyHostToDevice, stream_.get()));
  }

  int device_;
  SpdOptions options_;
  Stream stream_;
  StreamTimer timer_;
  double kernel_seconds_ = 0;
  DeviceMemory memory_;
  std::size_t capacity_ = 0;  // bytes that memory_ holds
};

}  // namespace

std::unique_ptr<SpdSolver> make_cuda_spd_solver(int device, const SpdOptions& options) {
  (void)cuda_device(device);  // throws where there is none
  const DeviceGuard guard(device);
  return std::make_unique<CudaSpdSolver>(device, options);
}

}  // namespace smallbatch
