// Spans of systems. A warp reads the marks of a span, and works on the systems that earlier kernels have marked. Most
// spans have no marked system. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/common/device.cuh"

namespace smallbatch {

namespace {

constexpr int longest_span = 16 * warp_lanes;  // the most systems in a span

/// Returns the arguments of a launch that searches spans for the few marked systems.
template <class T>
Arguments<T> in_spans(Arguments<T> arguments) {
  // Spans grow with the number of systems, but stay short enough that the work is spread over many warps.
  constexpr std::int64_t warps = 2048;
  arguments.span = static_cast<int>(
      std::clamp<std::int64_t>(arguments.count / warps / warp_lanes * warp_lanes, warp_lanes, longest_span));
  return arguments;
}

/// Returns whether the span of a task has work. With args.marked, it has work if the mark of any of its systems is not
/// `settled`; otherwise it always has. Each lane reads 16 marks at once. Most launches with args.marked find no work,
/// and end here. The whole warp calls.
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
