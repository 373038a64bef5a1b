// Division of problems of different lengths into pieces of at most `size` items, one block each. Problem p has the
// pieces from first_of(p) / size + p on, where first_of(p) is the index of the problem's first item in the batch. This
// needs no sum over the previous problems, and the last piece of a problem may be empty. Private to
// physics/charges/cuda/.
#pragma once

#include <cstdint>

namespace smallbatch {

namespace {

/// Returns the problem with place_of(problem) <= place < place_of(problem + 1).
template <class PlaceOf>
__device__ std::int64_t problem_at(const PlaceOf& place_of, std::int64_t problems, std::int64_t place) {
  std::int64_t low = 0, high = problems;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (place_of(middle) <= place ? low : high) = middle;
  }
  return low;
}

template <class FirstOf>
__device__ std::int64_t first_piece(const FirstOf& first_of, std::int64_t problem, std::int64_t size) {
  return first_of(problem) / size + problem;
}

/// Items first .. last - 1 of the batch, which belong to one problem.
struct Piece {
  std::int64_t problem, first, last;
};
template <class FirstOf>
__device__ Piece piece_of(const FirstOf& first_of, std::int64_t problems, std::int64_t size, std::int64_t index) {
  const std::int64_t problem =
      problem_at([&](std::int64_t p) { return first_piece(first_of, p, size); }, problems, index);
  const std::int64_t first = first_of(problem) + (index - first_piece(first_of, problem, size)) * size;
  const std::int64_t last = first_of(problem + 1);
  return {problem, first, first + size < last ? first + size : last};
}

/// Adds the threads' values. The result is valid in thread 0. Threads is a power of two.
template <int Threads, class V, class Add>
__device__ V add_over_block(const V& mine, Add add) {
  static_assert((Threads & (Threads - 1)) == 0);  // each round halves the number of sums
  __shared__ V all[Threads];
  all[threadIdx.x] = mine;
  for (unsigned half = Threads / 2; half > 0; half /= 2) {
    __syncthreads();  // the sums of the previous round are there
    if (threadIdx.x < half) add(all[threadIdx.x], all[threadIdx.x + half]);
  }
  return all[0];
}

}  // namespace

}  // namespace smallbatch
