// Assumptions about GPUs on which the plans of kernels were not measured. Private to */cuda.
#pragma once

#include <nv/target>

#include <cstddef>

namespace smallbatch {

/// Shared memory that a thread block may ask for on every GPU from compute capability 8.0 on. Compute capabilities 8.6,
/// 8.9 and 12.0 have the least, 99 KiB (8.0: 163; 9.0 and 10.0: 227). Before a kernel is launched with more, the device
/// must be asked. Memory declared __shared__ is included; the compiler limits it to 48 KiB.
inline constexpr std::size_t shared_bytes_everywhere = 99 << 10;

/// Returns whether a lane has enough registers for the numbers that plans keep in them. It has on compute capability
/// 9.0, where the plans were measured. For other GPUs, the compiler needs more registers for the same source, and would
/// spill. On those GPUs, plans keep fewer numbers in registers, or keep the compiler from mixing steps. Then fewer
/// numbers are live at a time. Only device code may use this function: no launch may depend on it.
constexpr bool registers_suffice() { NV_IF_ELSE_TARGET(NV_IS_EXACTLY_SM_90, (return true;), (return false;)) }

/// Returns the least number of blocks that a multiprocessor must hold, for __launch_bounds__. On compute capability
/// 9.0, `here` blocks of the kernel fit into the registers. For some other GPUs the compiler would spill, so only
/// `elsewhere` blocks are required there. The four quarters of a multiprocessor have their own registers, so a smaller
/// number helps only if it removes four warps.
constexpr int resident_blocks(int here, int elsewhere) { return registers_suffice() ? here : elsewhere; }

/// Returns whether one instruction copies a contiguous piece of memory into shared memory.
constexpr bool has_bulk_copies() { NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;)) }

}  // namespace smallbatch
