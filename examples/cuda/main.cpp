// Solves small systems and evaluates the potential of charges in device memory, on the caller's own stream, as a
// simulation would. The calls of smallbatch allocate no memory and do not wait. Ends with 77 without a GPU, and with 1
// if the answers are wrong.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime_api.h>

#include <smallbatch/physics/direct_sum.cuh>
#include <smallbatch/solvers/spd_solver.cuh>

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

// Returns a copy of `values` in device memory, where a simulation would have its arrays.
template <class T>
T* on_device(const std::vector<T>& values) {
  T* array = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&array), values.size() * sizeof(T)));
  check(cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return array;
}

template <class T>
std::vector<T> from_device(const T* array, std::size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

void* workspace_of(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) check(cudaMalloc(&memory, bytes));
  return memory;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("there is no GPU here\n");
    return 77;
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));

  // 100,000 systems share one matrix, stored once: 2 on the diagonal, -1/n elsewhere. b = A (1, 1, ..., 1).
  constexpr int n = 16;
  constexpr std::int64_t count = 100000;
  std::vector<float> a(n * n, -1.0F / n);
  for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = 2;
  smallbatch::SpdBatch<float> batch;
  batch.shape.n = n;
  batch.count = count;
  batch.a = on_device(a);
  batch.a_stride = 0;
  batch.b = on_device(std::vector<float>(count * n, 2 - static_cast<float>(n - 1) / n));
  smallbatch::SpdSolution<float> solution;
  solution.x = on_device(std::vector<float>(count * n));
  solution.info = on_device(std::vector<std::int32_t>(count, -1));
  const smallbatch::SpdOptions method;
  void* const solver_memory = workspace_of(smallbatch::spd_workspace_bytes<float>(batch.shape, count, method));
  check(smallbatch::launch_spd_solve(batch, solution, method, solver_memory, stream));

  // One charge of 2 e lies in the middle of a lattice with a spacing of 1 angstrom. At distance r, V = 2/r e/angstrom.
  constexpr int points = 33;
  smallbatch::ChargeBatch charges;
  charges.count = 1;
  charges.offset = on_device(std::vector<std::int64_t>{0, 1});
  charges.position = on_device(std::vector<double>{16.5, 16.5, 16.5});
  charges.charge = on_device(std::vector<double>{2});
  smallbatch::LatticeBatch lattice;
  lattice.shape = {points, points, points};
  lattice.origin = on_device(std::vector<double>{0, 0, 0});
  lattice.spacing = on_device(std::vector<double>{1, 1, 1});
  lattice.plane_count = points;
  smallbatch::PotentialResult<float> map;
  map.potential = on_device(std::vector<float>(points * points * points));
  map.info = on_device(std::vector<std::int32_t>(1, -1));
  smallbatch::DirectSumSizes sizes;
  sizes.charges = 1;
  sizes.smallest_spacing = 1;
  const smallbatch::PotentialOptions unit;
  void* const map_memory = workspace_of(smallbatch::direct_sum_workspace_bytes(charges, lattice, sizes, map));
  check(smallbatch::direct_sum(charges, lattice, sizes, unit, map, map_memory, stream));

  check(cudaStreamSynchronize(stream));
  double error = 0;
  for (const std::int32_t status : from_device(solution.info, count))
    if (status != 0) error = 1;
  for (const float x : from_device(solution.x, count * n))
    error = std::isnan(x) ? INFINITY : std::fmax(error, std::fabs(x - 1.0));  // std::fmax would ignore a NaN
  std::printf("largest error of x: %.1e\n", error);
  const double corner = from_device(map.potential, 1)[0], expected = 2 / (16.5 * std::sqrt(3.0));
  std::printf("V in the corner: %.6f e/angstrom, expected %.6f\n", corner, expected);
  const bool is_right = error < 1e-5 && std::fabs(corner - expected) < 1e-6;
  check(cudaStreamDestroy(stream));
  return is_right ? 0 : 1;
}
