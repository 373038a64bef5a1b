// All stages run on one stream. A kernel writes the matrices, launch_spd_solve solves them, and a kernel turns the
// solutions into charges. Then direct_sum computes the maps. Only wanted maps are copied to the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <smallbatch/core/error.hpp>
#include <smallbatch/core/units.hpp>
#include <smallbatch/physics/direct_sum.cuh>
#include <smallbatch/solvers/spd_solver.cuh>

#include "equilibration.hpp"
#include "stages.hpp"

namespace charge_equilibration {
namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  throw smallbatch::Error(
      status == cudaErrorMemoryAllocation ? smallbatch::ErrorKind::out_of_memory : smallbatch::ErrorKind::no_device,
      "the GPU failed", cudaGetErrorString(status), "Run it with --device cpu, or fewer copies.");
}

struct Free {
  void operator()(void* memory) const noexcept { cudaFree(memory); }
};
template <class T>
using DeviceArray = std::unique_ptr<T[], Free>;

template <class T>
DeviceArray<T> device_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(count, 1) * sizeof(T)));
  return DeviceArray<T>(static_cast<T*>(memory));
}
template <class T>
DeviceArray<T> on_device(const std::vector<T>& values) {
  DeviceArray<T> array = device_array<T>(values.size());
  check(cudaMemcpy(array.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return array;
}
template <class T>
void to_host(T* to, const DeviceArray<T>& from, std::size_t count) {
  check(cudaMemcpy(to, from.get(), count * sizeof(T), cudaMemcpyDeviceToHost));
}

class Stream {
 public:
  Stream() { check(cudaStreamCreate(&stream_)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// One block of threads per molecule, one column of the matrix per lane.
__global__ void fill_systems(SiteBatch sites, double* a, double* b) {
  const std::int64_t molecule = blockIdx.x;
  const int column = threadIdx.x;
  for (int row = threadIdx.y; row < site_capacity; row += blockDim.y)
    a[(molecule * site_capacity + row) * site_capacity + column] = matrix_element(sites, molecule, row, column);
  if (threadIdx.y == 0) b[molecule * site_capacity + column] = rhs_element(sites, molecule, column);
}

/// One thread per molecule.
__global__ void fill_charges(SiteBatch sites, const double* x, double* charge) {
  const std::int64_t molecule = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (molecule < sites.count) store_charges(sites, molecule, x + molecule * site_capacity, charge);
}

}  // namespace

std::string gpu_name() {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {};
  return properties.name;
}

Answer run_on_gpu(const Job& job, const TakeMaps& take_maps) {
  const MoleculeSet& set = job.molecules;
  const smallbatch::SpdShape shape{site_capacity, 1};
  const auto count = static_cast<std::size_t>(set.count()), all_sites = static_cast<std::size_t>(set.sites());
  const Stream stream;
  Answer answer;
  answer.charge.resize(all_sites);
  answer.info.resize(count);
  answer.backward_error.resize(count);
  const auto a = device_array<double>(count * static_cast<std::size_t>(shape.matrix_size()));
  const auto b = device_array<double>(count * site_capacity), x = device_array<double>(count * site_capacity);
  const auto charge = device_array<double>(all_sites), backward_error = device_array<double>(count);
  const auto info = device_array<std::int32_t>(count), map_info = device_array<std::int32_t>(molecules_per_block);
  const auto workspace = device_array<std::byte>(smallbatch::spd_workspace_bytes<double>(shape, set.count(), {}));
  const auto potential = device_array<float>(static_cast<std::size_t>(molecules_per_block * job.shape.points()));

  Clock clock;
  const auto offset = on_device(set.offset);
  const auto position = on_device(set.position), electronegativity = on_device(set.electronegativity);
  const auto hardness = on_device(set.hardness), net_charge = on_device(set.net_charge);
  const auto origin = on_device(repeated(job.origin, molecules_per_block));
  const auto spacing = on_device(repeated(job.spacing, molecules_per_block));
  const SiteBatch sites{set.count(),    offset.get(),     position.get(), electronegativity.get(),
                        hardness.get(), net_charge.get(), set.kappa};
  answer.seconds.copies = clock.lap();

  // The stream keeps the stages in order. The host waits after each stage only to measure its time.
  fill_systems<<<static_cast<unsigned>(count), dim3(site_capacity, 8), 0, stream.get()>>>(sites, a.get(), b.get());
  check(cudaGetLastError());
  stream.synchronize();
  answer.seconds.matrices = clock.lap();

  check(smallbatch::launch_spd_solve<double>({shape, sites.count, a.get(), b.get()},
                                             {x.get(), info.get(), backward_error.get()}, {}, workspace.get(),
                                             stream.get()));
  stream.synchronize();
  answer.seconds.solve = clock.lap();

  fill_charges<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream.get()>>>(sites, x.get(), charge.get());
  check(cudaGetLastError());
  stream.synchronize();
  answer.seconds.charges = clock.lap();

  const smallbatch::PotentialOptions options{smallbatch::Singular::infinite,
                                             smallbatch::potential_unit_factor(smallbatch::PotentialUnit::volt)};
  for (std::int64_t first = 0; first < sites.count; first += molecules_per_block) {
    const std::int64_t molecules = std::min(molecules_per_block, sites.count - first);
    const std::int64_t charges =
        set.offset[static_cast<std::size_t>(first + molecules)] - set.offset[static_cast<std::size_t>(first)];
    clock.lap();
    check(
        smallbatch::direct_sum<float>({molecules, sites.offset + first, sites.position, charge.get()},
                                      smallbatch::LatticeBatch{job.shape, origin.get(), spacing.get(), 0, job.shape.nz},
                                      {charges, 0, *std::min_element(job.spacing.begin(), job.spacing.end())}, options,
                                      {potential.get(), map_info.get()}, nullptr, stream.get()));
    stream.synchronize();
    answer.seconds.maps += clock.lap();
    if (first >= job.maps_wanted) continue;
    auto maps = map_block(job, first, std::min(molecules, job.maps_wanted - first));
    clock.lap();
    to_host(maps.potential.data(), potential, maps.potential.size());
    to_host(maps.info.data(), map_info, maps.info.size());
    answer.seconds.copies += clock.lap();
    take_maps(maps);
  }
  clock.lap();
  to_host(answer.charge.data(), charge, all_sites);
  to_host(answer.info.data(), info, count);
  to_host(answer.backward_error.data(), backward_error, count);
  answer.seconds.copies += clock.lap();
  return answer;
}

}  // namespace charge_equilibration
