// A function of two atoms for the tests of sums over pairs, on the host and on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "physics/charges/charge_sets.hpp"

namespace smallbatch::testing {

struct Atom {
  float x, y, z;
};

/// Returns 4 (r^-12 - r^-6). nvcc compiles this function for the device through --expt-relaxed-constexpr.
struct LennardJones {
  constexpr float operator()(const Atom& a, const Atom& b) const {
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    const float r2 = dx * dx + dy * dy + dz * dz, per_r2 = 1 / r2, per_r6 = per_r2 * per_r2 * per_r2;
    return 4 * (per_r6 * per_r6 - per_r6);
  }
};

inline std::vector<Atom> atoms(std::int64_t stream, std::int64_t count) {
  const ChargeSet set = random_charges(77, stream, {count, {0, 0, 0}, {30, 30, 30}, false});
  std::vector<Atom> all;
  for (std::size_t i = 0; i < set.charge.size(); ++i)
    all.push_back({static_cast<float>(set.position[3 * i]), static_cast<float>(set.position[3 * i + 1]),
                   static_cast<float>(set.position[3 * i + 2])});
  return all;
}

}  // namespace smallbatch::testing
