// Converts coordinates far from 0 to angstrom and subtracts an origin: `x u - o v`, rounded once. Here x is a
// coordinate in the unit u, and o an origin in the unit v. If each product were rounded first, its error might exceed
// the differences between a problem's coordinates. The length of a unit in angstrom is a float64, which counts as
// exact. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/two_difference.hpp"

namespace smallbatch {

using ExactPosition = std::array<Exact, 3>;  ///< in angstrom

/// Returns a coordinate in angstrom: its rounded value, and the rounding error.
Exact exact_coordinate(double number, double unit_in_angstrom);

/// Returns the first triple of each problem, or zeros for a problem without triples. Problem k has triples offset[k]
/// ... offset[k + 1] - 1.
std::vector<ExactPosition> first_positions(const double* triples, const std::vector<std::int64_t>& offset,
                                           double unit_in_angstrom);

/// Converts triples in place to angstrom, counted from the origin of their problem.
void count_from(const std::vector<ExactPosition>& origin, const std::vector<std::int64_t>& offset,
                double unit_in_angstrom, double* triples);

}  // namespace smallbatch
