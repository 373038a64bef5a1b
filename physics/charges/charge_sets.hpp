// Sets of charges to generate: the same (seed, problem) gives the same charges on every machine, in any order and any
// split of a batch, because each number is a hash of its place (splitmix64) and no state runs on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace smallbatch {

/// position (n,3) in angstrom, charge (n) in units of e.
struct ChargeSet {
  std::vector<double> position, charge;
};

/// Charges uniform in [-1, 1) e, positions uniform in the box [corner, corner + edges).
struct RandomCharges {
  std::int64_t count = 0;
  std::array<double, 3> corner{}, edges{};
  bool neutral = true;  ///< the mean charge is taken off every charge
};
ChargeSet random_charges(std::uint64_t seed, std::int64_t problem, const RandomCharges& wanted);

/// A number of charges, uniform in [least, most], for ragged batches.
std::int64_t random_charge_count(std::uint64_t seed, std::int64_t problem, std::int64_t least, std::int64_t most);

/// Rock salt around an ion of +1 e at (0,0,0): ions at (i,j,k) * distance for -half_edge <= i,j,k <= half_edge, signs
/// alternating, those on faces, edges and corners of the cube weighted 1/2, 1/4, 1/8 (H. M. Evjen, Phys. Rev. 39, 675
/// (1932)). The potential of all others at the centre tends to -1.7475645946331822 e/distance, Madelung's constant.
ChargeSet rock_salt_cube(int half_edge, double distance);

}  // namespace smallbatch
