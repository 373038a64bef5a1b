// How a set is cut into blocks: small enough that some of them fit in memory and that a run can be followed and
// stopped, large enough to keep a GPU busy.
#pragma once

#include <cstdint>
#include <vector>

#include "io/problem_reader.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// A GPU that has no memory for blocks of this size is not worth going on with.
inline constexpr std::int64_t least_gpu_block_bytes = std::int64_t{1} << 20;

/// The size of blocks that is quickest: small enough to be in a processor's cache while a GPU copies them, or large
/// enough that all cores have many systems of each.
inline constexpr std::int64_t gpu_block_bytes = std::int64_t{16} << 20, cpu_block_bytes = std::int64_t{64} << 20;

/// Of this set, where nobody has said how much memory there is: at least `least`, as many chunks as there are threads
/// to inflate them, and enough systems for all of them to verify, as far as that is within reason.
std::int64_t usual_block_bytes(const SolveSet& set, std::int64_t least, unsigned threads, bool verifies);
std::int64_t usual_block_bytes(const CorrelationSet& set, std::int64_t least, unsigned threads);

/// Systems [first, first + count).
struct SystemRange {
  std::int64_t first = 0, count = 0;
};
std::vector<SystemRange> cut_into_blocks(const SolveSet& set, std::int64_t block_bytes);

/// Problems [first, first + count) and of lattices their planes [first_plane, first_plane + plane_count): whole
/// problems, or some planes of one.
struct PlaneRange {
  std::int64_t first = 0, count = 0, first_plane = 0, plane_count = 0;
};
/// Pairs of charge and point that keep all cores busy for about a second: a run can be followed and stopped.
inline constexpr double cpu_block_pairs = 4e9;
/// The same for a GPU that nobody waits behind.
inline constexpr double gpu_block_pairs = 1e12;

/// At most `block_bytes` of values, charges, points and planes' summaries and `block_pairs` pairs of charge and target,
/// but at least one plane, or one problem of other targets: a problem's points stay together, because the first one is
/// the origin that all are counted from.
std::vector<PlaneRange> cut_into_blocks(const PotentialSet& set, ScalarType precision, std::int64_t block_bytes,
                                        double block_pairs);

/// Problems [first, first + count), with at most `block_bytes` of charges and energies and `block_pairs` pairs, but at
/// least one.
std::vector<SystemRange> cut_into_blocks(const PairEnergySet& set, std::int64_t block_bytes, double block_pairs);

/// Channels [first, first + channels) and times [first_time, first_time + times).
struct SignalRange {
  std::int64_t first = 0, channels = 0, first_time = 0, times = 0;
};
/// At most `block_bytes` of samples, flags, sums and weights: whole integrations of some channels, or where one of one
/// channel is larger, pieces of one, one after the other, which depend on `block_bytes` alone. Where its sums alone are
/// as large, a piece has half of `block_bytes` beside them.
std::vector<SignalRange> cut_into_blocks(const CorrelationSet& set, std::int64_t block_bytes);

/// Says which channels and times of its set a block is to have.
inline void take_range(const SignalRange& range, SignalBlock& block) {
  block.first = range.first;
  block.channels = range.channels;
  block.first_time = range.first_time;
  block.times = range.times;
}

/// Reads what the range needs, and returns its part of the set's problems_hash. The energy and hash of problems belong
/// to the block with their first planes.
template <class T>
std::uint64_t read_block(const ProblemReader& reader, const PotentialSet& set, const PlaneRange& range,
                         PotentialBlock<T>& block) {
  const std::uint64_t hash = reader.read(set, range.first, range.count, block, CountedFrom::origin);
  block.first_plane = range.first_plane;
  block.plane_count = range.plane_count;
  if (range.first_plane == 0) return hash;
  block.group.clear();
  block.wants_energy = false;
  return 0;
}
inline std::uint64_t read_block(const ProblemReader& reader, const PairEnergySet& set, const SystemRange& range,
                                PairEnergyBlock& block) {
  return reader.read(set, range.first, range.count, block, CountedFrom::origin);
}
template <class T>
std::uint64_t read_block(const ProblemReader& reader, const SolveSet& set, const SystemRange& range,
                         SpdBlock<T>& block) {
  return reader.read(set, range.first, range.count, block);
}
inline std::uint64_t read_block(const ProblemReader& reader, const CorrelationSet& set, const SignalRange& range,
                                SignalBlock& block) {
  take_range(range, block);
  return reader.read(set, block);
}

/// Bytes of a block's values, charges, points and planes' summaries.
std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision);
/// Of its charges and energies; of its samples, flags, sums and weights.
std::int64_t bytes_per_block(const PairEnergySet& set, const SystemRange& range);
std::int64_t bytes_per_block(const CorrelationSet& set, const SignalRange& range);

/// Bytes of one system with its solution and all its numbers, and of one set's results in a file.
std::int64_t bytes_per_system(const SolveSet& set);
std::int64_t result_bytes(const SolveSet& set);
std::int64_t result_bytes(const PotentialSet& set, ScalarType precision);
std::int64_t result_bytes(const PairEnergySet& set);
std::int64_t result_bytes(const CorrelationSet& set);
/// Complex multiply-adds of a set or block: one for each sample of each baseline.
template <class Signal>
double multiply_adds(const Signal& signal, std::int64_t channels) {
  return static_cast<double>(channels) * static_cast<double>(signal.times) *
         static_cast<double>(baselines_of(signal.inputs));
}
inline double multiply_adds(const CorrelationSet& set) { return multiply_adds(set, set.batch); }
inline double multiply_adds(const SignalBlock& block) { return multiply_adds(block, block.channels); }
/// Pairs of charges, of a set: those of groups, whose sizes it does not know, at most.
double pairs(const PairEnergySet& set);
/// Pairs of target and charge.
double pairs(const PotentialSet& set);
double pairs(const PotentialSet& set, const PlaneRange& range);
}  // namespace smallbatch
