#include "solvers/layouts.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "solvers/layout_copy.hpp"

namespace smallbatch {

namespace {

constexpr bool is_packed(Triangle triangle) {
  return triangle == Triangle::packed_lower || triangle == Triangle::packed_upper;
}
constexpr std::int64_t packed_size(std::int64_t n) { return n * (n + 1) / 2; }

/// Returns the stride for the solver, or nothing if the solver does not take this stride.
template <class T>
std::optional<std::int64_t> canonical_stride(std::int64_t count, const MatrixArray<T>& matrices, std::int64_t size) {
  if (matrices.pointers != nullptr) return std::nullopt;
  if (matrices.stride == 0 || matrices.stride >= size) return matrices.stride;
  return count <= 1 ? std::optional<std::int64_t>(tight) : std::nullopt;
}

void check_extent(int n, int columns, std::int64_t count) {
  if (n < 1 || n > max_system_size)
    throw Error(ErrorKind::bad_input, "matrices with n = " + std::to_string(n) + " cannot be copied",
                "n must lie between 1 and " + std::to_string(max_system_size), "Give the size of the systems.");
  if (columns < 0 || count < 0)
    throw Error(ErrorKind::bad_input,
                std::to_string(count) + " matrices with " + std::to_string(columns) + " columns cannot be copied",
                "a number of columns or matrices is negative", "Give 0 or more.");
}

/// A step and a number of indices along one axis of an array.
struct Axis {
  std::int64_t step, extent;
};

/// Returns true only if no two elements of an array have the same address. The test is sufficient, but not necessary:
/// the step of each axis must be longer than the reach of all axes with shorter steps.
template <std::size_t Count>
bool are_distinct(std::array<Axis, Count> axes) {
  for (Axis& axis : axes) axis.step = axis.extent > 1 ? std::abs(axis.step) : 0;
  std::sort(axes.begin(), axes.end(), [](const Axis& one, const Axis& other) { return one.step < other.step; });
  std::int64_t reach = 0;
  for (const Axis& axis : axes) {
    if (axis.extent <= 1) continue;
    if (axis.step <= reach) return false;
    reach += axis.step * (axis.extent - 1);
  }
  return true;
}

template <class M, class C>
LayoutCopy<M, C> plan(int n, int columns, std::int64_t count, const MatrixArray<M>& array, Triangle triangle,
                      C* canonical, Storage storage) {
  check_extent(n, columns, count);
  const bool packed = storage == Storage::packed_lower;
  const std::int64_t size = packed ? packed_size(n) : std::int64_t{n} * columns;
  const std::int64_t used = size == 0 ? 0 : count;
  if (used > 0 && (canonical == nullptr || (array.pointers == nullptr && array.data == nullptr)))
    throw Error(ErrorKind::bad_input, "there are no matrices to copy", "a pointer is null",
                "Give the memory to read and the memory to write.");
  if (!std::is_const_v<M> && used > 0) {
    const Axis matrices{array.pointers != nullptr ? 0 : array.stride, array.pointers != nullptr ? 1 : count};
    if (!(is_packed(triangle) ? are_distinct<2>({{{1, packed_size(n)}, matrices}})
                              : are_distinct<3>({{{array.row_step, n}, {array.column_step, columns}, matrices}})))
      throw Error(ErrorKind::bad_input, "numbers of the answers would be written twice",
                  "steps or the stride let matrices overlap", "Give steps and a stride that keep them apart.");
  }
  LayoutCopy<M, C> copy{array, canonical, used, size, n, columns, triangle, packed};
  if (triangle == Triangle::upper) {
    std::swap(copy.array.row_step, copy.array.column_step);
    copy.triangle = Triangle::lower;
  }
  return copy;
}

template <class M, class C>
void carry_out(const LayoutCopy<M, C>& copy, unsigned threads) {
  constexpr std::int64_t numbers = 1 << 15;  // numbers in one piece
  const std::int64_t grain = std::max<std::int64_t>(16, numbers / (std::int64_t{copy.rows} * copy.columns + 1));
  parallel_for(copy.count, grain, threads, [&copy](std::int64_t first, std::int64_t last) {
    if (copy.across_matrices()) {
      for (int i = 0; i < copy.rows; ++i)
        for (int j = 0; j < copy.end_of_row(i); ++j)
          for (std::int64_t k = first; k < last; ++k) copy(k, i, j);
    } else {
      for (std::int64_t k = first; k < last; ++k)
        for (int i = 0; i < copy.rows; ++i)
          for (int j = 0; j < copy.end_of_row(i); ++j) copy(k, i, j);
    }
  });
}

}  // namespace

template <class T>
std::optional<CanonicalMatrices<T>> canonical_spd_matrices(int n, std::int64_t count,
                                                           const MatrixArray<const T>& matrices, Triangle triangle) {
  const bool by_rows = n == 1 || (matrices.row_step == n && matrices.column_step == 1);
  const bool by_columns = n == 1 || (matrices.row_step == 1 && matrices.column_step == n);
  bool canonical = false;
  Storage storage = Storage::packed_lower;
  switch (triangle) {
    case Triangle::both:
      canonical = by_rows || by_columns;
      storage = Storage::dense;
      break;
    case Triangle::lower:
      canonical = by_rows;
      storage = Storage::dense_lower;
      break;
    case Triangle::upper:
      canonical = by_columns;
      storage = Storage::dense_lower;
      break;
    case Triangle::packed_lower:
      canonical = true;
      break;
    case Triangle::packed_upper:
      canonical = n <= 2;  // up to 2 rows both triangles have the same order
      break;
  }
  const auto stride = canonical_stride(count, matrices, SpdShape{n, 0, storage}.matrix_size());
  if (!canonical || !stride) return std::nullopt;
  return CanonicalMatrices<T>{storage, matrices.data, *stride};
}

template <class T>
std::optional<CanonicalRhs<T>> canonical_spd_rhs(int n, int nrhs, std::int64_t count, const MatrixArray<T>& matrices) {
  const bool canonical = (n == 1 || matrices.row_step == nrhs) && (nrhs <= 1 || matrices.column_step == 1);
  const auto stride = canonical_stride(count, matrices, std::int64_t{n} * nrhs);
  if (!canonical || !stride) return std::nullopt;
  return CanonicalRhs<T>{matrices.data, *stride};
}

template <class T>
LayoutGather<T> plan_gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from, Triangle triangle,
                                         T* to) {
  return plan(n, n, count, from, triangle, to, gathered_spd_storage(triangle));
}
template <class T>
LayoutGather<T> plan_gather_spd_rhs(int n, int nrhs, std::int64_t count, const MatrixArray<const T>& from, T* to) {
  return plan(n, nrhs, count, from, Triangle::both, to, Storage::dense);
}
template <class T>
LayoutScatter<T> plan_scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from,
                                            const MatrixArray<T>& to) {
  return plan(n, nrhs, count, to, Triangle::both, from, Storage::dense);
}
template <class T>
LayoutScatter<T> plan_scatter_spd_inverses(int n, std::int64_t count, const T* from, const MatrixArray<T>& to,
                                           Triangle triangle) {
  return plan(n, n, count, to, triangle, from, Storage::dense);
}

template <class T>
void gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from, Triangle triangle, T* to,
                         unsigned threads) {
  carry_out(plan_gather_spd_matrices(n, count, from, triangle, to), threads);
}
template <class T>
void gather_spd_rhs(int n, int nrhs, std::int64_t count, const MatrixArray<const T>& from, T* to, unsigned threads) {
  carry_out(plan_gather_spd_rhs(n, nrhs, count, from, to), threads);
}
template <class T>
void scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from, const MatrixArray<T>& to,
                           unsigned threads) {
  carry_out(plan_scatter_spd_solutions(n, nrhs, count, from, to), threads);
}
template <class T>
void scatter_spd_inverses(int n, std::int64_t count, const T* from, const MatrixArray<T>& to, Triangle triangle,
                          unsigned threads) {
  carry_out(plan_scatter_spd_inverses(n, count, from, to, triangle), threads);
}

template std::optional<CanonicalMatrices<float>> canonical_spd_matrices(int, std::int64_t,
                                                                        const MatrixArray<const float>&, Triangle);
template std::optional<CanonicalRhs<float>> canonical_spd_rhs(int, int, std::int64_t, const MatrixArray<float>&);
template std::optional<CanonicalRhs<const float>> canonical_spd_rhs(int, int, std::int64_t,
                                                                    const MatrixArray<const float>&);
template LayoutGather<float> plan_gather_spd_matrices(int, std::int64_t, const MatrixArray<const float>&, Triangle,
                                                      float*);
template LayoutGather<float> plan_gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const float>&, float*);
template LayoutScatter<float> plan_scatter_spd_solutions(int, int, std::int64_t, const float*,
                                                         const MatrixArray<float>&);
template LayoutScatter<float> plan_scatter_spd_inverses(int, std::int64_t, const float*, const MatrixArray<float>&,
                                                        Triangle);
template void gather_spd_matrices(int, std::int64_t, const MatrixArray<const float>&, Triangle, float*, unsigned);
template void gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const float>&, float*, unsigned);
template void scatter_spd_solutions(int, int, std::int64_t, const float*, const MatrixArray<float>&, unsigned);
template void scatter_spd_inverses(int, std::int64_t, const float*, const MatrixArray<float>&, Triangle, unsigned);
template std::optional<CanonicalMatrices<double>> canonical_spd_matrices(int, std::int64_t,
                                                                         const MatrixArray<const double>&, Triangle);
template std::optional<CanonicalRhs<double>> canonical_spd_rhs(int, int, std::int64_t, const MatrixArray<double>&);
template std::optional<CanonicalRhs<const double>> canonical_spd_rhs(int, int, std::int64_t,
                                                                     const MatrixArray<const double>&);
template LayoutGather<double> plan_gather_spd_matrices(int, std::int64_t, const MatrixArray<const double>&, Triangle,
                                                       double*);
template LayoutGather<double> plan_gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const double>&, double*);
template LayoutScatter<double> plan_scatter_spd_solutions(int, int, std::int64_t, const double*,
                                                          const MatrixArray<double>&);
template LayoutScatter<double> plan_scatter_spd_inverses(int, std::int64_t, const double*, const MatrixArray<double>&,
                                                         Triangle);
template void gather_spd_matrices(int, std::int64_t, const MatrixArray<const double>&, Triangle, double*, unsigned);
template void gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const double>&, double*, unsigned);
template void scatter_spd_solutions(int, int, std::int64_t, const double*, const MatrixArray<double>&, unsigned);
template void scatter_spd_inverses(int, std::int64_t, const double*, const MatrixArray<double>&, Triangle, unsigned);

}  // namespace smallbatch
