// The memory of a thread: one array after the other of what the caller gave, and which of them a task needs.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/kernels.hpp"
#include "solvers/cpu/vectors.hpp"

namespace smallbatch {
namespace {

/// Memory that is handed out in aligned arrays; without a beginning it only counts them.
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

/// Whether backward errors are cheaper from A where the caller has it (system_residual.hpp) than from a copy: where the
/// copy would not fit beside the factors into the first cache, and no number has to be converted.
template <class T, int W>
bool judged_by_system(const LdltTask<T>& task) {
  return Lanes<T, W>::fuses && sizeof(T) == sizeof(double) && task.storage == Storage::dense && task.nrhs == 1 &&
         task.n >= 32 && task.n % W == 0;
}

/// A task, and the arrays of one group of its systems.
template <class T, int W>
struct Workspace {
  using Vector = typename Lanes<T, W>::Vector;
  using Mask = typename Lanes<T, W>::Mask;

  const LdltTask<T>& task;
  const int n, columns;  // columns of x: nrhs, n for the inverse, none for the determinant
  const bool dense;      // both triangles are there
  const std::int64_t matrix_size, rhs_size, solution_size;
  const bool inverts;  // A^-1 is the solution, or rcond needs it
  const bool judges_by_system;
  const bool keeps_a;
  Vector *a, *l;        // panels: A; its factors, in its place where A is not kept
  Vector *b, *x;        // n * nrhs; padded(n) * columns
  Vector *z, *inverse;  // padded(n)^2, for the inverse and rcond; n * n, for rcond without the inverse
  Vector* packed;       // n (n + 1) / 2, the factors by rows
  Mask* rhs_shift;      // nrhs: t, the exponents by which right-hand sides were scaled
  T *few_a, *few_b;     // W systems, for a group that is not full

  Workspace(const LdltTask<T>& the_task, Carver& carver)
      : task(the_task),
        n(the_task.n),
        columns(the_task.inverse ? the_task.n : the_task.nrhs),
        dense(the_task.storage == Storage::dense),
        matrix_size(the_task.storage == Storage::packed_lower ? n * (n + 1) / 2 : n * n),
        rhs_size(std::int64_t{n} * the_task.nrhs),
        solution_size(std::int64_t{n} * columns),
        inverts(the_task.inverse || the_task.solution.rcond != nullptr),
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
    inverse = carver.take<Vector>(inverts && !task.inverse ? n * n : 0);
    packed = carver.take<Vector>(task.factors != nullptr ? n * (n + 1) / 2 : 0);
    const bool all_full = task.count % W == 0;
    few_a = carver.take<T>(all_full ? 0 : W * matrix_size);
    few_b = carver.take<T>(all_full ? 0 : W * rhs_size);
    if (l == nullptr) return;
    if (task.inverse) inverse = x;
    for (int i = n; i < padded(n); ++i)
      for (int j = 0; j < padded(n); ++j) {
        l[lower_place(i, j)] = a[lower_place(i, j)] = Vector{};
      }
  }
};

}  // namespace
}  // namespace smallbatch
