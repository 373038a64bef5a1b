#include "app/blocks.hpp"

#include <algorithm>

namespace smallbatch {

namespace {
std::int64_t bytes_of(ScalarType type) { return type == ScalarType::float32 ? 4 : 8; }
constexpr std::int64_t bytes_per_charge = 4 * sizeof(double);
constexpr std::int64_t bytes_per_verdict = 5;  // int8 and float32

/// Answer, backward error, rcond, smallest pivot; ln det A; status, repaired pivots.
std::int64_t solution_bytes(const SolveSet& set) {
  const std::int64_t numbers = set.shape.solution_size() + (set.shape.determinant_only ? 2 : 3);
  return bytes_of(set.type) * numbers + 8 + 4 + 4;
}
}  // namespace

std::int64_t bytes_per_system(const SolveSet& set) {
  return bytes_of(set.type) * (set.shape.matrix_size() + set.shape.rhs_size()) + solution_bytes(set);
}

std::int64_t result_bytes(const SolveSet& set) { return set.batch * (solution_bytes(set) + bytes_per_verdict); }

std::int64_t result_bytes(const PotentialSet& set, ScalarType precision) {
  return set.batch * (set.shape.points() * bytes_of(precision) + 4 + 6 * 8 + bytes_per_verdict);
}

std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision) {
  const std::int64_t charges = set.offset[range.first + range.count] - set.offset[range.first];
  return range.count * range.plane_count * set.shape.plane_points() * bytes_of(precision) + charges * bytes_per_charge;
}

double pairs(const PotentialSet& set) {
  return static_cast<double>(set.shape.points()) * static_cast<double>(set.charges());
}

std::vector<SystemRange> cut_into_blocks(const SolveSet& set, std::int64_t block_bytes) {
  const std::int64_t systems = std::max<std::int64_t>(1, block_bytes / bytes_per_system(set));
  std::vector<SystemRange> ranges;
  for (std::int64_t first = 0; first < set.batch; first += systems)
    ranges.push_back({first, std::min(systems, set.batch - first)});
  return ranges;
}

std::vector<PlaneRange> cut_into_blocks(const PotentialSet& set, ScalarType precision, std::int64_t block_bytes,
                                        double block_pairs) {
  std::vector<PlaneRange> ranges;
  const std::int64_t nz = set.shape.nz;
  const std::int64_t plane_bytes = set.shape.plane_points() * bytes_of(precision);
  auto charges_of = [&](std::int64_t p) { return set.offset[p + 1] - set.offset[p]; };
  auto bytes_of_problem = [&](std::int64_t p) { return plane_bytes * nz + charges_of(p) * bytes_per_charge; };
  auto pairs_of_plane = [&](std::int64_t p) {
    return static_cast<double>(set.shape.plane_points()) * static_cast<double>(charges_of(p));
  };
  for (std::int64_t p = 0; p < set.batch;) {
    const double problem_pairs = pairs_of_plane(p) * static_cast<double>(nz);
    if (bytes_of_problem(p) > block_bytes || problem_pairs > block_pairs) {  // planes of one problem
      std::int64_t planes = std::max<std::int64_t>(1, block_bytes / plane_bytes);
      if (problem_pairs > block_pairs)
        planes =
            std::min(planes, std::max<std::int64_t>(1, static_cast<std::int64_t>(block_pairs / pairs_of_plane(p))));
      for (std::int64_t z = 0; z < nz; z += planes) ranges.push_back({p, 1, z, std::min(planes, nz - z)});
      ++p;
      continue;
    }
    PlaneRange range{p, 0, 0, nz};
    std::int64_t bytes = 0;
    double total_pairs = 0;
    for (; p < set.batch; ++p, ++range.count) {
      bytes += bytes_of_problem(p);
      total_pairs += pairs_of_plane(p) * static_cast<double>(nz);
      if (range.count > 0 && (bytes > block_bytes || total_pairs > block_pairs)) break;
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace smallbatch
