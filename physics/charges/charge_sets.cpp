#include "physics/charges/charge_sets.hpp"

#include <cstdlib>

#include "physics/hashed_numbers.hpp"

namespace smallbatch {

namespace {

/// Returns a random number, uniform in [0, 1) and a multiple of 2^-53.
double unit_at(std::uint64_t seed, std::int64_t problem, std::uint64_t stream, std::int64_t index) {
  return static_cast<double>(HashedStream(seed, problem, stream).bits(index) >> 11U) * 0x1p-53;
}

enum RandomStream : std::uint64_t { positions, charges, counts };

}  // namespace

ChargeSet random_charges(std::uint64_t seed, std::int64_t problem, const RandomCharges& wanted) {
  ChargeSet set;
  set.position.resize(static_cast<std::size_t>(3 * wanted.count));
  set.charge.resize(static_cast<std::size_t>(wanted.count));
  double sum = 0;
  for (std::int64_t i = 0; i < wanted.count; ++i) {
    for (std::int64_t axis = 0; axis < 3; ++axis)
      set.position[3 * i + axis] =
          wanted.corner[axis] + wanted.edges[axis] * unit_at(seed, problem, positions, 3 * i + axis);
    set.charge[i] = 2 * unit_at(seed, problem, charges, i) - 1;
    sum += set.charge[i];
  }
  if (wanted.neutral && wanted.count > 0)
    for (double& charge : set.charge) charge -= sum / static_cast<double>(wanted.count);
  return set;
}

std::int64_t random_charge_count(std::uint64_t seed, std::int64_t problem, std::int64_t least, std::int64_t most) {
  const auto choices = static_cast<double>(most - least + 1);
  return least + static_cast<std::int64_t>(choices * unit_at(seed, problem, counts, 0));
}

ChargeSet rock_salt_cube(int half_edge, double distance) {
  ChargeSet set;
  const auto weight = [half_edge](int index) { return std::abs(index) == half_edge ? 0.5 : 1.0; };
  for (int k = -half_edge; k <= half_edge; ++k)
    for (int j = -half_edge; j <= half_edge; ++j)
      for (int i = -half_edge; i <= half_edge; ++i) {
        const double sign = (i + j + k) % 2 == 0 ? 1 : -1;
        set.position.insert(set.position.end(), {i * distance, j * distance, k * distance});
        set.charge.push_back(sign * weight(i) * weight(j) * weight(k));
      }
  return set;
}

}  // namespace smallbatch
