// The memory of a thread: arrays cut from the caller's workspace, and the choice of arrays that a task needs.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/systems.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/kernels.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

/// Hands out memory in aligned arrays. If `begin` is null, it only counts the bytes.
class Carver {
 public:
  explicit Carver(void* begin) : begin_((char*)begin) {}
  template <class V>
  V* take(std::int64_t count) {
    V* const array = begin_ == nullptr ? nullptr : (V*)(begin_ + taken_);
    const auto alignment = static_cast<std::int64_t>(ldlt_alignment);
    taken_ += (count * static_cast<std::int64_t>(sizeof(V)) + alignment - 1) / alignment * alignment;
    return array;
  }
  [[nodiscard]] std::int64_t taken() const { return taken_; }

 private:
  char* begin_;
  std::int64_t taken_ = 0;
};

/// The shape of a task's systems.
struct AnyShape {
  static constexpr bool is_known = false;
  static constexpr int most_rows = max_system_size;
  const SpdMethod method;
  const int n, columns;  // columns of x: nrhs, n for the inverse, 0 for the determinant
  const bool wants_inverse;
  const bool dense;  // both triangles are stored
  const std::int64_t matrix_size, rhs_size, solution_size;

  template <class T>
  explicit AnyShape(const LdltTask<T>& task)
      : method(task.method),
        n(task.n),
        columns(task.inverse ? task.n : task.nrhs),
        wants_inverse(task.inverse),
        dense(task.storage == Storage::dense),
        matrix_size(row_begin<std::int64_t>(task.storage, n, n)),
        rhs_size(std::int64_t{n} * task.nrhs),
        solution_size(std::int64_t{n} * columns) {}
};
/// A shape that the compiler knows, for matrices with few rows. With AnyShape, they would spend most of the time on
/// addresses and loops.
template <int Rows>
struct DenseShape {
  static constexpr bool is_known = true;
  static constexpr int most_rows = Rows;
  static constexpr SpdMethod method = SpdMethod::ldlt;
  static constexpr std::integral_constant<int, Rows> n{};
  static constexpr int columns = 1;
  static constexpr bool wants_inverse = false, dense = true;
  static constexpr std::int64_t matrix_size = Rows * Rows, rhs_size = Rows, solution_size = Rows;

  template <class T>
  explicit DenseShape(const LdltTask<T>&) {}
  template <class T>
  static bool fits(const LdltTask<T>& task) {
    return task.n == n && task.nrhs == 1 && task.storage == Storage::dense && task.method == method;
  }
};

/// Returns whether backward errors are computed from A in the caller's memory (system_residual.hpp) and not from a
/// copy. This is cheaper if the copy would not fit into the first-level cache beside the factors, and if no number must
/// be converted.
template <class T, int W>
bool judged_by_system(const LdltTask<T>& task) {
  return Lanes<T, W>::fuses && sizeof(T) == sizeof(double) && task.storage == Storage::dense && task.nrhs == 1 &&
         task.n >= 32 && task.n % W == 0;
}

/// Returns whether A in single precision is converted only once for all columns of the residuals. This is faster for
/// many columns. (With registers of four floats, the larger copy costs as much as it saves.)
template <class T, int W>
bool widens_matrix(const LdltTask<T>& task) {
  return sizeof(T) == sizeof(float) && W > 4 && task.solution.backward_error != nullptr &&
         (task.inverse ? task.n : task.nrhs) >= 8;
}

/// A task, and the arrays of one group of its systems.
template <class T, int W, class Shape = AnyShape>
struct Workspace : Shape {
  using Scalar = T;
  static constexpr int lanes = W;
  using Vector = typename Lanes<T, W>::Vector;
  using Mask = typename Lanes<T, W>::Mask;
  using Wide = typename Lanes<T, W>::Wide;
  static constexpr int wide_per_row = 4;

  const LdltTask<T>& task;
  using Shape::n, Shape::columns, Shape::wants_inverse, Shape::matrix_size, Shape::rhs_size;
  const bool inverts;  ///< A^-1 is the solution, or rcond needs it
  const bool judges_by_system;
  const bool keeps_a;
  Vector *a, *l;        ///< a: panels of A; l: panels of its factors, in place of A unless A is kept
  Vector *b, *x;        ///< b: n * nrhs numbers; x: padded(n) * columns numbers
  Vector *z, *inverse;  ///< z: padded(n)^2, for the inverse and rcond; inverse: n * n, for rcond alone
  Wide* of_residuals;   ///< wide_per_row numbers a row, for residuals (Judge); null if Shape::is_known
  Wide* wide_a;         ///< panels: half of the lanes of A in double precision, or null (widens_matrix)
  Vector* packed;       ///< n (n + 1) / 2 numbers: the factors by rows
  Mask* rhs_shift;      ///< nrhs numbers: the exponents t that scaled the right-hand sides
  T *few_a, *few_b;     ///< copies for a group of fewer than W systems, filled up to W

  Workspace(const LdltTask<T>& the_task, Carver& carver)
      : Shape(the_task),
        task(the_task),
        inverts(wants_inverse || the_task.solution.rcond != nullptr),
        judges_by_system(judged_by_system<T, W>(the_task)),
        keeps_a((the_task.solution.backward_error != nullptr && !judges_by_system) ||
                the_task.solution.rcond != nullptr) {
    const std::int64_t panels_size = panel_begin(panel_count(n)), square = padded(n) * padded(n);
    l = carver.take<Vector>(panels_size);
    a = keeps_a ? carver.take<Vector>(panels_size) : l;
    b = carver.take<Vector>(rhs_size);
    x = carver.take<Vector>(std::int64_t{padded(n)} * columns);
    rhs_shift = carver.take<Mask>(task.nrhs);
    z = carver.take<Vector>(inverts ? square : 0);
    inverse = carver.take<Vector>(inverts && !wants_inverse ? n * n : 0);
    const bool judges = the_task.solution.backward_error != nullptr && !Shape::is_known;
    of_residuals = judges ? carver.take<Wide>(wide_per_row * padded(n)) : nullptr;
    wide_a = widens_matrix<T, W>(task) ? carver.take<Wide>(panels_size) : nullptr;
    packed = carver.take<Vector>(task.factors != nullptr ? n * (n + 1) / 2 : 0);
    const bool all_full = task.count % W == 0;
    few_a = carver.take<T>(all_full ? 0 : W * matrix_size);
    few_b = carver.take<T>(all_full ? 0 : W * rhs_size);
    if (l == nullptr) return;
    if (wants_inverse) inverse = x;
    for (int i = n; i < padded(n); ++i)
      for (int j = 0; j < padded(n); ++j) {
        l[lower_place(i, j)] = a[lower_place(i, j)] = Vector{};
      }
  }
  /// Returns whether ||A|| is summed while A is loaded. Residuals from the caller's A need this. With registers of 512
  /// bits the sum costs nothing, because adders are idle during loading.
  [[nodiscard]] bool loads_norm() const {
    return (judges_by_system && task.solution.backward_error != nullptr) || (keeps_a && sizeof(Vector) == 64);
  }
};

}  // namespace
}  // namespace smallbatch
