// This file is compiled without contraction of multiplications and additions, because exact_coordinate() needs the
// error of the rounded product.
#include "io/format/local_coordinates.hpp"

#include <cmath>
#include <cstddef>

namespace smallbatch {
namespace {

/// Returns `a - b`. The low parts are added before the sum is rounded to a double.
double difference(const Exact& a, const Exact& b) {
  const Exact of_rounded = two_difference(a.high, b.high);
  return of_rounded.high + (of_rounded.low + (a.low - b.low));
}

}  // namespace

Exact exact_coordinate(double number, double unit_in_angstrom) {
  const double rounded = number * unit_in_angstrom;
  return {rounded, std::fma(number, unit_in_angstrom, -rounded)};
}

std::vector<ExactPosition> first_positions(const double* triples, const std::vector<std::int64_t>& offset,
                                           double unit_in_angstrom) {
  std::vector<ExactPosition> positions(offset.size() - 1);
  for (std::size_t k = 0; k < positions.size(); ++k)
    for (std::size_t axis = 0; axis < 3 && offset[k] < offset[k + 1]; ++axis)
      positions[k][axis] = exact_coordinate(triples[3 * static_cast<std::size_t>(offset[k]) + axis], unit_in_angstrom);
  return positions;
}

void count_from(const std::vector<ExactPosition>& origin, const std::vector<std::int64_t>& offset,
                double unit_in_angstrom, double* triples) {
  for (std::size_t k = 0; k < origin.size(); ++k)
    for (double *triple = triples + 3 * offset[k], *const end = triples + 3 * offset[k + 1]; triple != end; triple += 3)
      for (std::size_t axis = 0; axis < 3; ++axis)
        triple[axis] = difference(exact_coordinate(triple[axis], unit_in_angstrom), origin[k][axis]);
}

}  // namespace smallbatch
