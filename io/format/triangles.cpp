#include "io/format/triangles.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace smallbatch {

namespace {

template <class T>
void transpose(int n, T* a) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
}

/// Calls visit(index of (i, j) in a packed lower triangle, index of (j, i) in a packed upper triangle) for all i >= j.
template <class Visit>
void for_each_pair_of_indices(int n, Visit visit) {
  for (int i = 0, lower = 0; i < n; ++i)
    for (int j = 0, row = 0; j <= i; row += n - j, ++j, ++lower) visit(lower, row + i - j);
}

}  // namespace

template <class T>
void exchange_triangles(const SpdShape& shape, TrianglesFrom from, std::int64_t count, T* a) {
  const std::int64_t size = shape.matrix_size();
  const bool is_packed = shape.storage == Storage::packed_lower;
  std::vector<T> before(static_cast<std::size_t>(is_packed ? size : 0));
  for (T* const end = a + count * size; a != end; a += size) {
    if (!is_packed) {
      transpose(shape.n, a);
      continue;
    }
    std::copy_n(a, size, before.begin());
    for_each_pair_of_indices(shape.n, [&](int lower, int upper) {
      if (from == TrianglesFrom::upper)
        a[lower] = before[static_cast<std::size_t>(upper)];
      else
        a[upper] = before[static_cast<std::size_t>(lower)];
    });
  }
}

template void exchange_triangles(const SpdShape&, TrianglesFrom, std::int64_t, float*);
template void exchange_triangles(const SpdShape&, TrianglesFrom, std::int64_t, double*);

}  // namespace smallbatch
