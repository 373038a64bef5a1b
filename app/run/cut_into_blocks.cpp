#include "app/run/cut_into_blocks.hpp"

#include <algorithm>

namespace smallbatch {

namespace {
using smallbatch::bytes_of;  // for samples and sums
std::int64_t bytes_of(ScalarType type) { return type == ScalarType::float32 ? 4 : 8; }
/// Returns the bytes of a charge: position, charge, and a width if the set has widths.
std::int64_t bytes_per_charge(const ChargesOfSet& set) {
  return static_cast<std::int64_t>((set.is_gaussian() ? 5 : 4) * sizeof(double));
}
constexpr std::int64_t bytes_per_point = 3 * sizeof(double);
constexpr std::int64_t bytes_per_size = 4;
constexpr std::int64_t bytes_per_verdict = 5;  // int8 and float32

/// Returns the bytes of a system's results: answer, status, numbers and size.
std::int64_t solution_bytes(const SolveSet& set) {
  return bytes_of(set.type) * set.shape.solution_size() + bytes_of_numbers(set.type, set.shape) +
         (set.shape.has_sizes ? bytes_per_size : 0);
}

/// Returns the bytes of a target's results: V, and E if it is wanted.
std::int64_t bytes_per_target(const PotentialSet& set, ScalarType precision) {
  return bytes_of(precision) * (set.has_field ? 4 : 1);
}

std::int64_t targets_of(const PotentialSet& set, std::int64_t first, std::int64_t count) {
  return set.targets_before(first + count) - set.targets_before(first);
}
std::int64_t charges_of(const PotentialSet& set, std::int64_t first, std::int64_t count) {
  return set.offset[static_cast<std::size_t>(first + count)] - set.offset[static_cast<std::size_t>(first)];
}

/// Returns the bytes of a lattice plane: values and summary.
std::int64_t bytes_per_plane(const PotentialSet& set, ScalarType precision) {
  return set.shape.plane_points() * bytes_per_target(set, precision) +
         static_cast<std::int64_t>(sizeof(PotentialSummary));
}

/// Returns the bytes of whole problems: values, charges, points and summaries.
std::int64_t bytes_of_problems(const PotentialSet& set, std::int64_t first, std::int64_t count, ScalarType precision) {
  const std::int64_t charges = charges_of(set, first, count) * bytes_per_charge(set);
  if (set.targets == TargetKind::lattice) return count * set.shape.nz * bytes_per_plane(set, precision) + charges;
  const std::int64_t targets = targets_of(set, first, count);
  return targets * bytes_per_target(set, precision) + charges +
         (set.targets == TargetKind::points ? targets * bytes_per_point : 0);
}

std::int64_t charges_of(const PairEnergySet& set, std::int64_t first, std::int64_t count) {
  return set.offset[static_cast<std::size_t>(first + count)] - set.offset[static_cast<std::size_t>(first)];
}
/// Returns the bytes of whole problems: charges, with their groups and energies, and total energies.
std::int64_t bytes_of_problems(const PairEnergySet& set, std::int64_t first, std::int64_t count) {
  const std::int64_t per_charge = bytes_per_charge(set) + (set.has_groups ? 1 : 0) + (set.per_charge ? 8 : 0);
  return charges_of(set, first, count) * per_charge + count * (8 + 8 + 4);
}
double pairs_of_problem(const PairEnergySet& set, std::int64_t p) {
  const auto charges = static_cast<double>(charges_of(set, p, 1));
  return set.has_groups ? charges * charges / 4 : charges * (charges - 1) / 2;
}

/// Returns the bytes of the samples and flags of one channel at one time.
std::int64_t bytes_per_time(const CorrelationSet& set) {
  return set.inputs * (bytes_of(set.type) + (set.has_flags ? 1 : 0));
}
/// Returns the bytes of the sums and weights of one channel in one integration.
std::int64_t bytes_per_integration(const CorrelationSet& set) { return set.baselines() * (bytes_of(set.sum()) + 4); }
/// Returns the bytes of one channel in one integration: samples, flags, sums and weights.
std::int64_t bytes_of_whole_integration(const CorrelationSet& set) {
  return set.integrate * bytes_per_time(set) + bytes_per_integration(set);
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
  // Index and status; V_min, V_max and V_mean; energy; origin and spacing, or offsets.
  const std::int64_t per_problem =
      8 + 4 + 3 * 8 + (set.has_groups ? 8 : 0) + bytes_per_verdict + (set.targets == TargetKind::lattice ? 6 * 8 : 8);
  return set.targets_before(set.batch) * bytes_per_target(set, precision) + set.batch * per_problem +
         (set.targets == TargetKind::lattice ? 0 : 8);
}

std::int64_t result_bytes(const PairEnergySet& set) {
  // Index, energy and status; if wanted, the energies of charges with their offsets.
  return set.batch * (8 + 8 + 4 + bytes_per_verdict) + (set.per_charge ? 8 * (set.charges() + set.batch + 1) : 0);
}

std::int64_t result_bytes(const CorrelationSet& set) {
  const std::int64_t visibilities = set.integrations() * set.batch * set.baselines();
  return visibilities * (bytes_of(set.visibility()) + 4) +
         set.batch * (4 + bytes_per_verdict + (set.frequency.empty() ? 0 : 8));
}

std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision) {
  if (set.targets != TargetKind::lattice) return bytes_of_problems(set, range.first, range.count, precision);
  return range.count * range.plane_count * bytes_per_plane(set, precision) +
         charges_of(set, range.first, range.count) * bytes_per_charge(set);
}

std::int64_t bytes_per_block(const PairEnergySet& set, const SystemRange& range) {
  return bytes_of_problems(set, range.first, range.count);
}

std::int64_t bytes_per_block(const CorrelationSet& set, const SignalRange& range) {
  return range.channels *
         (range.times * bytes_per_time(set) + integrations_of(range.times, set.integrate) * bytes_per_integration(set));
}

double pairs(const PairEnergySet& set) {
  double total = 0;
  for (std::int64_t p = 0; p < set.batch; ++p) total += pairs_of_problem(set, p);
  return total;
}

double pairs(const PotentialSet& set) {
  double total = 0;
  for (std::int64_t p = 0; p < set.batch; ++p) total += pairs_of_problem(set, p);
  return total;
}

double pairs(const PotentialSet& set, const PlaneRange& range) {
  double total = 0;
  for (std::int64_t p = range.first; p < range.first + range.count; ++p) total += pairs_of_problem(set, p);
  const bool is_part = set.targets == TargetKind::lattice && set.shape.nz > 0;
  return is_part ? total * static_cast<double>(range.plane_count) / static_cast<double>(set.shape.nz) : total;
}

std::int64_t usual_block_bytes(const SolveSet& set, std::int64_t least, unsigned threads, bool verifies) {
  constexpr std::int64_t systems = 64;
  const std::int64_t to_verify = verifies ? systems * bytes_per_system(set) : 0;
  return std::max({least, std::min(set.chunk_bytes * threads, 2 * cpu_block_bytes),
                   std::min(to_verify * threads, cpu_block_bytes)});
}

std::int64_t usual_block_bytes(const CorrelationSet& set, std::int64_t least, unsigned threads) {
  if (bytes_of_whole_integration(set) > least) return least;  // pieces must not depend on the number of threads
  return std::max(least, std::min(set.chunk_bytes * threads, 2 * cpu_block_bytes));
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

std::vector<SystemRange> cut_into_blocks(const PairEnergySet& set, std::int64_t block_bytes, double block_pairs) {
  std::vector<SystemRange> ranges;
  for (std::int64_t p = 0; p < set.batch;) {
    SystemRange range{p, 0};
    std::int64_t bytes = 0;
    double total_pairs = 0;
    for (; p < set.batch; ++p, ++range.count) {
      bytes += bytes_of_problems(set, p, 1);
      total_pairs += pairs_of_problem(set, p);
      if (range.count > 0 && (bytes > block_bytes || total_pairs > block_pairs)) break;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<SignalRange> cut_into_blocks(const CorrelationSet& set, std::int64_t block_bytes) {
  // Several channels share a block only if pieces have at least `fewest_times` times. At most `most_channels` share
  // one.
  constexpr std::int64_t fewest_times = 8192, most_channels = 16;
  const std::int64_t of_time = bytes_per_time(set), of_sums = bytes_per_integration(set);
  const std::int64_t whole = bytes_of_whole_integration(set);
  std::int64_t channels = 1, times = set.integrate;
  const bool are_pieces = whole > block_bytes;
  if (are_pieces) {
    const std::int64_t least = std::min(set.integrate, fewest_times) * of_time + of_sums;
    // A share (--shard) with fewer channels uses this number too. Its pieces are then those of a run of the whole set.
    channels = std::clamp<std::int64_t>(block_bytes / least, 1, most_channels);
    const std::int64_t bytes = block_bytes / channels;  // bytes of a channel
    const std::int64_t most = std::max<std::int64_t>(1, std::max(bytes - of_sums, bytes / 2) / of_time);
    const std::int64_t pieces = (set.integrate - 1) / most + 1;
    times = (set.integrate - 1) / pieces + 1;
  } else {
    // A block has enough integrations that a channel is read from the file in one stretch. The rest of the block is
    // filled with channels, so that an integration is written in one stretch.
    constexpr std::int64_t stretch = std::int64_t{1} << 18;
    const std::int64_t all = std::max<std::int64_t>(1, set.integrations()), together = block_bytes / whole;
    const std::int64_t least =
        std::clamp<std::int64_t>(stretch / (set.integrate * of_time), 1, std::min(all, together));
    channels = std::clamp<std::int64_t>(together / least, 1, std::max<std::int64_t>(1, set.batch));
    times = std::min(all, together / channels) * set.integrate;
  }
  std::vector<SignalRange> ranges;
  for (std::int64_t first = 0; first < set.batch; first += channels) {
    SignalRange range{first, std::min(channels, set.batch - first), 0, 0};
    do {
      const std::int64_t left = are_pieces ? set.integrate - range.first_time % set.integrate : times;
      range.times = std::min({times, left, set.times - range.first_time});
      ranges.push_back(range);
      range.first_time += range.times;
    } while (range.first_time < set.times);
  }
  return ranges;
}

}  // namespace smallbatch
