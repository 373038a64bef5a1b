// Spans of systems. A warp looks through a span, and solves the systems that earlier kernels have marked; mostly there
// are none. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

constexpr int longest_span = 16 * warp_lanes;  // the most systems that a warp looks through at a time

/// Returns the arguments of a launch that looks for the few systems with work left.
template <class T>
Arguments<T> in_spans(Arguments<T> arguments) {
  // Spans grow with the number of systems, but stay short enough that the work is spread over many warps.
  constexpr std::int64_t warps = 2048;
  arguments.span = static_cast<int>(
      std::clamp<std::int64_t>(arguments.count / warps / warp_lanes * warp_lanes, warp_lanes, longest_span));
  return arguments;
}

/// Returns whether the span of a task has work. A launch with args.marked has work where a mark is not `settled`. Each
/// lane reads 16 marks at once. Most launches with args.marked find no work, and end here. The whole warp calls.
template <class T>
__device__ __forceinline__ bool has_work(const Arguments<T>& args, unsigned task) {
  constexpr int of_lane = longest_span / warp_lanes;
  static_assert(of_lane * sizeof(Mark) == sizeof(uint4) && static_cast<int>(Mark::settled) == 0);
  if (!args.marked) return true;
  const std::int64_t first = std::int64_t{task} * args.span + of_lane * threadIdx.x;
  unsigned marked = 0;
  if (const bool is_own = of_lane * static_cast<int>(threadIdx.x) < args.span;
      is_own && first + of_lane <= args.count) {
    const uint4 marks = *reinterpret_cast<const uint4*>(args.marks + first);
    marked = marks.x | marks.y | marks.z | marks.w;
  } else if (is_own) {
#pragma unroll 1
    for (std::int64_t system = first; system < args.count; ++system)
      marked |= static_cast<unsigned>(args.marks[system]);
  }
  return __any_sync(whole_warp, marked != 0);
}

}  // namespace

}  // namespace smallbatch
