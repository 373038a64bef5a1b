// What every instruction set compiles: a task, group after group.
//
// This file and those that it includes from this wing are compiled once per instruction set, all of them after that
// set's `#pragma GCC target` and every other header before it. Everything in them has internal linkage: of an inline
// function the linker keeps one copy for the whole program, and it could be one that the processor cannot run.
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

template <class T, int W, int Columns>
void solve_in_lanes(const LdltTask<T>& task) {
  Carver carver(task.workspace);
  Group<T, W, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += W) {
    Prefetch<T> prefetch =
        prefetch_after(task, first, W, group.work.matrix_size, Elimination<T, W, Columns>::tile_count(task.n));
    group.run(first, task.count - first < W ? static_cast<int>(task.count - first) : W, prefetch);
  }
}

template <class T, int W, int Columns>
void factor_in_lanes(const LdltTask<T>& task) {
  Carver carver(task.workspace);
  Group<T, W, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += W) {
    Prefetch<T> prefetch =
        prefetch_after(task, first, W, group.work.matrix_size, Elimination<T, W, Columns>::tile_count(task.n));
    factor_group(group, first, task.count - first < W ? static_cast<int>(task.count - first) : W, prefetch);
  }
}

template <class T, int W, int Columns>
void solve_factored_in_lanes(const LdltTask<T>& task) {
  Carver carver(task.workspace);
  Group<T, W, Columns> group(task, carver);
  for (std::int64_t first = 0; first < task.count; first += W)
    solve_factored_group(group, first, task.count - first < W ? static_cast<int>(task.count - first) : W);
}

template <class T, int W, int Columns>
std::size_t workspace_size_in_lanes(const LdltTask<T>& task) {
  Carver carver(nullptr);
  const Group<T, W, Columns> group(task, carver);
  return static_cast<std::size_t>(carver.taken());
}

}  // namespace
}  // namespace smallbatch
