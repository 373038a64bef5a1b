#include "bench/potential_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compare.hpp"
#include "physics/charges/charge_sets.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

namespace {

template <class V>
V* upload(DeviceMemory& memory, const V* values, std::int64_t count) {
  V* const to = memory.reserve<V>(static_cast<std::size_t>(count));
  check(cudaMemcpy(to, values, static_cast<std::size_t>(count) * sizeof(V), cudaMemcpyHostToDevice));
  check(cudaDeviceSynchronize());  // a small copy may still run after the call; streams do not wait for it
  return to;
}

std::vector<float> download(const float* from, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  check(cudaMemcpy(values.data(), from, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

/// Errors at the targets so far.
struct Errors {
  double worst = 0, squares = 0, squares_of_values = 0;

  void add(double got, double expected, double bound) {
    worst = std::max(worst, error_over_bound(got, expected, bound));
    squares += (got - expected) * (got - expected);
    squares_of_values += expected * expected;
  }
  [[nodiscard]] double relative_l2() const { return std::sqrt(squares / squares_of_values); }
};

}  // namespace

PotentialProblem::PotentialProblem(const LatticeShape& lattice_shape, const std::vector<std::int64_t>& charges)
    : shape(lattice_shape), count(static_cast<std::int64_t>(charges.size())) {
  offset_.push_back(0);
  RandomCharges wanted;
  wanted.edges = {spacing * static_cast<double>(shape.nx), spacing * static_cast<double>(shape.ny),
                  spacing * static_cast<double>(shape.nz)};
  for (std::int64_t p = 0; p < count; ++p) {
    wanted.count = charges[static_cast<std::size_t>(p)];
    const ChargeSet set = random_charges(1, p, wanted);
    position_.insert(position_.end(), set.position.begin(), set.position.end());
    charge_.insert(charge_.end(), set.charge.begin(), set.charge.end());
    offset_.push_back(offset_.back() + wanted.count);
  }
  origins_.assign(static_cast<std::size_t>(3 * count), 0.0);
  spacings_.assign(static_cast<std::size_t>(3 * count), spacing);
}

ChargeBatch PotentialProblem::charges() const {
  ChargeBatch batch;
  batch.count = count;
  batch.offset = offset_.data();
  batch.position = position_.data();
  batch.charge = charge_.data();
  return batch;
}

LatticeBatch PotentialProblem::lattice() const { return {shape, origins_.data(), spacings_.data(), 0, shape.nz}; }

DevicePotentialProblem::DevicePotentialProblem(const LatticeShape& lattice_shape,
                                               const std::vector<std::int64_t>& charges_of_problems, bool with_field)
    : PotentialProblem(lattice_shape, charges_of_problems), device_charges(charges()), device_lattice(lattice()) {
  const ChargeBatch from = charges();
  std::vector<float4> single(static_cast<std::size_t>(charge_count()));
  for (std::size_t i = 0; i < single.size(); ++i)
    single[i] = {static_cast<float>(from.position[3 * i]), static_cast<float>(from.position[3 * i + 1]),
                 static_cast<float>(from.position[3 * i + 2]), static_cast<float>(from.charge[i])};
  single_charges = upload(single_, single.data(), charge_count());
  device_charges.offset = upload(offset_, from.offset, count + 1);
  device_charges.position = upload(position_, from.position, 3 * charge_count());
  device_charges.charge = upload(charge_, from.charge, charge_count());
  device_lattice.origin = upload(origin_, lattice().origin, 3 * count);
  device_lattice.spacing = upload(spacing_, lattice().spacing, 3 * count);
  result.potential = potential_.reserve<float>(static_cast<std::size_t>(points()));
  result.info = info_.reserve<std::int32_t>(static_cast<std::size_t>(count));
  if (with_field) result.field = field_.reserve<float>(3 * static_cast<std::size_t>(points()));
  check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
}

void DevicePotentialProblem::poison(cudaStream_t stream) const {
  const auto bytes = static_cast<std::size_t>(points()) * sizeof(float);
  check(cudaMemsetAsync(result.potential, 0xff, bytes, stream));
  if (result.field != nullptr) check(cudaMemsetAsync(result.field, 0xff, 3 * bytes, stream));
}

Judgement DevicePotentialProblem::judge(bool with_field) const {
  const std::vector<float> potential = download(result.potential, points());
  const std::vector<float> field = with_field ? download(result.field, 3 * points()) : std::vector<float>();
  return judge_potential<float>(charges(), lattice(), potential, field);
}

template <class T>
Judgement judge_potential(const ChargeBatch& charges, const LatticeBatch& lattice, std::span<const T> potential,
                          std::span<const T> field) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto is_finite = [](T value) { return std::isfinite(value); };
  if (!std::all_of(potential.begin(), potential.end(), is_finite) ||
      !std::all_of(field.begin(), field.end(), is_finite))
    return {infinity, infinity};

  constexpr std::int64_t samples = 1000;
  const std::int64_t per_problem = lattice.plane_count * lattice.shape.plane_points();
  const std::int64_t before = lattice.first_plane * lattice.shape.plane_points();  // points before these planes
  const auto all = static_cast<std::int64_t>(potential.size());
  const auto place_of = [&](std::int64_t sample) { return sample * (all - 1) / (samples - 1); };
  Errors of_potential, of_field;
  for (std::int64_t sample = 0; sample < samples;) {
    const std::int64_t problem = place_of(sample) / per_problem;
    std::vector<std::int64_t> targets;
    for (; sample < samples && place_of(sample) / per_problem == problem; ++sample)
      targets.push_back(place_of(sample) % per_problem + before);
    std::vector<ReferencePotential> expected(targets.size());
    reference_potential(charges, lattice, problem, {}, scalar_type_of<T>, targets, expected);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto at = static_cast<std::size_t>(problem * per_problem + targets[i] - before);
      of_potential.add(potential[at], expected[i].potential, expected[i].bound);
      if (field.empty()) continue;
      for (std::size_t k = 0; k < 3; ++k)
        of_field.add(field[3 * at + k], expected[i].field[k], expected[i].field_bound);
    }
  }
  if (field.empty()) return {of_potential.worst, of_potential.relative_l2()};
  return {std::max(of_potential.worst, of_field.worst), std::max(of_potential.relative_l2(), of_field.relative_l2())};
}

template Judgement judge_potential(const ChargeBatch&, const LatticeBatch&, std::span<const float>,
                                   std::span<const float>);
template Judgement judge_potential(const ChargeBatch&, const LatticeBatch&, std::span<const double>,
                                   std::span<const double>);

}  // namespace smallbatch
