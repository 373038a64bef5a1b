// Calls with device arrays. The class Pieces divides a workspace into arrays. If the workspace is a null pointer,
// Pieces only counts the bytes that the arrays need.
#include "core/device_cuda.hpp"

#include <string>

#include "c/device.hpp"
#include "physics/charge_layouts.cuh"
#include "physics/correlation.cuh"
#include "physics/direct_sum.cuh"
#include "physics/pair_energies.cuh"
#include "solvers/layouts.cuh"
#include "solvers/spd_solver.cuh"

namespace smallbatch {

namespace {

/// Divides a workspace into arrays that begin at multiples of 256 bytes.
class Pieces {
 public:
  explicit Pieces(void* workspace) : begin_(static_cast<std::byte*>(workspace)) {}
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  void* take_bytes(std::size_t bytes) {
    void* const place = begin_ == nullptr ? nullptr : begin_ + bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
    return place;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* begin_;
  std::size_t bytes_ = 0;
};

/// Throws as check() does, except for cudaErrorInvalidValue. The launch functions return this error if arguments do not
/// fit together. CUDA returns it for launches that it does not accept. For this error, the exception has `problem` and
/// `remedy`.
void check_launch(cudaError_t status, const std::string& problem = "the call is too large for a launch",
                  const std::string& remedy = "Pass fewer problems per call.") {
  if (status != cudaErrorInvalidValue) return check(status);
  (void)cudaGetLastError();
  refuse(problem, std::string("CUDA says: ") + cudaGetErrorString(status), remedy);
}
void check_systems_launch(cudaError_t status) {
  if (status == cudaErrorNotSupported)
    refuse("systems->sizes is given", "no kernel on the device supports sizes in such a call",
           "Give host arrays, or pass systems of one size per call.");
  check_launch(status, "arrays of the call overlap, or it is too large for a launch",
               "Give x separate memory, or exactly that of b, or pass fewer systems per call.");
}

cudaStream_t stream_of(const Context& context) { return static_cast<cudaStream_t>(context.stream); }

/// The solvers' arguments for a call's systems. Some arrays lie in the workspace: gathers_a, gathers_b and scatters_x
/// say which arrays must be copied to the workspace or back.
template <class T>
struct DeviceSystems {
  DeviceSystems(const SystemsCall<T>& call, void* workspace) {
    Pieces pieces(workspace);
    batch = batch_of(call);
    factored = factored_batch_of(call);
    solution = call.numbers;
    if (reads_a(call.operation)) {
      if (const auto there = canonical_spd_matrices(call.n, call.count, call.a, call.triangle)) {
        batch.a = there->data;
        batch.a_stride = there->stride;
        batch.shape.storage = there->storage;
      } else {
        batch.shape.storage = gathered_spd_storage(call.triangle);
        batch.a = gathered_a = pieces.take<T>(matrices_in(call.a, call.count) * batch.shape.matrix_size());
        batch.a_stride = call.a.is_shared() ? 0 : tight;
        gathers_a = true;
      }
    }
    if (reads_b(call.operation)) {
      const auto there = canonical_spd_rhs(call.n, call.nrhs, call.count, call.b);
      // launch_spd_solve() reads b while it writes x, so b is copied if x is b. launch_spd_solve_factored() needs no
      // copy.
      if (there && !(call.is_in_place && call.operation == SystemsOperation::solve)) {
        batch.b = there->data;
        batch.b_stride = there->stride;
      } else {
        batch.b = gathered_b = pieces.take<T>(matrices_in(call.b, call.count) * batch.shape.rhs_size());
        batch.b_stride = call.b.is_shared() ? 0 : tight;
        gathers_b = true;
      }
      factored.b = batch.b;
      factored.b_stride = batch.b_stride;
    }
    if (writes_x(call.operation)) {
      if (const auto there = canonical_spd_rhs(call.n, call.columns_of_x(), call.count, call.x)) {
        solution.x = there->data;
        solution.x_stride = there->stride;
      } else {
        solution.x = pieces.take<T>(call.count * call.n * call.columns_of_x());
        scatters_x = true;
      }
    }
    of_solver =
        pieces.take_bytes(has_options(call.operation) ? spd_workspace_bytes<T>(batch.shape, call.count, call.options)
                                                      : spd_factor_workspace_bytes<T>(call.n, call.count));
    bytes = pieces.bytes();
  }

  SpdBatch<T> batch;
  SpdFactoredBatch<T> factored;
  SpdSolution<T> solution;
  bool gathers_a = false, gathers_b = false, scatters_x = false;
  T* gathered_a = nullptr;
  T* gathered_b = nullptr;
  void* of_solver = nullptr;
  std::size_t bytes = 0;
};

/// The charges as direct_sum() and pair_energies() take them. Offsets, positions and charges lie in the workspace if
/// the caller gives another layout.
struct DeviceCharges {
  DeviceCharges(const ChargesCall& call, Pieces& pieces)
      : charges{call.count, call.offset, call.position, call.charge, call.group, call.width} {
    if (call.offset == nullptr) charges.offset = even_offset_ = pieces.take<std::int64_t>(call.count + 1);
    if (call.xyzq == nullptr) return;
    charges.position = position_ = pieces.take<double>(3 * call.charge_count);
    charges.charge = charge_ = pieces.take<double>(call.charge_count);
  }

  void enqueue(const ChargesCall& call, cudaStream_t stream) const {
    if (call.offset == nullptr)
      check_launch(
          launch_even_offsets(call.count, {share_of_each(call.charge_count, call.count), even_offset_}, stream));
    if (call.xyzq == nullptr) return;
    if (call.xyzq_type == ScalarType::float32)
      split(static_cast<const float*>(call.xyzq), call.charge_count, stream);
    else
      split(static_cast<const double*>(call.xyzq), call.charge_count, stream);
  }

  ChargeBatch charges;

 private:
  template <class T>
  void split(const T* xyzq, std::int64_t count, cudaStream_t stream) const {
    check_launch(launch_split_charges<T>(count, {xyzq, position_, charge_}, stream));
  }

  std::int64_t* even_offset_ = nullptr;
  double* position_ = nullptr;
  double* charge_ = nullptr;
};

template <class T>
struct DevicePotential {
  DevicePotential(const PotentialCall<T>& call, void* workspace) : pieces(workspace), charges(call.charges, pieces) {
    targets = call.targets;
    sizes = {call.charges.charge_count, call.point_count, call.smallest_spacing};
    if (targets.kind == TargetKind::points && targets.points.offset == nullptr)
      targets.points.offset = even_point_offset = pieces.take<std::int64_t>(call.charges.count + 1);
    of_sum = pieces.take_bytes(direct_sum_workspace_bytes(charges.charges, targets, sizes, call.result));
  }

  Pieces pieces;
  DeviceCharges charges;
  TargetBatch targets;
  DirectSumSizes sizes;
  std::int64_t* even_point_offset = nullptr;
  void* of_sum = nullptr;
};

struct DevicePairs {
  DevicePairs(const PairEnergyCall& call, void* workspace)
      : pieces(workspace),
        charges(call.charges, pieces),
        of_sum(pieces.take_bytes(pair_energies_workspace_bytes(call.charges.count, call.charges.charge_count))) {}
  Pieces pieces;
  DeviceCharges charges;
  void* of_sum;
};

}  // namespace

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device));
  return device;
}

void synchronize(const Context& context) {
  const DeviceGuard guard(context.backend.device);
  check(cudaStreamSynchronize(stream_of(context)));
}

template <class T>
std::size_t device_workspace_bytes(const Context& context, const SystemsCall<T>& call) {
  const DeviceGuard guard(context.backend.device);  // the shared memory of the device decides
  return call.count == 0 ? 0 : DeviceSystems<T>(call, nullptr).bytes;
}
template <class T>
std::size_t device_workspace_bytes(const PotentialCall<T>& call) {
  return DevicePotential<T>(call, nullptr).pieces.bytes();
}
std::size_t device_workspace_bytes(const PairEnergyCall& call) { return DevicePairs(call, nullptr).pieces.bytes(); }
std::size_t device_workspace_bytes(const CorrelationCall& call) {
  return correlation_workspace_bytes(call.signal, call.sums);
}

template <class T>
void enqueue(const Context& context, const SystemsCall<T>& call, void* workspace) {
  if (call.count == 0) return;
  const DeviceGuard guard(context.backend.device);
  cudaStream_t const stream = stream_of(context);
  const DeviceSystems<T> systems(call, workspace);
  if (systems.gathers_a)
    check_systems_launch(launch_gather_spd_matrices(call.n, matrices_in(call.a, call.count), call.a, call.triangle,
                                                    systems.gathered_a, stream));
  if (systems.gathers_b)
    check_systems_launch(
        launch_gather_spd_rhs(call.n, call.nrhs, matrices_in(call.b, call.count), call.b, systems.gathered_b, stream));
  switch (call.operation) {
    case SystemsOperation::factor:
      check_systems_launch(launch_spd_factor(systems.batch, call.factors, stream, systems.of_solver));
      break;
    case SystemsOperation::solve_factored:
      check_systems_launch(launch_spd_solve_factored(systems.factored, systems.solution, stream, systems.of_solver));
      break;
    default:
      check_systems_launch(launch_spd_solve(systems.batch, systems.solution, call.options, systems.of_solver, stream));
  }
  if (systems.scatters_x)
    check_systems_launch(
        launch_scatter_spd_solutions<T>(call.n, call.columns_of_x(), call.count, systems.solution.x, call.x, stream));
}

template <class T>
void enqueue(const Context& context, const PotentialCall<T>& call, void* workspace) {
  const DeviceGuard guard(context.backend.device);
  cudaStream_t const stream = stream_of(context);
  const DevicePotential<T> potential(call, workspace);
  potential.charges.enqueue(call.charges, stream);
  if (potential.even_point_offset != nullptr)
    check_launch(launch_even_offsets(call.charges.count,
                                     {share_of_each(call.point_count, call.charges.count), potential.even_point_offset},
                                     stream));
  check_launch(direct_sum(potential.charges.charges, potential.targets, potential.sizes, call.options, call.result,
                          potential.of_sum, stream));
}

void enqueue(const Context& context, const PairEnergyCall& call, void* workspace) {
  const DeviceGuard guard(context.backend.device);
  const DevicePairs pairs(call, workspace);
  pairs.charges.enqueue(call.charges, stream_of(context));
  check_launch(pair_energies(pairs.charges.charges, call.charges.charge_count, call.options, call.result, pairs.of_sum,
                             stream_of(context)));
}

void enqueue(const Context& context, const CorrelationCall& call, void* workspace) {
  const DeviceGuard guard(context.backend.device);
  check_launch(correlate(call.signal, call.sums, workspace, stream_of(context)));
}

template std::size_t device_workspace_bytes(const Context&, const SystemsCall<float>&);
template std::size_t device_workspace_bytes(const Context&, const SystemsCall<double>&);
template std::size_t device_workspace_bytes(const PotentialCall<float>&);
template std::size_t device_workspace_bytes(const PotentialCall<double>&);
template void enqueue(const Context&, const SystemsCall<float>&, void*);
template void enqueue(const Context&, const SystemsCall<double>&, void*);
template void enqueue(const Context&, const PotentialCall<float>&, void*);
template void enqueue(const Context&, const PotentialCall<double>&, void*);

}  // namespace smallbatch
