// The solver of the cuda backend. It owns a stream and device memory, copies systems in, calls the launches of
// spd_solver.cuh, and copies results out. A batch that does not fit into the free memory is processed in pieces.
#include <algorithm>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "core/error.hpp"
#include "solvers/by_size.hpp"
#include "solvers/cuda/kernels.cuh"
#include "solvers/spd_solver.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

class CudaSpdSolver final : public SpdSolver {
 public:
  /// Makes a solver. The caller makes `device` current during construction.
  CudaSpdSolver(int device, const SpdOptions& options) : device_(device), options_(options) {}
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
  [[nodiscard]] std::string description() const override {
    return "cuda:" + std::to_string(device_) + " " + std::string(spd_method_name(options_.method));
  }
  [[nodiscard]] double kernel_seconds() const override { return kernel_seconds_; }

 private:
  static constexpr std::size_t alignment = 256;  // of each array in the device memory

  template <class T>
  void run(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
    check_spd_batch(batch, solution);
    if (batch.count == 0) return;
    if (batch.sizes != nullptr && !takes_sizes(batch.shape, options_)) {
      constexpr std::int64_t bytes_at_once = std::int64_t{64} << 20;
      const std::int64_t systems = std::max<std::int64_t>(1, bytes_at_once / (batch.shape.matrix_size() * sizeof(T)));
      solve_by_size<T>(batch, solution, {systems, 1, 0},
                       [&](const SpdBatch<T>& alike, const SpdSolution<T>& to) { run(alike, to); });
      return;
    }
    const DeviceGuard guard(device_);
    const SpdShape& shape = batch.shape;
    const auto a_bytes = static_cast<std::size_t>(shape.matrix_size()) * sizeof(T);
    const auto b_bytes = static_cast<std::size_t>(shape.rhs_size()) * sizeof(T);
    const auto x_bytes = static_cast<std::size_t>(shape.solution_size()) * sizeof(T);
    const auto number_bytes = static_cast<std::size_t>(bytes_of_numbers(scalar_type_of<T>, shape));
    constexpr std::size_t arrays = 6 + spd_number_count<T>;  // A, b, sizes, x, info, the workspace and the numbers
    const auto workspace_bytes = [&](std::int64_t count) { return spd_workspace_bytes<T>(shape, count, options_); };
    const bool one_a = batch.a_stride == 0, one_b = batch.b_stride == 0;  // shared by all systems
    const std::size_t shared = (one_a ? a_bytes : 0) + (one_b ? b_bytes : 0);
    const std::size_t size_bytes = batch.sizes != nullptr ? sizeof(std::int32_t) : 0;
    const std::size_t per_system = (one_a ? 0 : a_bytes) + (one_b ? 0 : b_bytes) + size_bytes + x_bytes + number_bytes;
    const auto needed = [&](std::int64_t count) {
      return static_cast<std::size_t>(count) * per_system + workspace_bytes(count) + shared + arrays * alignment;
    };
    const std::int64_t piece = piece_size(batch.count, needed);
    const auto systems = static_cast<std::size_t>(piece);

    Carver carve{memory_.reserve<std::byte>(capacity_)};
    T* a = reinterpret_cast<T*>(carve(one_a ? a_bytes : systems * a_bytes));
    T* b = reinterpret_cast<T*>(carve(one_b ? b_bytes : systems * b_bytes));
    auto* const sizes = reinterpret_cast<std::int32_t*>(carve(systems * size_bytes));
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
      if (batch.sizes != nullptr) {
        copy_systems(sizes, size_bytes, batch.sizes + first, 1, part.count);
        part.sizes = sizes;
      }
      timer_.begin(stream_);
      check(launch_spd_solve<T>(part, on_device, options_, workspace, stream_.get()));
      timer_.end(stream_);
      const auto count = static_cast<std::size_t>(part.count);
      if (x_bytes > 0) {
        const std::int64_t step = solution.x_step(shape);
        copy_back(solution.x + first * step, step, on_device.x, x_bytes, part.count);
      }
      const auto copy_numbers = [&]<class V>(V* to, const V* from) {
        if (to != nullptr) copy_to_host(to + first, from, count, stream_);
      };
      copy_numbers(solution.info, on_device.info);
      for_each_spd_number<T>(
          [&](const auto& number) { copy_numbers(solution.*number.in_solution, on_device.*number.in_solution); });
      kernel_seconds_ += timer_.seconds();
    }
    stream_.synchronize();
  }

  template <class T>
  void run(const SpdBatch<T>& batch, const SpdFactors<T>& factors) {
    check_spd_factors(batch, factors);
    if (batch.count == 0) return;
    const DeviceGuard guard(device_);
    const SpdShape& shape = batch.shape;
    const std::int64_t step = factors.factors_step(shape.n), size = std::int64_t{shape.n} * (shape.n + 1) / 2;
    const bool one_a = batch.a_stride == 0;
    const auto a_bytes = static_cast<std::size_t>(shape.matrix_size()) * sizeof(T);
    const auto factors_bytes = static_cast<std::size_t>(size) * sizeof(T);
    constexpr std::size_t arrays = 6;  // A, factors, info, two numbers and the workspace
    const auto needed = [&](std::int64_t count) {
      const std::size_t each =
          (one_a ? 0 : a_bytes) + factors_bytes + sizeof(std::int32_t) + sizeof(T) + sizeof(double);
      return static_cast<std::size_t>(count) * each + a_bytes + arrays * alignment +
             spd_factor_workspace_bytes<T>(shape.n, count);
    };
    const std::int64_t piece = piece_size(batch.count, needed);
    const auto systems = static_cast<std::size_t>(piece);
    Carver carve{memory_.reserve<std::byte>(capacity_)};
    T* const a = reinterpret_cast<T*>(carve((one_a ? 1 : systems) * a_bytes));
    SpdFactors<T> on_device;
    on_device.factors = reinterpret_cast<T*>(carve(systems * factors_bytes));
    on_device.info = reinterpret_cast<std::int32_t*>(carve(systems * sizeof(std::int32_t)));
    if (factors.smallest_pivot != nullptr) on_device.smallest_pivot = reinterpret_cast<T*>(carve(systems * sizeof(T)));
    if (factors.log_determinant != nullptr)
      on_device.log_determinant = reinterpret_cast<double*>(carve(systems * sizeof(double)));
    std::byte* const workspace = carve(spd_factor_workspace_bytes<T>(shape.n, piece));

    if (one_a) copy_systems(a, a_bytes, batch.a, shape.matrix_size(), 1);
    for (std::int64_t first = 0; first < batch.count; first += piece) {
      const SpdBatch<T> part{shape, std::min(piece, batch.count - first), a, nullptr, one_a ? 0 : tight};
      if (!one_a) copy_systems(a, a_bytes, batch.a + first * batch.a_step(), batch.a_step(), part.count);
      timer_.begin(stream_);
      check(launch_spd_factor<T>(part, on_device, stream_.get(), workspace));
      timer_.end(stream_);
      const auto count = static_cast<std::size_t>(part.count);
      copy_back(factors.factors + first * step, step, on_device.factors, factors_bytes, part.count);
      copy_to_host(factors.info + first, on_device.info, count, stream_);
      if (factors.smallest_pivot != nullptr)
        copy_to_host(factors.smallest_pivot + first, on_device.smallest_pivot, count, stream_);
      if (factors.log_determinant != nullptr)
        copy_to_host(factors.log_determinant + first, on_device.log_determinant, count, stream_);
      kernel_seconds_ += timer_.seconds();
    }
    stream_.synchronize();
  }

  template <class T>
  void run(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution) {
    check_spd_factored(batch, solution);
    if (batch.count == 0) return;
    const DeviceGuard guard(device_);
    const SpdShape shape = batch.shape();
    const bool one_factor = batch.factors_stride == 0, one_b = batch.b_stride == 0;
    const auto factors_bytes = static_cast<std::size_t>(shape.matrix_size()) * sizeof(T);
    const auto b_bytes = static_cast<std::size_t>(shape.rhs_size()) * sizeof(T);
    constexpr std::size_t info_bytes = sizeof(std::int32_t),
                          arrays = 6;  // factors, b, x, two arrays of info and the workspace
    const auto needed = [&](std::int64_t count) {
      const std::size_t each = (one_factor ? 0 : factors_bytes) + (one_b ? 1 : 2) * b_bytes + 2 * info_bytes;
      return static_cast<std::size_t>(count) * each + factors_bytes + b_bytes + arrays * alignment +
             spd_factor_workspace_bytes<T>(batch.n, count);
    };
    const std::int64_t piece = piece_size(batch.count, needed);
    const auto systems = static_cast<std::size_t>(piece);
    Carver carve{memory_.reserve<std::byte>(capacity_)};
    T* const factors = reinterpret_cast<T*>(carve((one_factor ? 1 : systems) * factors_bytes));
    T* const b = reinterpret_cast<T*>(carve((one_b ? 1 : systems) * b_bytes));
    auto* const factors_info = reinterpret_cast<std::int32_t*>(carve(systems * info_bytes));
    SpdSolution<T> on_device;
    on_device.x = reinterpret_cast<T*>(carve(systems * b_bytes));
    on_device.info = reinterpret_cast<std::int32_t*>(carve(systems * info_bytes));
    std::byte* const workspace = carve(spd_factor_workspace_bytes<T>(batch.n, piece));

    if (one_factor) {
      copy_systems(factors, factors_bytes, batch.factors, shape.matrix_size(), 1);
      copy_systems(factors_info, info_bytes, batch.factors_info, 1, 1);
    }
    if (one_b) copy_systems(b, b_bytes, batch.b, shape.rhs_size(), 1);
    for (std::int64_t first = 0; first < batch.count; first += piece) {
      const SpdFactoredBatch<T> part{batch.n,
                                     batch.nrhs,
                                     std::min(piece, batch.count - first),
                                     factors,
                                     factors_info,
                                     b,
                                     one_factor ? 0 : tight,
                                     one_b ? 0 : tight};
      if (!one_factor) {
        const std::int64_t step = batch.factors_step();
        copy_systems(factors, factors_bytes, batch.factors + first * step, step, part.count);
        copy_systems(factors_info, info_bytes, batch.factors_info + first, 1, part.count);
      }
      if (!one_b) copy_systems(b, b_bytes, batch.b + first * batch.b_step(), batch.b_step(), part.count);
      timer_.begin(stream_);
      check(launch_spd_solve_factored<T>(part, on_device, stream_.get(), workspace));
      timer_.end(stream_);
      const std::int64_t step = solution.x_step(shape);
      copy_back(solution.x + first * step, step, on_device.x, b_bytes, part.count);
      copy_to_host(solution.info + first, on_device.info, static_cast<std::size_t>(part.count), stream_);
      kernel_seconds_ += timer_.seconds();
    }
    stream_.synchronize();
  }

  /// Returns how many of `count` systems the device takes at a time, and makes the memory large enough for them. The
  /// function needed(systems) returns bytes.
  template <class Needed>
  std::int64_t piece_size(std::int64_t count, Needed&& needed) {
    if (needed(count) <= capacity_) return count;
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes));
    // memory_ is freed before it grows, so its bytes count as free. A solver takes up to three eighths of the free
    // memory, because another solver may grow at the same time. A quarter then stays free.
    const std::size_t usable = std::max(capacity_, (free_bytes + capacity_) / 8 * 3);
    std::int64_t piece = 1, too_many = count + 1;  // at least one system, even if there is no memory for it
    while (too_many - piece > 1) {
      const std::int64_t middle = piece + (too_many - piece) / 2;
      (needed(middle) <= usable ? piece : too_many) = middle;
    }
    if (const std::size_t wanted = std::max(capacity_, needed(piece)); wanted > capacity_) {
      capacity_ = 0;  // stays 0 if reserve() throws
      (void)memory_.reserve<std::byte>(wanted);
      capacity_ = wanted;
    }
    return piece;
  }

  /// Copies systems of `bytes` bytes each to the device. On the host, each begins `step` elements after the previous
  /// one. On the device, they follow each other without gaps.
  template <class T>
  void copy_systems(T* to, std::size_t bytes, const T* from, std::int64_t step, std::int64_t count) const {
    check(cudaMemcpy2DAsync(to, bytes, from, static_cast<std::size_t>(step) * sizeof(T), bytes,
                            static_cast<std::size_t>(count), cudaMemcpyHostToDevice, stream_.get()));
  }

  /// Copies systems back to the host.
  template <class T>
  void copy_back(T* to, std::int64_t step, const T* from, std::size_t bytes, std::int64_t count) const {
    check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(step) * sizeof(T), from, bytes, bytes,
                            static_cast<std::size_t>(count), cudaMemcpyDeviceToHost, stream_.get()));
  }

  /// Returns arrays in the device's memory, one after the other.
  struct Carver {
    std::byte* free;
    std::byte* operator()(std::size_t bytes) {
      std::byte* const array = free;
      free += (bytes + alignment - 1) / alignment * alignment;
      return array;
    }
  };

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
  (void)cuda_device(device);  // throws if there is no such GPU
  const DeviceGuard guard(device);
  return std::make_unique<CudaSpdSolver>(device, options);
}

}  // namespace smallbatch
