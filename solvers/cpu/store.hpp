// Storing the results of a group in the caller's memory. A failed system gets NaN for every number.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/judge.hpp"
#include "solvers/cpu/pivot_numbers.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// The output of a group.
template <class Work>
struct Output {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;

  const Work& work;
  const Judge<Work> judge;
  const Mask& status;
  const std::int64_t first;  // first system of the group in the task
  const int used;            // lanes with a system
  const bool some_failed = any(status);

  /// Stores all wanted results. `rconds` is read only if rcond is wanted.
  void store(const T* rconds) const {
    const SpdSolution<T>& out = work.task.solution;
    typedef std::int32_t Info __attribute__((vector_size(4 * W)));
    const Info info = __builtin_convertvector(status, Info);
    copy((const std::int32_t*)&info, out.info);
    if (out.backward_error != nullptr) {
      T errors[W];
      judge.backward_errors(errors);
      for (int lane = 0; lane < used && any(judge.input.differing); ++lane)
        if (judge.input.differing[lane] != 0) errors[lane] = static_cast<T>(judge.stored_backward_error(lane));
      numbers(errors, out.backward_error);
    }
    numbers(rconds, out.rcond);
    PivotNumbers<Work>{work.n, judge.scaling, judge.pivots}.store(
        out, [this](const auto* of_lane, auto* to) { numbers(of_lane, to); });
    solutions();
  }

 private:
  /// Stores numbers, if they are wanted.
  template <class V>
  void numbers(const V* of_lane, V* out) const {
    constexpr bool is_count = static_cast<V>(0.5) == 0;
    constexpr V of_failed = is_count ? V{} : static_cast<V>(__builtin_nan(""));
    if (out == nullptr) return;
    if (!some_failed) {
      copy(of_lane, out);
      return;
    }
    V values[W];
    for (int lane = 0; lane < W; ++lane) values[lane] = status[lane] != 0 ? of_failed : of_lane[lane];
    copy(values, out);
  }
  template <class V>
  void copy(const V* of_lane, V* out) const {
    if (used == W)
      __builtin_memcpy(out + first, of_lane, W * sizeof(V));
    else
      __builtin_memcpy(out + first, of_lane, static_cast<std::size_t>(used) * sizeof(V));
  }
  void solutions() const {
    const std::int64_t size = work.solution_size;
    if (size == 0) return;
    const Vector nan = Vector{} + static_cast<T>(__builtin_nan(""));
    for (std::int64_t e = 0; e < size && some_failed; ++e) work.x[e] = status != 0 ? nan : work.x[e];
    const std::int64_t step = work.task.solution.x_stride;
    Transposition<T, W>::store_all(work.x, size, used, work.task.solution.x + first * step, step);
  }
};

}  // namespace
}  // namespace smallbatch
