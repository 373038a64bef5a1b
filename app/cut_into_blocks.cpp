#include "app/cut_into_blocks.hpp"

#include <algorithm>

namespace smallbatch {

namespace {
std::int64_t bytes_of(ScalarType type) { return type == ScalarType::float32 ? 4 : 8; }
constexpr std::int64_t bytes_per_charge = 4 * sizeof(double);
constexpr std::int64_t bytes_per_point = 3 * sizeof(double);
constexpr std::int64_t bytes_per_verdict = 5;  // int8 and float32

/// Answer, status and numbers.
std::int64_t solution_bytes(const SolveSet& set) {
  return bytes_of(set.type) * set.shape.solution_size() + bytes_of_numbers(set.type, set.shape);
}

/// V, and E where it is wanted.
std::int64_t bytes_per_target(const PotentialSet& set, ScalarType precision) {
  return bytes_of(precision) * (set.has_field ? 4 : 1);
}

std::int64_t targets_of(const PotentialSet& set, std::int64_t first, std::int64_t count) {
  return set.targets_before(first + count) - set.targets_before(first);
}
std::int64_t charges_of(const PotentialSet& set, std::int64_t first, std::int64_t count) {
  return set.offset[static_cast<std::size_t>(first + count)] - set.offset[static_cast<std::size_t>(first)];
}

/// Values and summary of a lattice's plane.
std::int64_t bytes_per_plane(const PotentialSet& set, ScalarType precision) {
  return set.shape.plane_points() * bytes_per_target(set, precision) +
         static_cast<std::int64_t>(sizeof(PotentialSummary));
}

/// Values, charges, points and summaries of whole problems.
std::int64_t bytes_of_problems(const PotentialSet& set, std::int64_t first, std::int64_t count, ScalarType precision) {
  const std::int64_t charges = charges_of(set, first, count) * bytes_per_charge;
  if (set.targets == TargetKind::lattice) return count * set.shape.nz * bytes_per_plane(set, precision) + charges;
  const std::int64_t targets = targets_of(set, first, count);
  return targets * bytes_per_target(set, precision) + charges +
         (set.targets == TargetKind::points ? targets * bytes_per_point : 0);
}

double pairs_of_problem(const PotentialSet& set, std::int64_t p) {
  return static_cast<double>(targets_of(set, p, 1)) * static_cast<double>(charges_of(set, p, 1));
}
}  // namespace

std::int64_t bytes_per_system(const SolveSet& set) {
  return bytes_of(set.type) * (set.shape.matrix_size() + set.shape.rhs_size()) + solution_bytes(set);
}

std::int64_t result_bytes(const SolveSet& set) { return set.batch * (solution_bytes(set) + bytes_per_verdict); }

std::int64_t result_bytes(const PotentialSet& set, ScalarType precision) {
  // Status; V_min, V_max and V_mean; energy; origin and spacing, or offsets.
  const std::int64_t per_problem =
      4 + 3 * 8 + (set.has_groups ? 8 : 0) + bytes_per_verdict + (set.targets == TargetKind::lattice ? 6 * 8 : 8);
  return set.targets_before(set.batch) * bytes_per_target(set, precision) + set.batch * per_problem +
         (set.targets == TargetKind::lattice ? 0 : 8);
}

std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision) {
  if (set.targets != TargetKind::lattice) return bytes_of_problems(set, range.first, range.count, precision);
  return range.count * range.plane_count * bytes_per_plane(set, precision) +
         charges_of(set, range.first, range.count) * bytes_per_charge;
}

double pairs(const PotentialSet& set) {
  double total = 0;
  for (std::int64_t p = 0; p < set.batch; ++p) total += pairs_of_problem(set, p);
  return total;
}

std::int64_t usual_block_bytes(const SolveSet& set, std::int64_t least, unsigned threads, bool verifies) {
  constexpr std::int64_t systems = 64;
  const std::int64_t to_verify = verifies ? systems * bytes_per_system(set) : 0;
  return std::max({least, std::min(set.chunk_bytes * threads, 2 * cpu_block_bytes),
                   std::min(to_verify * threads, cpu_block_bytes)});
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
  const bool on_lattices = set.targets == TargetKind::lattice;
  const std::int64_t nz = on_lattices ? set.shape.nz : 0;
  const std::int64_t plane_bytes = bytes_per_plane(set, precision);
  for (std::int64_t p = 0; p < set.batch;) {
    const double problem_pairs = pairs_of_problem(set, p);
    if (on_lattices && (bytes_of_problems(set, p, 1, precision) > block_bytes || problem_pairs > block_pairs)) {
      std::int64_t planes = std::max<std::int64_t>(1, block_bytes / plane_bytes);  // planes of one problem
      if (problem_pairs > block_pairs)
        planes = std::min(planes, std::max<std::int64_t>(1, static_cast<std::int64_t>(block_pairs / problem_pairs *
                                                                                      static_cast<double>(nz))));
      for (std::int64_t z = 0; z < nz; z += planes) ranges.push_back({p, 1, z, std::min(planes, nz - z)});
      ++p;
      continue;
    }
    PlaneRange range{p, 0, 0, nz};
    std::int64_t bytes = 0;
    double total_pairs = 0;
    for (; p < set.batch; ++p, ++range.count) {
      bytes += bytes_of_problems(set, p, 1, precision);
      total_pairs += pairs_of_problem(set, p);
      if (range.count > 0 && (bytes > block_bytes || total_pairs > block_pairs)) break;
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace smallbatch
