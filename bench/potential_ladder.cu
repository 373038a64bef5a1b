// The potential on a lattice, from one point per thread to production. After V. Volkov, "Unrolling parallel loops"
// (2011), and Stone et al., J. Comput. Chem. 28, 2618 (2007).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/ladder.hpp"
#include "core/compare.hpp"
#include "core/device_cuda.hpp"
#include "physics/charge_sets.hpp"
#include "physics/direct_sum.cuh"
#include "physics/potential.hpp"

namespace smallbatch {

namespace {

/// Thread <-> lattice point; charges stream through the caches; one sum in single precision.
__global__ void one_point_per_thread(const float4* charges, int count, float spacing, int edge, float* potential) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= edge) return;
  const float px = x * spacing, py = y * spacing, pz = z * spacing;
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    const float4 c = charges[i];
    const float dx = px - c.x, dy = py - c.y, dz = pz - c.z;
    sum += c.w * rsqrtf(dx * dx + dy * dy + dz * dz);
  }
  potential[(static_cast<std::int64_t>(z) * edge + y) * edge + x] = sum;
}

/// One lattice with its charges, on the host and on the device.
struct Problem {
  Problem(std::int64_t edge, std::int64_t count) : shape{edge, edge, edge}, offset{0, count} {
    const double length = spacing[0] * static_cast<double>(edge);
    RandomCharges wanted;
    wanted.count = count;
    wanted.edges = {length, length, length};
    charges = random_charges(1, 0, wanted);
    std::vector<float4> single(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < single.size(); ++i)
      single[i] = {static_cast<float>(charges.position[3 * i]), static_cast<float>(charges.position[3 * i + 1]),
                   static_cast<float>(charges.position[3 * i + 2]), static_cast<float>(charges.charge[i])};
    device_single = upload(memory_single, single);
    device_charges = {1, upload(memory_offset, offset), upload(memory_position, charges.position),
                      upload(memory_charge, charges.charge)};
    device_lattice = {shape, upload(memory_origin, origin), upload(memory_spacing, spacing), 0, edge};
    device_result = {memory_potential.reserve<float>(static_cast<std::size_t>(shape.points())),
                     memory_info.reserve<std::int32_t>(1)};
    scratch = {memory_shifted.reserve<ShiftedCharge<float>>(single.size()), memory_status.reserve<ProblemStatus>(1),
               memory_near.reserve<std::int64_t>(single.size()), memory_near_count.reserve<unsigned long long>(1)};
  }

  template <class V>
  static V* upload(DeviceMemory& memory, const std::vector<V>& values) {
    V* target = memory.reserve<V>(values.size());
    check(cudaMemcpy(target, values.data(), values.size() * sizeof(V), cudaMemcpyHostToDevice));
    return target;
  }

  /// Worst error over the stated bound at 1000 points spread over the lattice; every point must be written.
  [[nodiscard]] double worst_error() const {
    std::vector<float> values(static_cast<std::size_t>(shape.points()));
    check(cudaMemcpy(values.data(), device_result.potential, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (const float value : values)
      if (std::isnan(value)) return std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> points;
    for (std::int64_t i = 0; i < 1000; ++i) points.push_back(i * (shape.points() - 1) / 999);
    std::vector<ReferencePotential> expected(points.size());
    const ChargeBatch batch{1, offset.data(), charges.position.data(), charges.charge.data()};
    const LatticeBatch lattice{shape, origin.data(), spacing.data(), 0, shape.nz};
    reference_potential(batch, lattice, 0, {}, ScalarType::float32, points, expected);
    double worst = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      worst = std::max(worst, error_over_bound(values[static_cast<std::size_t>(points[i])], expected[i].potential,
                                               expected[i].bound));
    return worst;
  }

  LatticeShape shape;
  std::vector<std::int64_t> offset;
  std::vector<double> origin{0, 0, 0}, spacing{0.5, 0.5, 0.5};
  ChargeSet charges;
  DeviceMemory memory_single, memory_offset, memory_position, memory_charge, memory_origin, memory_spacing,
      memory_potential, memory_info, memory_shifted, memory_status, memory_near, memory_near_count;
  float4* device_single;
  ChargeBatch device_charges;
  LatticeBatch device_lattice;
  PotentialResult<float> device_result;
  DirectSumScratch<float> scratch;
};

}  // namespace

Ladder potential_ladder(std::int64_t edge, std::int64_t charges) {
  auto problem = std::make_shared<Problem>(edge, charges);
  Ladder ladder;
  ladder.title = "potential, " + std::to_string(edge) + "^3 lattice, " + std::to_string(charges) + " charges, float32";
  ladder.unit = "pairs";
  ladder.work = static_cast<double>(problem->shape.points()) * static_cast<double>(charges);
  ladder.min_bytes = static_cast<double>(problem->shape.points()) * sizeof(float);
  ladder.poison = [problem](cudaStream_t stream) {
    check(cudaMemsetAsync(problem->device_result.potential, 0xff,
                          static_cast<std::size_t>(problem->shape.points()) * sizeof(float), stream));
  };
  ladder.check = [problem] { return problem->worst_error(); };
  ladder.steps = {
      {"one_point_per_thread", "each charge is read for one point; one sum in single precision", nullptr,
       [problem](cudaStream_t stream) {
         const auto n = static_cast<unsigned>(problem->shape.nx);
         one_point_per_thread<<<dim3((n + 127) / 128, n, n), 128, 0, stream>>>(
             problem->device_single, static_cast<int>(problem->offset[1]), static_cast<float>(problem->spacing[0]),
             static_cast<int>(n), problem->device_result.potential);
       }},
      {"direct_sum", "production: several points per thread, charges in shared memory, sums in double precision",
       nullptr,
       [problem](cudaStream_t stream) {
         check(direct_sum(problem->device_charges, problem->offset[1], problem->device_lattice, {},
                          problem->device_result, problem->scratch, stream));
       }},
  };
  return ladder;
}

}  // namespace smallbatch
