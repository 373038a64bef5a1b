// Ragged problems cut into pieces of at most `size` items, a block each, without a sum over the problems before:
// problem p has the pieces from first_of(p) / size + p on, of which the last may be empty. first_of(p) is the place of
// its first item, counted from the batch's. Private to physics/*.cu.
#pragma once

#include <cstdint>

namespace smallbatch {

namespace {

template <class FirstOf>
__device__ std::int64_t first_piece(const FirstOf& first_of, std::int64_t problem, std::int64_t size) {
  return first_of(problem) / size + problem;
}

/// Items first .. last - 1 of the batch.
struct Piece {
  std::int64_t problem, first, last;
};
template <class FirstOf>
__device__ Piece piece_of(const FirstOf& first_of, std::int64_t problems, std::int64_t size, std::int64_t index) {
  std::int64_t low = 0, high = problems;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (first_piece(first_of, middle, size) <= index ? low : high) = middle;
  }
  const std::int64_t first = first_of(low) + (index - first_piece(first_of, low, size)) * size;
  const std::int64_t last = first_of(low + 1);
  return {low, first, first + size < last ? first + size : last};
}

}  // namespace

}  // namespace smallbatch
