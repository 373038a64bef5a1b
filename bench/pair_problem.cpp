#include "bench/pair_problem.hpp"

#include <cmath>
#include <limits>

#include "core/compare.hpp"
#include "physics/charges/charge_sets.hpp"
#include "physics/charges/pair_energy_referee.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

namespace {

constexpr double edge = 200;  // angstrom

template <class V>
V* upload(DeviceMemory& memory, const V* values, std::int64_t count) {
  V* const to = memory.reserve<V>(static_cast<std::size_t>(count));
  check(cudaMemcpy(to, values, static_cast<std::size_t>(count) * sizeof(V), cudaMemcpyHostToDevice));
  check(cudaDeviceSynchronize());  // a small copy may still run after the call; streams do not wait for it
  return to;
}

}  // namespace

PairProblem::PairProblem(std::int64_t row_count, std::int64_t column_count)
    : rows(row_count), columns(column_count), offset_{0, row_count + column_count} {
  ChargeSet set = random_charges(1, 0, {rows + columns, {0, 0, 0}, {edge, edge, edge}});
  position_ = std::move(set.position);
  charge_ = std::move(set.charge);
  for (std::int64_t i = 0; i < rows + columns; ++i) group_.push_back(i < rows ? 1 : 2);
}

ChargeBatch PairProblem::charges() const { return {1, offset_, position_.data(), charge_.data(), group_.data()}; }

Judgement PairProblem::judge(double energy) const {
  if (!is_known_) {
    const ReferencePairEnergy reference = reference_pair_energy(charges(), 0, {}, false, 0);
    expected_ = reference.energy;
    bound_ = reference.bound;
    is_known_ = true;
  }
  return {error_over_bound(energy, expected_, bound_), std::abs(energy - expected_) / std::abs(expected_)};
}

DevicePairProblem::DevicePairProblem(std::int64_t row_count, std::int64_t column_count)
    : PairProblem(row_count, column_count), device_charges(charges()) {
  const ChargeBatch from = charges();
  const std::int64_t all = rows + columns;
  std::vector<float4> single;
  for (std::int64_t i = 0; i < all; ++i)
    single.push_back({static_cast<float>(from.position[3 * i]), static_cast<float>(from.position[3 * i + 1]),
                      static_cast<float>(from.position[3 * i + 2]), static_cast<float>(from.charge[i])});
  a = upload(a_, single.data(), rows);
  b = upload(b_, single.data() + rows, columns);
  device_charges.offset = upload(offset_, from.offset, 2);
  device_charges.position = upload(position_, from.position, 3 * all);
  device_charges.charge = upload(charge_, from.charge, all);
  device_charges.group = upload(group_, from.group, all);
  energy = energy_.reserve<double>(1);
  info = info_.reserve<std::int32_t>(1);
  partial = partial_.reserve<double>(partial_sums);
  workspace = workspace_.reserve<char>(pair_energies_workspace_bytes(1, all));
  check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
}

void DevicePairProblem::poison(cudaStream_t stream) const {
  check(cudaMemsetAsync(energy, 0xff, sizeof(double), stream));
}

Judgement DevicePairProblem::judge_energy() const {
  double found = std::numeric_limits<double>::quiet_NaN();
  check(cudaMemcpy(&found, energy, sizeof(found), cudaMemcpyDeviceToHost));
  return judge(found);
}

}  // namespace smallbatch
