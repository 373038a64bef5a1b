// Assumptions that the plans of kernels make about GPUs on which they were not measured. Private to */cuda.
#pragma once

#include <nv/target>

#include <cstddef>

namespace smallbatch {

/// Bytes of shared memory that every GPU of compute capability 8.0 or later can give a thread block. Compute
/// capabilities 8.6, 8.9 and 12.0 have the least, 99 KiB (8.0: 163; 9.0 and 10.0: 227). Code that launches a kernel
/// with more must first query the device's limit. Memory declared __shared__ is included; the compiler limits it to 48
/// KiB.
inline constexpr std::size_t shared_bytes_everywhere = 99 << 10;

/// Returns whether a lane has enough registers for the numbers that plans keep in them. The result is true on compute
/// capability 9.0, where the plans were measured. For other GPUs, the compiler needs more registers for the same
/// source, and would spill. On those GPUs, plans keep fewer numbers in registers, or prevent the compiler from mixing
/// steps, so that fewer numbers are live at a time. Only device code may use this function: no launch may depend on it.
constexpr bool registers_suffice() { NV_IF_ELSE_TARGET(NV_IS_EXACTLY_SM_90, (return true;), (return false;)) }

/// Returns the least number of blocks that a multiprocessor must hold, for __launch_bounds__. On compute capability
/// 9.0, `here` blocks of the kernel fit into the registers. For some other GPUs the compiler would spill, so only
/// `elsewhere` blocks are required there. Each quarter of a multiprocessor has its own registers. A smaller number of
/// blocks therefore helps only if it removes a warp from each quarter.
constexpr int resident_blocks(int here, int elsewhere) { return registers_suffice() ? here : elsewhere; }

/// Returns whether one instruction copies a contiguous piece of memory into shared memory.
constexpr bool has_bulk_copies() { NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;)) }

}  // namespace smallbatch
