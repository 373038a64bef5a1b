#include "physics/charge_sets.hpp"

#include <cstdlib>

namespace smallbatch {

namespace {

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014): a bijection of 64 bits that mixes them all.
std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// 64 bits for one place: number `index` of `stream` in problem `problem`.
std::uint64_t bits_at(std::uint64_t seed, std::int64_t problem, std::uint64_t stream, std::int64_t index) {
  return mix(mix(mix(mix(seed) ^ static_cast<std::uint64_t>(problem)) ^ stream) ^ static_cast<std::uint64_t>(index));
}

/// Uniform in [0, 1), a multiple of 2^-53.
double unit_at(std::uint64_t seed, std::int64_t problem, std::uint64_t stream, std::int64_t index) {
  return static_cast<double>(bits_at(seed, problem, stream, index) >> 11U) * 0x1p-53;
}

enum Stream : std::uint64_t { positions, charges, counts };

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
