// Many small SPD systems on one thread, one system per SIMD lane. A group is W systems: element (i, j) of all of them
// lies in one vector of W lanes. Every step is the same instruction for W systems, and no lane depends on another. A
// system that fails therefore does not change its neighbours, and no result depends on its lane.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/judge.hpp"
#include "solvers/cpu/load.hpp"
#include "solvers/cpu/prefetch.hpp"
#include "solvers/cpu/scale.hpp"
#include "solvers/cpu/store.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// A group of W systems of a task, from input to answer. `Columns` is the width of the elimination's tiles: 4 with 32
/// vector registers, 2 with 16.
template <class Work, int Columns>
struct Group {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using E = Elimination<T, W, Columns>;
  using Mask = typename L::Mask;

  Work work;
  Input<Work> input;
  Scaling<Work> scaling;
  Pivots<L> pivots;
  Mask status;
  T rconds[W];

  Group(const LdltTask<T>& task, Carver& carver) : work(task, carver) {}

  [[nodiscard]] auto prefetch_after(std::int64_t first) const {
    if constexpr (Work::is_known)
      return PrefetchOfKnown<T, W, Work::matrix_size, E::tile_count(Work::n)>{work.task, first + W};
    else
      return smallbatch::prefetch_after(work.task, first, W, work.matrix_size, E::tile_count(work.n));
  }
  Judge<Work> judge() const { return {work, input, scaling, pivots}; }

  /// Loads `used` systems from `first` on from the caller's memory, solves them and stores the answers.
  template <class Prefetch>
  __attribute__((always_inline)) void run(std::int64_t first, int used, Prefetch& prefetch) {
    input.load(work, first, used);
    solve(prefetch);
    store(first, used);
  }

  /// Computes x and the status from the loaded group.
  template <class Prefetch>
  __attribute__((always_inline)) void solve(Prefetch& prefetch) {
    scaling.scale_matrix(work);
    if (!work.wants_inverse) scaling.scale_rhs(work);
    eliminate(prefetch);
    if (work.task.solution.rcond != nullptr) judge().rconds(rconds);
    scaling.scale_back(work);
    status = judge().status();
  }

  void store(std::int64_t first, int used) const { Output<Work>{work, judge(), status, first, used}.store(rconds); }

 private:
  /// Eliminates the scaled system by the method of the task: computes x, the pivots, and the inverse if it is needed.
  template <class Prefetch>
  __attribute__((always_inline)) void eliminate(Prefetch& prefetch) {
    const int n = work.n;
    const auto* const a = scaling.scaled ? work.l : work.a;
    if (work.method == SpdMethod::gauss_jordan) {
      for (int e = 0; e < panel_begin(panel_count(n)) && a != work.l; ++e) work.l[e] = a[e];
      if (work.wants_inverse) {
        E::sweep(n, work.l, pivots, work.inverse);
        return;
      }
      if (work.inverts) {
        Pivots<L> same;
        for (int e = 0; e < panel_begin(panel_count(n)); ++e) work.z[e] = work.l[e];
        E::sweep(n, work.z, same, work.inverse);
      }
      E::gauss_jordan(n, work.l, pivots, work.x, work.columns);
      return;
    }
    E::factor(work.n, a, work.l, pivots, prefetch);
    if (work.inverts) E::invert(n, work.l, pivots, work.z, work.inverse);
    if (!work.wants_inverse) E::substitute_all(work.n, work.l, pivots, work.x, work.columns);
  }
};

}  // namespace
}  // namespace smallbatch
