// What kernels' plans know of GPUs that they were not measured on. Private to */cuda.
#pragma once

#include <nv/target>

#include <cstddef>

namespace smallbatch {

/// Shared memory that a block of threads may ask for on each GPU of compute capability 8.0 and later: those of 8.6, 8.9
/// and 12.0 have the least, 99 KiB (8.0: 163; 9.0 and 10.0: 227). No kernel is launched with more but where the device
/// has been asked. What is declared __shared__ takes part, but is 48 KiB at most, as the compiler sees to.
inline constexpr std::size_t shared_bytes_everywhere = 99 << 10;

/// Whether the registers of a lane suffice for what plans keep in them: those of compute capability 9.0, which they
/// were measured on. Of the same source the compiler wants more for others, where it would spill: there plans keep
/// less, or keep steps apart, so that fewer numbers are under way. For device code alone: no launch may depend on it.
constexpr bool registers_suffice() { NV_IF_ELSE_TARGET(NV_IS_EXACTLY_SM_90, (return true;), (return false;)) }

/// How many blocks share a multiprocessor, at least, of a kernel that fits into the registers of compute capability 9.0
/// `here` times, while for some other one the compiler would spill: there `elsewhere` times. What counts is how many
/// warps each quarter of a multiprocessor has: four warps less, or nothing is won. For __launch_bounds__ alone.
constexpr int resident_blocks(int here, int elsewhere) { return registers_suffice() ? here : elsewhere; }

/// Whether one instruction copies a whole run of memory into shared memory.
constexpr bool has_bulk_copies() { NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;)) }

}  // namespace smallbatch
