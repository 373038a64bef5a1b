// Assumptions of kernels' plans about GPUs that the plans were not measured on. Private to */cuda.
#pragma once

#include <nv/target>

#include <cstddef>

namespace smallbatch {

/// Shared memory that a thread block may ask for on every GPU from compute capability 8.0 on. 8.6, 8.9 and 12.0 have
/// the least, 99 KiB (8.0: 163; 9.0 and 10.0: 227). A kernel may be launched with more only after the device was asked.
/// Memory declared __shared__ is included; the compiler limits it to 48 KiB.
inline constexpr std::size_t shared_bytes_everywhere = 99 << 10;

/// Returns whether the registers of a lane suffice for what plans keep in them. They do on compute capability 9.0,
/// where the plans were measured. On others, the compiler needs more registers for the same source, and would spill.
/// Plans there keep fewer numbers, or separate steps, so that fewer numbers are live at a time. For device code alone:
/// no launch may depend on it.
constexpr bool registers_suffice() { NV_IF_ELSE_TARGET(NV_IS_EXACTLY_SM_90, (return true;), (return false;)) }

/// Returns how many blocks a multiprocessor holds at least. On compute capability 9.0, `here` blocks of the kernel fit
/// into the registers. For some other GPU the compiler would spill, so there only `elsewhere` blocks are asked for. The
/// four quarters of a multiprocessor have their own registers, so a smaller number helps only if it removes four warps.
/// For __launch_bounds__ alone.
constexpr int resident_blocks(int here, int elsewhere) { return registers_suffice() ? here : elsewhere; }

/// Returns whether one instruction copies a contiguous piece of memory into shared memory.
constexpr bool has_bulk_copies() { NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;)) }

}  // namespace smallbatch
