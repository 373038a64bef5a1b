// What one would call instead of this library: the batched routines of cuBLAS and cuSOLVER, as steps of a ladder.
#pragma once

#include <memory>
#include <vector>

#include "bench/ladder.hpp"
#include "bench/solve_systems.hpp"

namespace smallbatch {

/// The vendor's ways to do what the shape of `systems` asks for; only those that exist for it (cuSOLVER's batched
/// solve takes one right-hand side, cuBLAS' batched inverse n <= 32).
///
/// They overwrite their input, want an array of pointers and, in part, right-hand sides by columns: restoring,
/// unpacking and reordering is not timed.
template <class T>
std::vector<Step> vendor_steps(const std::shared_ptr<const Systems<T>>& systems);

}  // namespace smallbatch
