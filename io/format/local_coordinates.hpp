// Lengths in another unit than angstrom, far from 0: x u - o v, rounded once, for a coordinate x in the unit u and an
// origin o in the unit v. Multiplied first, each product would be rounded to its own last digit, which may be larger
// than what a problem's coordinates differ by. A unit in angstrom is the float64 that it is. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/two_difference.hpp"

namespace smallbatch {

using ExactPlace = std::array<Exact, 3>;  ///< in angstrom

/// A coordinate in angstrom: as it is rounded, and what that took from it.
Exact exact_coordinate(double number, double unit_in_angstrom);

/// Of problems with triples offset[k] .. offset[k+1]-1 in that unit, the first triple; 0 where there is none.
std::vector<ExactPlace> first_places(const double* triples, const std::vector<std::int64_t>& offset,
                                     double unit_in_angstrom);

/// Turns these triples into triples in angstrom from the origin of their problem.
void count_from(const std::vector<ExactPlace>& origin, const std::vector<std::int64_t>& offset, double unit_in_angstrom,
                double* triples);

}  // namespace smallbatch
