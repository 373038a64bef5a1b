// The batched routines of cuBLAS and cuSOLVER, which a user could call instead of this library, as steps of a ladder.
#pragma once

#include <memory>
#include <vector>

#include "bench/ladder.hpp"
#include "bench/solve_systems.hpp"

namespace smallbatch {

/// Returns the vendor's steps for the shape of `systems`. Not every routine takes every shape: cuSOLVER's batched solve
/// takes one right-hand side, and cuBLAS' batched inverse takes n <= 32.
///
/// The routines overwrite their input, and need an array of pointers. Some need right-hand sides by columns. The times
/// leave out the copies that restore, unpack or reorder the input.
template <class T>
std::vector<Step> vendor_steps(const std::shared_ptr<const Systems<T>>& systems);

}  // namespace smallbatch
