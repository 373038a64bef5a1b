// How a set is cut into blocks: pieces small enough that three of them fit in memory and that a run can be followed and
// stopped, large enough to keep a GPU busy.
#pragma once

#include <cstdint>
#include <vector>

#include "io/sets.hpp"

namespace smallbatch {

/// Systems [first, first + count).
struct SystemRange {
  std::int64_t first = 0, count = 0;
};
std::vector<SystemRange> cut_into_blocks(const SolveSet& set, std::int64_t block_bytes);

/// Planes [first_plane, first_plane + plane_count) of problems [first, first + count): whole problems, or some planes
/// of one.
struct PlaneRange {
  std::int64_t first = 0, count = 0, first_plane = 0, plane_count = 0;
};
/// Pairs of charge and point that keep all cores busy for about a second: a run can be followed and stopped.
inline constexpr double cpu_block_pairs = 4e9;
/// The same for a GPU that nobody waits behind.
inline constexpr double gpu_block_pairs = 1e12;

/// At most `block_bytes` of values and charges and `block_pairs` pairs of charge and point, but at least one plane.
std::vector<PlaneRange> cut_into_blocks(const PotentialSet& set, ScalarType precision, std::int64_t block_bytes,
                                        double block_pairs);

/// Bytes of a block's values and charges.
std::int64_t bytes_per_block(const PotentialSet& set, const PlaneRange& range, ScalarType precision);

/// Bytes of one system with its solution and all its numbers, and of one set's results in a file.
std::int64_t bytes_per_system(const SolveSet& set);
std::int64_t result_bytes(const SolveSet& set);
std::int64_t result_bytes(const PotentialSet& set, ScalarType precision);
/// Pairs of lattice point and charge, of a set and of a block.
double pairs(const PotentialSet& set);
template <class T>
double pairs(const PotentialBlock<T>& block) {
  return static_cast<double>(block.charge.size()) * static_cast<double>(block.plane_count) *
         static_cast<double>(block.shape.plane_points());
}

}  // namespace smallbatch
