// Plans for the copies of layouts.hpp: which numbers go where. Host and device carry them out. (nvcc compiles this for
// the device with --expt-relaxed-constexpr.) Private to this room.
#pragma once

#include <cstdint>
#include <type_traits>

#include "solvers/layouts.hpp"

namespace smallbatch {

/// Copies numbers of `count` matrices between the caller's array (type M) and canonical memory (type C). One of the two
/// types is const; that side is read. For a triangle, only elements (row, column) with column <= row are copied.
template <class M, class C>
struct LayoutCopy {
  MatrixArray<M> array;  ///< for Triangle::upper, the steps are exchanged, which makes the triangle a lower one
  C* canonical;
  std::int64_t count, canonical_step;
  int rows, columns;
  Triangle triangle;  ///< never upper
  bool packed;        ///< canonical memory holds lower triangles by rows

  [[nodiscard]] constexpr int end_of_row(int row) const { return triangle == Triangle::both ? columns : row + 1; }

  constexpr void operator()(std::int64_t matrix, int row, int column) const {
    M* const base = array.pointers != nullptr ? array.pointers[matrix] : array.data + matrix * array.stride;
    C& canonical_number =
        canonical[matrix * canonical_step + (packed ? std::int64_t{row} * (row + 1) / 2 : std::int64_t{row} * columns) +
                  column];
    M& number = base[place(row, column)];
    if constexpr (std::is_const_v<M>)
      canonical_number = number;
    else
      number = canonical_number;
  }

  /// Returns whether the distance between matrices is smaller than the distance between their elements. The inner loop
  /// should then run over the matrices.
  [[nodiscard]] constexpr bool across_matrices() const {
    const auto is_larger = [](std::int64_t one, std::int64_t other) {
      return (one < 0 ? -one : one) > (other < 0 ? -other : other);
    };
    const bool by_steps = triangle == Triangle::both || triangle == Triangle::lower;
    return array.pointers == nullptr && array.stride != 0 && by_steps &&
           (rows == 1 || is_larger(array.row_step, array.stride)) &&
           (columns == 1 || is_larger(array.column_step, array.stride));
  }

 private:
  [[nodiscard]] constexpr std::int64_t place(int row, int column) const {
    if (triangle == Triangle::packed_lower) return row * (row + 1) / 2 + column;
    if (triangle == Triangle::packed_upper) return column * (2 * rows - column - 1) / 2 + row;
    return row * array.row_step + column * array.column_step;
  }
};

template <class T>
using LayoutGather = LayoutCopy<const T, T>;
template <class T>
using LayoutScatter = LayoutCopy<T, const T>;

/// Returns the plan for gather_spd_matrices() (layouts.hpp), and throws Error as that function does.
template <class T>
LayoutGather<T> plan_gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from, Triangle triangle,
                                         T* to);
/// Returns the plan for gather_spd_rhs(), and throws Error as that function does.
template <class T>
LayoutGather<T> plan_gather_spd_rhs(int n, int nrhs, std::int64_t count, const MatrixArray<const T>& from, T* to);
/// Returns the plan for scatter_spd_solutions(), and throws Error as that function does.
template <class T>
LayoutScatter<T> plan_scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from,
                                            const MatrixArray<T>& to);
/// Returns the plan for scatter_spd_inverses(), and throws Error as that function does.
template <class T>
LayoutScatter<T> plan_scatter_spd_inverses(int n, std::int64_t count, const T* from, const MatrixArray<T>& to,
                                           Triangle triangle);

}  // namespace smallbatch
