// Batches for the tests of this room.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/batch.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch::testing {

/// Element (i,j) of system k of a block; of the lower triangle where it is packed.
template <class T>
T& element(SpdBlock<T>& block, std::int64_t k, int i, int j) {
  T* matrix = block.a.data() + k * block.shape.matrix_size();
  if (block.shape.storage == Storage::dense) return matrix[i * block.shape.n + j];
  return i >= j ? matrix[i * (i + 1) / 2 + j] : matrix[j * (j + 1) / 2 + i];
}

/// Sets (i,j) and (j,i).
template <class T>
void set_symmetric(SpdBlock<T>& block, std::int64_t k, int i, int j, T value) {
  element(block, k, i, j) = value;
  element(block, k, j, i) = value;
}

template <class T>
SpdBlock<T> generated_block(SpdFamily family, const SpdShape& shape, std::int64_t count, double condition = 100,
                            std::uint64_t seed = 1) {
  SpdBlock<T> block;
  block.resize(shape, count);
  generate_spd(family, shape, condition, seed, 0, count, block.a.data(), block.b.data());
  return block;
}

/// The systems `order` of a block, in that order.
template <class T>
SpdBlock<T> selected(const SpdBlock<T>& from, const std::vector<std::int64_t>& order) {
  SpdBlock<T> to;
  to.resize(from.shape, static_cast<std::int64_t>(order.size()));
  for (std::size_t k = 0; k < order.size(); ++k) {
    std::memcpy(to.a.data() + k * from.shape.matrix_size(), from.a.data() + order[k] * from.shape.matrix_size(),
                sizeof(T) * from.shape.matrix_size());
    if (from.shape.rhs_size() > 0)
      std::memcpy(to.b.data() + k * from.shape.rhs_size(), from.b.data() + order[k] * from.shape.rhs_size(),
                  sizeof(T) * from.shape.rhs_size());
  }
  return to;
}

template <class T>
void solve(SpdSolver& solver, SpdBlock<T>& block) {
  solver.solve(block.batch(), block.solution());
}

/// Whether system k of one block and system m of another got the same bits in every result.
template <class T>
bool same_bits(const SpdBlock<T>& one, std::int64_t k, const SpdBlock<T>& other, std::int64_t m) {
  const std::int64_t size = one.shape.solution_size();
  return one.info[k] == other.info[m] &&
         std::memcmp(&one.backward_error[k], &other.backward_error[m], sizeof(T)) == 0 &&
         std::memcmp(one.x.data() + k * size, other.x.data() + m * size, sizeof(T) * size) == 0;
}

}  // namespace smallbatch::testing
