// The body that is compiled for every instruction set: it solves a task, group after group.
//
// This file and the files of this wing that it includes are compiled once per instruction set. They come after that
// set's `#pragma GCC target`, and every other header comes before it. Everything in them has internal linkage. An
// inline function with external linkage would have one copy for the whole program. The processor might be unable to run
// that copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solvers/cpu/factored.hpp"
#include "solvers/cpu/group.hpp"
#include "solvers/cpu/kernels.hpp"
#include "solvers/cpu/prefetch.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

template <class Work, int Columns>
void solve_groups(const LdltTask<typename Work::Scalar>& task) {
  constexpr int lanes = Work::lanes;
  Carver carver(task.workspace);
  Group<Work, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += lanes) {
    auto prefetch = group.prefetch_after(first);
    group.run(first, task.count - first < lanes ? static_cast<int>(task.count - first) : lanes, prefetch);
  }
}

template <class T, int W, int Columns>
void solve_in_lanes(const LdltTask<T>& task) {
  if (DenseShape<8>::fits(task))
    solve_groups<Workspace<T, W, DenseShape<8>>, Columns>(task);
  else
    solve_groups<Workspace<T, W>, Columns>(task);
}

template <class T, int W, int Columns>
void factor_in_lanes(const LdltTask<T>& task) {
  Carver carver(task.workspace);
  Group<Workspace<T, W>, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += W) {
    Prefetch<T> prefetch = group.prefetch_after(first);
    factor_group(group, first, task.count - first < W ? static_cast<int>(task.count - first) : W, prefetch);
  }
}

template <class T, int W, int Columns>
void solve_factored_in_lanes(const LdltTask<T>& task) {
  Carver carver(task.workspace);
  Group<Workspace<T, W>, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += W)
    solve_factored_group(group, first, task.count - first < W ? static_cast<int>(task.count - first) : W);
}

template <class T, int W, int Columns>
std::size_t workspace_size_in_lanes(const LdltTask<T>& task) {
  Carver carver(nullptr);
  const Group<Workspace<T, W>, Columns> group(task, carver);
  return static_cast<std::size_t>(carver.taken());
}

}  // namespace
}  // namespace smallbatch
