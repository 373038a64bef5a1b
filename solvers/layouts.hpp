// Copies between the callers' layouts and the solvers' layout, for matrices, right-hand sides and solutions. The
// solvers read and write by rows, one matrix after the other (core/systems.hpp). Data in this canonical layout are used
// in place. All other data are gathered into canonical memory, and answers are scattered from it. The header
// layouts.cuh has these functions for a GPU.
//
//     const auto a = canonical_spd_matrices(n, count, matrices, triangle);
//
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

/// A view of many matrices of one size. T is const for matrices that are read. Element (i, j), counted from 0, of
/// matrix k is
///
///     base[i * row_step + j * column_step],  base = pointers[k] or data + k * stride
///
/// LAPACK's order has row_step = 1 and the leading dimension as column_step; C's order exchanges the two. Steps and the
/// stride are in elements and may be negative. The stride may be smaller than the steps, so matrices may be
/// interleaved.
template <class T>
struct MatrixArray {
  T* data = nullptr;             ///< element (0, 0) of matrix 0; ignored if there are pointers
  T* const* pointers = nullptr;  ///< one per matrix, in the same kind of memory (host or device) as the matrices
  std::int64_t stride = 0;       ///< from one matrix to the next; 0: one matrix for all. Ignored if there are pointers
  std::int64_t row_step = 0, column_step = 0;  ///< ignored for a packed triangle

  [[nodiscard]] bool is_shared() const { return pointers == nullptr && stride == 0; }
};

/// Which elements of a symmetric matrix are present.
enum class Triangle {
  both,   ///< all elements; the solvers compare the triangles and refuse a matrix that is not symmetric
  lower,  ///< elements with i >= j (LAPACK's uplo = 'L'); no other elements are read or written
  upper,  ///< elements with i <= j (LAPACK's uplo = 'U'); no other elements are read or written
  /// The lower triangle by rows: n (n + 1) / 2 elements without gaps. It equals the upper triangle by columns (LAPACK's
  /// packed 'U').
  packed_lower,
  /// The upper triangle by rows. It equals the lower triangle by columns (LAPACK's packed 'L').
  packed_upper
};

/// Matrices that a solver reads in place, as SpdBatch describes them.
template <class T>
struct CanonicalMatrices {
  Storage storage;      ///< the storage of the matrices
  const T* data;        ///< element (0, 0) of matrix 0
  std::int64_t stride;  ///< as in SpdBatch
};
/// Right-hand sides or solutions that a solver reads or writes in place.
template <class T>
struct CanonicalRhs {
  T* data;              ///< the first number of system 0
  std::int64_t stride;  ///< as in SpdBatch and SpdSolution
};

/// Returns the matrices if they are canonical, or nothing if they must be gathered. A symmetric matrix is its own
/// transpose. Matrices with leading dimension n are therefore canonical by rows and by columns: the upper triangle by
/// columns is the lower triangle by rows. (If the triangles differ by roundings, a matrix by columns is solved with its
/// upper triangle.)
template <class T>
[[nodiscard, gnu::visibility("default")]] std::optional<CanonicalMatrices<T>> canonical_spd_matrices(
    int n, std::int64_t count, const MatrixArray<const T>& matrices, Triangle triangle);

/// Returns the right-hand sides if they are canonical, or nothing if they must be gathered. They are matrices of n rows
/// and nrhs columns. Solutions may also be given if T is not const; systems must not share a solution. A single
/// right-hand side is the same by columns and by rows.
template <class T>
[[nodiscard, gnu::visibility("default")]] std::optional<CanonicalRhs<T>> canonical_spd_rhs(
    int n, int nrhs, std::int64_t count, const MatrixArray<T>& matrices);

/// Returns the storage that gather_spd_matrices makes: dense for Triangle::both, packed_lower for all others.
[[nodiscard]] constexpr Storage gathered_spd_storage(Triangle triangle) {
  return triangle == Triangle::both ? Storage::dense : Storage::packed_lower;
}

// All functions below throw Error (bad_input)
//
// - for n outside [1, max_system_size] or a negative nrhs or count,
// - for a null array if there is something to copy (null pointers among `pointers` are not detected),
// - if numbers of `to` would be written twice (overlaps between matrices given by pointers are not detected).
//
// `from` and `to` must not overlap. The number of threads may be 0: one per core.

/// Gathers matrices into (count, n, n) or (count, n (n + 1) / 2) numbers, as gathered_spd_storage() says.
template <class T>
[[gnu::visibility("default")]] void gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from,
                                                        Triangle triangle, T* to, unsigned threads = 0);

/// Gathers right-hand sides into (count, n, nrhs) numbers. The nrhs numbers of a row are adjacent.
template <class T>
[[gnu::visibility("default")]] void gather_spd_rhs(int n, int nrhs, std::int64_t count,
                                                   const MatrixArray<const T>& from, T* to, unsigned threads = 0);

/// Scatters solutions from (count, n, nrhs) numbers.
template <class T>
[[gnu::visibility("default")]] void scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from,
                                                          const MatrixArray<T>& to, unsigned threads = 0);

/// Scatters inverses from (count, n, n) numbers; only the elements of `triangle` are written. (To get the whole inverse
/// of a matrix that was given as a triangle, pass Triangle::both here.)
template <class T>
[[gnu::visibility("default")]] void scatter_spd_inverses(int n, std::int64_t count, const T* from,
                                                         const MatrixArray<T>& to, Triangle triangle,
                                                         unsigned threads = 0);

}  // namespace smallbatch
#pragma GCC visibility pop
