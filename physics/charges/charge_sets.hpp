// Generated sets of charges. A pair (seed, problem) gives the same charges on every machine, in any order and any split
// of a batch. Each random number is a hash (splitmix64) of the seed, the problem and the number's index, so the
// generator has no state.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace smallbatch {

/// A set of n charges: position (n,3) in angstrom, charge (n) in units of e.
struct ChargeSet {
  std::vector<double> position, charge;
};

/// Parameters of random_charges(). Charges are uniform in [-1, 1) e, and positions are uniform in the box [corner,
/// corner + edges), in angstrom.
struct RandomCharges {
  std::int64_t count = 0;
  std::array<double, 3> corner{}, edges{};
  bool neutral = true;  ///< the mean charge is subtracted from every charge
};
ChargeSet random_charges(std::uint64_t seed, std::int64_t problem, const RandomCharges& wanted);

/// Returns a random number of charges, uniform in [least, most], for batches with problems of different sizes.
std::int64_t random_charge_count(std::uint64_t seed, std::int64_t problem, std::int64_t least, std::int64_t most);

/// Rock salt around an ion of +1 e at (0,0,0). Ions lie at (i,j,k) * distance for -half_edge <= i,j,k <= half_edge,
/// with alternating signs. Ions on faces, edges and corners of the cube have the weights 1/2, 1/4 and 1/8 (H. M. Evjen,
/// Phys. Rev. 39, 675 (1932)). As half_edge grows, the potential of all other ions at the centre tends to
/// -1.7475645946331822 e/distance (Madelung's constant).
ChargeSet rock_salt_cube(int half_edge, double distance);

}  // namespace smallbatch
