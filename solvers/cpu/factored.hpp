// Factoring a group of systems, and solving a group with its factors. These are the two halves of Group::run, with the
// factors in the caller's memory in between. The caller's factors are those of A as given; the factors here are those
// of the scaled matrix (scale.hpp).
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/group.hpp"

namespace smallbatch {
namespace {

/// Writes the factors of A by rows into work.packed. Adds lanes to scaling.unusable and scaling.vanished if a factor
/// leaves the range of T.
template <class T, int W, int Columns>
void pack_factors(Group<Workspace<T, W>, Columns>& group) {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using X = Exponents<L>;
  const Workspace<T, W>& work = group.work;
  Scaling<Workspace<T, W>>& scaling = group.scaling;
  Vector* to = work.packed;
  for (int i = 0; i < work.n; ++i) {
    for (int j = 0; j < i; ++j, ++to) {
      *to = work.l[lower_place(i, j)];
      if (!scaling.scaled) continue;
      *to = X::scale(*to, scaling.half[j] - scaling.half[i]);
      scaling.unusable |= *to - *to != 0;
    }
    const Vector pivot = group.pivots.d[i];
    *to = pivot;
    if (scaling.scaled) {
      const Mask exponent = -2 * scaling.half[i];
      *to = X::scale(pivot, exponent);
      scaling.unusable |= *to - *to != 0;
      scaling.vanished |= X::scale(*to, -exponent) != pivot;
    }
    ++to;
  }
}

/// Factors `used` systems from `first` on, from the caller's memory to the caller's memory.
template <class T, int W, int Columns>
void factor_group(Group<Workspace<T, W>, Columns>& group, std::int64_t first, int used, Prefetch<T>& prefetch) {
  using Vector = typename Lanes<T, W>::Vector;
  const LdltTask<T>& task = group.work.task;
  group.input.load(group.work, first, used);
  group.solve(prefetch);  // factors only, because there are no right-hand sides
  pack_factors(group);
  group.status = group.judge().status();
  group.store(first, used);
  const std::int64_t size = std::int64_t{task.n} * (task.n + 1) / 2;
  const Vector nan = Vector{} + static_cast<T>(__builtin_nan(""));
  const bool some_failed = any(group.status);
  for (std::int64_t e = 0; e < size && some_failed; ++e)
    group.work.packed[e] = group.status != 0 ? nan : group.work.packed[e];
  Transposition<T, W>::store_all(group.work.packed, size, used, task.factors + first * task.factors_step,
                                 task.factors_step);
}

/// Solves with the factors and b in the caller's memory, and stores x there.
template <class T, int W, int Columns>
void solve_factored_group(Group<Workspace<T, W>, Columns>& group, std::int64_t first, int used) {
  using Mask = typename Lanes<T, W>::Mask;
  Workspace<T, W>& work = group.work;
  const LdltTask<T>& task = work.task;
  group.input.load(work, first, used);
  group.scaling.scale_factors(work);
  group.pivots.begin(work.n);
  for (int k = 0; k < work.n; ++k) group.pivots.store(k, work.l[lower_place(k, k)]);
  group.scaling.scale_rhs(work);
  Elimination<T, W, Columns>::substitute_all(work.n, work.l, group.pivots, work.x, work.columns);
  group.scaling.scale_back(work);

  Mask& status = group.status;
  status = Mask{};
  for (int lane = 0; lane < used; ++lane) status[lane] = task.factors_info[(first + lane) * task.factors_info_step];
  const auto fail = [&status](Mask where, std::int32_t reason) {
    status = (status == 0) & where ? Mask{} + reason : status;
  };
  if (any(group.scaling.unusable | group.scaling.vanished)) {
    fail(group.input.rhs_not_finite(work), info_rhs_not_finite);
    fail(group.scaling.unusable, info_result_not_finite);
    fail(group.scaling.vanished, info_result_underflowed);
  }
  group.store(first, used);
}

}  // namespace
}  // namespace smallbatch
