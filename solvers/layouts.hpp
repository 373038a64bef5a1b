// Matrices, right-hand sides and solutions as callers have them, and as the solvers read and write them: by rows, one
// after the other (core/systems.hpp). What lies so already is used where it lies; what does not is gathered into memory
// of that form, and answers are scattered from it. layouts.cuh does the same on a GPU.
//
//     const auto a = canonical_spd_matrices(n, count, matrices, triangle);
//     if (a) {
//       batch.a = a->data, batch.a_stride = a->stride, batch.shape.storage = a->storage;
//     } else {
//       gather_spd_matrices(n, matrices.is_shared() ? 1 : count, matrices, triangle, memory);
//       batch.a = memory, batch.a_stride = matrices.is_shared() ? 0 : tight;
//       batch.shape.storage = gathered_spd_storage(triangle);
//     }
#pragma once

#include <cstdint>
#include <optional>

#include "core/systems.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// A view of many matrices of one size, T const for those that are read. Element (i, j), counted from 0, of matrix k is
///     base[i * row_step + j * column_step],  base = pointers[k] or data + k * stride
/// so that row_step = 1 and column_step = the leading dimension is LAPACK's order, and the other way round is C's.
/// Steps and the stride are in numbers and may be negative; the batch may be the axis that lies closest together.
template <class T>
struct MatrixArray {
  T* data = nullptr;             ///< of matrix 0; not looked at where there are pointers
  T* const* pointers = nullptr;  ///< one for each matrix, in memory of the same kind (host or device) as the matrices
  std::int64_t stride = 0;  ///< from one matrix to the next; 0: one for all. Not looked at where there are pointers
  std::int64_t row_step = 0, column_step = 0;  ///< not looked at where a packed triangle is asked for

  [[nodiscard]] bool is_shared() const { return pointers == nullptr && stride == 0; }
};

/// Which elements of symmetric matrices there are.
enum class Triangle {
  both,          ///< all; the solvers compare the triangles, and refuse a matrix that is not symmetric
  lower,         ///< those with i >= j (LAPACK's uplo = 'L'); nothing else is looked at, or written
  upper,         ///< those with i <= j (LAPACK's uplo = 'U')
  packed_lower,  ///< the lower triangle by rows, which is the upper one by columns (LAPACK's packed 'U'), n (n + 1) / 2
                 ///< numbers one after the other
  packed_upper   ///< the upper triangle by rows, which is the lower one by columns (LAPACK's packed 'L')
};

/// Matrices that a solver reads where they lie: what SpdBatch is told of them.
template <class T>
struct CanonicalMatrices {
  Storage storage;      ///< that they have
  const T* data;        ///< of matrix 0
  std::int64_t stride;  ///< as in SpdBatch
};
/// Right-hand sides or solutions that a solver reads, or writes, where they lie.
template <class T>
struct CanonicalRhs {
  T* data;              ///< of system 0
  std::int64_t stride;  ///< as in SpdBatch and SpdSolution
};

/// Nothing where the matrices have to be gathered. A symmetric matrix is its own transpose, so that leading dimension n
/// is canonical by rows and by columns: the upper triangle by columns is the lower one by rows. (Where triangles differ
/// by roundings, the solvers' lower one is the upper one of a matrix by columns.)
template <class T>
[[nodiscard, gnu::visibility("default")]] std::optional<CanonicalMatrices<T>> canonical_spd_matrices(
    int n, std::int64_t count, const MatrixArray<const T>& matrices, Triangle triangle);

/// Nothing where the right-hand sides, matrices of n rows and nrhs columns, have to be gathered. T const or not: of
/// solutions, too, which must not be shared. One right-hand side by columns lies as by rows.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::optional<CanonicalRhs<T>> canonical_spd_rhs(
    int n, int nrhs, std::int64_t count, const MatrixArray<T>& matrices);

/// What gather_spd_matrices makes: dense of both triangles, packed_lower of one.
[[nodiscard]] constexpr Storage gathered_spd_storage(Triangle triangle) {
  return triangle == Triangle::both ? Storage::dense : Storage::packed_lower;
}

// All of these throw Error (bad_input) for n outside [1, max_system_size], a negative nrhs or count, an array that is
// null where there is something to copy (single pointers among `pointers` are not looked at), and where numbers of
// `to` would be written twice (that two pointers' matrices do not meet is up to the caller). `from` and `to` do not
// overlap. threads: 0 is one per core.

/// (count, n, n) or (count, n (n + 1) / 2) numbers, as gathered_spd_storage() says.
template <class T>
[[gnu::visibility("default")]] void gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from,
                                                        Triangle triangle, T* to, unsigned threads = 0);

/// (count, n, nrhs) numbers, the right-hand side index fastest.
template <class T>
[[gnu::visibility("default")]] void gather_spd_rhs(int n, int nrhs, std::int64_t count,
                                                   const MatrixArray<const T>& from, T* to, unsigned threads = 0);

/// From (count, n, nrhs) solutions.
template <class T>
[[gnu::visibility("default")]] void scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from,
                                                          const MatrixArray<T>& to, unsigned threads = 0);

/// From (count, n, n) inverses, of which the elements of `triangle` are written. (Who asks with a triangle and is to
/// have all of the inverse gives Triangle::both here.)
template <class T>
[[gnu::visibility("default")]] void scatter_spd_inverses(int n, std::int64_t count, const T* from,
                                                         const MatrixArray<T>& to, Triangle triangle,
                                                         unsigned threads = 0);

}  // namespace smallbatch
#pragma GCC visibility pop
