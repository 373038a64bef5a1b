#include "solvers/by_size.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/grid_stride.hpp"

namespace smallbatch {

namespace {

constexpr int out_of_range = -1;  // stands for any size outside [0, n]

/// Consecutive systems, in the order of sizes, that have the same size.
struct Piece {
  int size;
  std::int64_t first, last;
};

/// The order of a batch's systems by size.
struct Order {
  std::vector<std::int64_t> systems;
  std::vector<Piece> pieces;

  Order(std::span<const std::int32_t> sizes, int n, std::int64_t at_once) : systems(sizes.size()) {
    const auto known = [n](std::int32_t size) { return size >= 0 && size <= n ? size : out_of_range; };
    const auto index = [](int size) { return static_cast<std::size_t>(size) + 1; };  // 0 for out_of_range
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n) + 2);               // number of systems of each size
    std::vector<std::int64_t> next(counts.size());  // where the next system of each size is listed
    for (const std::int32_t size : sizes) ++counts[index(known(size))];
    std::int64_t before = 0;
    for (int size = out_of_range; size <= n; ++size) {
      const std::int64_t count = counts[index(size)];
      for (std::int64_t first = 0; first < count; first += at_once)
        pieces.push_back({size, before + first, before + std::min(first + at_once, count)});
      next[index(size)] = before;
      before += count;
    }
    for (std::size_t k = 0; k < sizes.size(); ++k)
      systems[static_cast<std::size_t>(next[index(known(sizes[k]))]++)] = static_cast<std::int64_t>(k);
  }
};

/// Writes the answer of system k if there is nothing to solve: its size is 0, or out of range.
template <class T>
void settle(const SpdShape& shape, const SpdSolution<T>& solution, int size, std::int64_t k) {
  const bool failed = size == out_of_range;
  const SpdValues values = failed ? SpdValues{} : SpdValues::of_identity();
  if (!shape.determinant_only)
    std::fill_n(solution.x + k * solution.x_step(shape), shape.solution_size(),
                static_cast<T>(failed ? SpdValues::nan : 0));
  solution.info[k] = failed ? info_size_out_of_range : 0;
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    if (V* const array = solution.*number.in_solution; array != nullptr && number.is_of(shape))
      array[k] = static_cast<V>(values.*number.in_values);
  });
}

/// Copies the leading rows and columns of system k of a batch to system s of a block. The block's n is the size of k.
template <class T>
void gather(const SpdBatch<T>& batch, std::int64_t k, SpdBlock<T>& block, std::int64_t s) {
  const SpdShape& alike = block.shape;
  const T* const from = batch.a + k * batch.a_step();
  T* a = block.a.data() + s * alike.matrix_size();
  if (alike.storage == Storage::packed_lower) {  // the leading rows are the beginning of a packed matrix
    std::copy_n(from, alike.matrix_size(), a);
  } else {
    for (int i = 0; i < alike.n; ++i) a = std::copy_n(from + std::int64_t{i} * batch.shape.n, alike.n, a);
  }
  if (alike.nrhs > 0)
    std::copy_n(batch.b + k * batch.b_step(), alike.rhs_size(), block.b.data() + s * alike.rhs_size());
}

/// Copies the answer of system s of a block to system k of `solution`. Sets x to 0 beyond the block's n.
template <class T>
void put_back(const SpdBlock<T>& block, std::int64_t s, const SpdShape& shape, const SpdSolution<T>& solution,
              std::int64_t k) {
  const SpdShape& alike = block.shape;
  if (!shape.determinant_only) {
    const T* from = block.x.data() + s * alike.solution_size();
    T* const x = solution.x + k * solution.x_step(shape);
    const int columns = shape.wants_inverse() ? shape.n : shape.nrhs,
              used = alike.wants_inverse() ? alike.n : alike.nrhs;
    std::fill_n(x, shape.solution_size(), T{});
    for (int i = 0; i < alike.n; ++i, from += used) std::copy_n(from, used, x + std::int64_t{i} * columns);
  }
  const auto index = static_cast<std::size_t>(s);
  solution.info[k] = block.info[index];
  for_each_spd_number<T>([&](const auto& number) {
    if (auto* const array = solution.*number.in_solution; array != nullptr && number.is_of(shape))
      array[k] = (block.*number.in_block)[index];
  });
}

}  // namespace

template <class T>
void solve_by_size(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const AtOnce& at_once,
                   const std::function<void(const SpdBatch<T>&, const SpdSolution<T>&)>& solve) {
  const Order order({batch.sizes, static_cast<std::size_t>(batch.count)}, batch.shape.n, at_once.systems);
  const auto count = static_cast<std::int64_t>(order.pieces.size());
  const std::int64_t pieces = std::clamp<std::int64_t>(count / (8 * std::int64_t{thread_count(at_once.calls)}), 1, 64);
  parallel_for(count, pieces, at_once.calls, [&](std::int64_t first, std::int64_t last) {
    SpdBlock<T> block;
    for (std::int64_t p = first; p < last; ++p) {
      const Piece& piece = order.pieces[static_cast<std::size_t>(p)];
      const std::int64_t* const systems = order.systems.data() + piece.first;
      const auto for_each_system = [&](const auto& work) {
        constexpr std::int64_t grain = 64;
        for_each_index_on_threads(piece.last - piece.first, grain, at_once.threads, work);
      };
      if (piece.size <= 0) {
        for_each_system([&](std::int64_t s) { settle(batch.shape, solution, piece.size, systems[s]); });
        continue;
      }
      SpdShape alike = batch.shape;
      alike.n = piece.size;
      alike.has_sizes = false;
      block.resize(alike, piece.last - piece.first);
      for_each_system([&](std::int64_t s) { gather(batch, systems[s], block, s); });
      SpdSolution<T> answers = block.solution();
      for_each_spd_number<T>([&](const auto& number) {
        if (solution.*number.in_solution == nullptr) answers.*number.in_solution = nullptr;
      });
      solve(block.batch(), answers);
      for_each_system([&](std::int64_t s) { put_back(block, s, batch.shape, solution, systems[s]); });
    }
  });
}

template void solve_by_size(const SpdBatch<float>&, const SpdSolution<float>&, const AtOnce&,
                            const std::function<void(const SpdBatch<float>&, const SpdSolution<float>&)>&);
template void solve_by_size(const SpdBatch<double>&, const SpdSolution<double>&, const AtOnce&,
                            const std::function<void(const SpdBatch<double>&, const SpdSolution<double>&)>&);

}  // namespace smallbatch
