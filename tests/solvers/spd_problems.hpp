// Batches for the tests of this room.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/systems.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch::testing {

template <class T>
constexpr double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

/// Returns element (i,j) of system k of a block. In packed storage, element (j,i) stands for one above the diagonal.
template <class T>
T& element(SpdBlock<T>& block, std::int64_t k, int i, int j) {
  T* matrix = block.a.data() + k * block.shape.matrix_size();
  if (block.shape.storage != Storage::packed_lower) return matrix[i * block.shape.n + j];
  return i >= j ? matrix[i * (i + 1) / 2 + j] : matrix[j * (j + 1) / 2 + i];
}

/// Sets elements (i,j) and (j,i) of system k.
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

/// Returns systems with elements of A and x just below 2. Their digits are random. The product A x is computed in long
/// double and rounded to b, and x is kept in the block.
template <class T>
SpdBlock<T> nearly_twos(const SpdShape& shape, std::int64_t count) {
  SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, count, 2);
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (std::int64_t k = 0; k < count; ++k) {
    for (int i = 0; i < shape.n; ++i)
      for (int j = 0; j <= i; ++j)
        set_symmetric<T>(block, k, i, j,
                         static_cast<T>(i == j ? 2 - 0x1p-10 * (1 + random()) : 1.98 + 1e-5 * random()));
    T* const x = block.x.data() + k * shape.rhs_size();
    for (std::int64_t e = 0; e < shape.rhs_size(); ++e) x[e] = static_cast<T>(2 - 0x1p-6 * (1 + random()));
    for (int i = 0; i < shape.n; ++i)
      for (int c = 0; c < shape.nrhs; ++c) {
        long double sum = 0;
        for (int j = 0; j < shape.n; ++j)
          sum += static_cast<long double>(element(block, k, i, j)) * x[j * shape.nrhs + c];
        block.b[(k * shape.n + i) * shape.nrhs + c] = static_cast<T>(sum);
      }
  }
  return block;
}

/// If the storage is dense_lower, writes `value` above the diagonals, where no code may read.
template <class T>
void poison_upper(SpdBlock<T>& block, T value) {
  if (block.shape.storage != Storage::dense_lower) return;
  for (std::int64_t k = 0; k < block.count; ++k)
    for (int i = 0; i < block.shape.n; ++i)
      for (int j = i + 1; j < block.shape.n; ++j) element(block, k, i, j) = value;
}

/// Returns the systems with the indices `order` of a block, in that order.
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

/// Returns `count` systems by repeating the systems of a small block. In tests that need many systems, generating all
/// of them would take longest.
template <class T>
SpdBlock<T> repeated(const SpdBlock<T>& few, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) order[static_cast<std::size_t>(k)] = k % few.count;
  return selected(few, order);
}

template <class T>
void solve(SpdSolver& solver, SpdBlock<T>& block) {
  solver.solve(block.batch(), block.solution());
}

/// Returns whether system k of one block and system m of another have the same bits in every result.
template <class T>
bool same_bits(const SpdBlock<T>& one, std::int64_t k, const SpdBlock<T>& other, std::int64_t m) {
  const auto equal = [](const auto& values, std::int64_t p, const auto& others, std::int64_t q, std::int64_t size = 1) {
    return values.empty() ||
           std::memcmp(values.data() + p * size, others.data() + q * size, sizeof(values[0]) * size) == 0;
  };
  bool same = equal(one.info, k, other.info, m) && equal(one.x, k, other.x, m, one.shape.solution_size());
  for_each_spd_number<T>(
      [&](const auto& number) { same = same && equal(one.*number.in_block, k, other.*number.in_block, m); });
  return same;
}

}  // namespace smallbatch::testing
