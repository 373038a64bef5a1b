// Cuts sets into blocks. Blocks are small, so that several fit in memory and a run can be followed and stopped. They
// are large enough to keep a GPU busy.
#pragma once

#include <cstdint>
#include <vector>

#include "io/problem_reader.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Least size of blocks. A run ends if a GPU has no memory for blocks of this size.
inline constexpr std::int64_t least_gpu_block_bytes = std::int64_t{1} << 20;

/// Fastest sizes of blocks. On a GPU a block fits in the processor's cache while the GPU copies it. On the CPU a block
/// has many systems for each core.
inline constexpr std::int64_t gpu_block_bytes = std::int64_t{16} << 20, cpu_block_bytes = std::int64_t{64} << 20;

/// Returns the size of the set's blocks if no memory limit is given. It is at least `least`. It grows, within limits,
/// so that every thread has a chunk to inflate and systems to verify.
std::int64_t usual_block_bytes(const SolveSet& set, std::int64_t least, unsigned threads, bool verifies);
std::int64_t usual_block_bytes(const CorrelationSet& set, std::int64_t least, unsigned threads);

/// Systems [first, first + count).
struct SystemRange {
  std::int64_t first = 0, count = 0;
};
std::vector<SystemRange> cut_into_blocks(const SolveSet& set, std::int64_t block_bytes);

/// Problems [first, first + count). For lattices also their planes [first_plane, first_plane + plane_count): either all
/// planes of whole problems, or some planes of one problem.
struct PlaneRange {
  std::int64_t first = 0, count = 0, first_plane = 0, plane_count = 0;
};
/// Pairs of charge and target that keep all cores busy for about a second, so that a run can be followed and stopped.
inline constexpr double cpu_block_pairs = 4e9;
/// Pairs of a block on a GPU, if the CPU does not verify all of them.
inline constexpr double gpu_block_pairs = 1e12;

/// Each block has at most `block_bytes` of values, charges, points and summaries of planes, and at most `block_pairs`
/// pairs of charge and target. It has at least one plane of a lattice, or one whole problem with other targets. The
/// points of a problem stay together, because positions are relative to the first point, the origin.
std::vector<PlaneRange> cut_into_blocks(const PotentialSet& set, ScalarType precision, std::int64_t block_bytes,
                                        double block_pairs);

/// Each block has problems [first, first + count) with at most `block_bytes` of charges and energies, and at most
/// `block_pairs` pairs. It has at least one problem.
std::vector<SystemRange> cut_into_blocks(const PairEnergySet& set, std::int64_t block_bytes, double block_pairs);

/// Channels [first, first + channels) and times [first_time, first_time + times).
struct SignalRange {
  std::int64_t first = 0, channels = 0, first_time = 0, times = 0;
};
/// Each block has at most `block_bytes` of samples, flags, sums and weights. It has whole integrations of some
/// channels. If an integration of one channel is larger, blocks are consecutive pieces of one integration. Pieces
/// depend only on the set and `block_bytes`. If the sums alone take `block_bytes`, the samples of a piece get half
/// of `block_bytes` in addition.
std::vector<SignalRange> cut_into_blocks(const CorrelationSet& set, std::int64_t block_bytes);

/// Sets the channels and times of a block.
inline void take_range(const SignalRange& range, SignalBlock& block) {
  block.first = range.first;
  block.channels = range.channels;
  block.first_time = range.first_time;
  block.times = range.times;
}

/// Reads the problems of the range, and returns their part of the set's problems_hash. The energy and the hash of a
/// problem belong to the block with its first plane.
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

/// Returns the bytes of a block's values, charges, points and summaries of planes.
std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision);
/// Returns the bytes of a block's charges and energies.
std::int64_t bytes_per_block(const PairEnergySet& set, const SystemRange& range);
/// Returns the bytes of a block's samples, flags, sums and weights.
std::int64_t bytes_per_block(const CorrelationSet& set, const SignalRange& range);

/// Returns the bytes of one system with its solution and all its numbers.
std::int64_t bytes_per_system(const SolveSet& set);
/// Returns the bytes of a set's results in a file.
std::int64_t result_bytes(const SolveSet& set);
std::int64_t result_bytes(const PotentialSet& set, ScalarType precision);
std::int64_t result_bytes(const PairEnergySet& set);
std::int64_t result_bytes(const CorrelationSet& set);
/// Returns the complex multiply-adds of a set or block: one for each sample of each baseline.
template <class Signal>
double multiply_adds(const Signal& signal, std::int64_t channels) {
  return static_cast<double>(channels) * static_cast<double>(signal.times) *
         static_cast<double>(baselines_of(signal.inputs));
}
inline double multiply_adds(const CorrelationSet& set) { return multiply_adds(set, set.batch); }
inline double multiply_adds(const SignalBlock& block) { return multiply_adds(block, block.channels); }
/// Returns the number of pairs of charges. With groups it is an upper limit, because the sizes of the groups are not
/// known.
double pairs(const PairEnergySet& set);
/// Returns the number of pairs of target and charge.
double pairs(const PotentialSet& set);
double pairs(const PotentialSet& set, const PlaneRange& range);
}  // namespace smallbatch
