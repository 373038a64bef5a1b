// Sums over all pairs of two arrays on the host: sum_i sum_j pair(a_i, b_j) for any function of two elements. On the
// GPU, physics/pair_sum.cuh does the same. Host and GPU add in the same order, which depends only on the numbers of
// elements. The bits are therefore the same in every run and for any number of threads. Compilers may fuse products and
// additions in different ways. So host and GPU are sure to agree in all bits only if nothing is rounded.
//
// A piece has 512 rows and 1024 columns. Within a piece, 16 terms of a row are added in the type of the terms. These
// sums are added in double precision to the sum of the row. Then the sums of the four rows of each of 128 threads are
// added, and at last the sums of the threads, as a tree. Piece k is added to adder k modulo pair_sum_adders, and the
// adders are added as a tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/parallel.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Sizes that define the order of additions, on host and GPU.
inline constexpr int pair_sum_threads = 128, pair_sum_rows_per_thread = 4, pair_sum_terms = 16, pair_sum_adders = 1024;
inline constexpr std::int64_t pair_sum_rows = pair_sum_threads * pair_sum_rows_per_thread, pair_sum_columns = 1024;

/// Pieces of `rows` rows and `columns` columns. The pieces of the first columns come first.
struct PairSumPieces {
  std::int64_t of_rows, of_columns;  ///< numbers of pieces along rows and columns
  constexpr PairSumPieces(std::int64_t rows, std::int64_t columns)
      : of_rows((rows + pair_sum_rows - 1) / pair_sum_rows),
        of_columns((columns + pair_sum_columns - 1) / pair_sum_columns) {}
  /// Number of all pieces.
  [[nodiscard]] constexpr std::int64_t count() const { return of_rows * of_columns; }
};

/// Adds the values of `threads` threads, a power of two, as a tree.
template <class Values>
double add_as_tree(Values& values, int threads) {
  for (int half = threads / 2; half > 0; half /= 2)
    for (int t = 0; t < half; ++t) values[t] += values[t + half];
  return values[0];
}

/// Computes the sum on `cpu_threads` threads (0: one per core). pair(a, b) returns float or double.
template <class A, class B, class Pair>
double pair_sum_on_host(const A* a, std::int64_t rows, const B* b, std::int64_t columns, const Pair& pair,
                        unsigned cpu_threads = 1) {
  using Term = decltype(pair(*a, *b));
  const PairSumPieces pieces(rows, columns);
  std::vector<double> of_piece(static_cast<std::size_t>(pieces.count()));
  parallel_for(pieces.count(), 1, cpu_threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t row0 = piece % pieces.of_rows * pair_sum_rows;
      const std::int64_t column0 = piece / pieces.of_rows * pair_sum_columns;
      const std::int64_t end = std::min(columns, column0 + pair_sum_columns);
      double of_thread[pair_sum_threads];
      for (int t = 0; t < pair_sum_threads; ++t) {
        of_thread[t] = 0;
        for (int k = 0; k < pair_sum_rows_per_thread; ++k) {
          const std::int64_t i = row0 + k * pair_sum_threads + t;
          if (i >= rows) continue;
          double of_row = 0;
          for (std::int64_t j = column0; j < end;) {
            Term sum = 0;
            for (const std::int64_t group_end = std::min(end, j + pair_sum_terms); j < group_end; ++j)
              sum += pair(a[i], b[j]);
            of_row += static_cast<double>(sum);
          }
          of_thread[t] += of_row;
        }
      }
      of_piece[static_cast<std::size_t>(piece)] = add_as_tree(of_thread, pair_sum_threads);
    }
  });
  std::vector<double> of_adder(pair_sum_adders);
  for (std::size_t piece = 0; piece < of_piece.size(); ++piece) of_adder[piece % pair_sum_adders] += of_piece[piece];
  return add_as_tree(of_adder, pair_sum_adders);
}

}  // namespace smallbatch
#pragma GCC visibility pop
