// Spans of systems, of which a warp does those that earlier kernels have marked: mostly none. Private to solvers/cuda.
#pragma once

#include "solvers/cuda/device.cuh"

namespace smallbatch {

namespace {

constexpr int longest_span = 16 * warp_lanes;  // of systems that a warp looks through at a time

/// The arguments of a launch that looks for the few systems with work to do.
template <class T>
Arguments<T> in_spans(Arguments<T> arguments) {
  // The more systems, the more of them in a span; but not so many that few warps would have to do all the work.
  constexpr std::int64_t warps = 2048;
  arguments.span = static_cast<int>(
      std::clamp<std::int64_t>(arguments.count / warps / warp_lanes * warp_lanes, warp_lanes, longest_span));
  return arguments;
}

/// Whether something may be left to do in the span of a task: a mark that is not `settled`, as far as all marks can be
/// read 16 at a time. The whole warp calls.
template <class T>
__device__ __forceinline__ bool has_marks(const Arguments<T>& args, unsigned task) {
  static_assert(longest_span == 16 * warp_lanes && static_cast<int>(Mark::settled) == 0);
  const int place = 16 * static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{task} * args.span + place;
  bool any = false;
  if (place < args.span && first < args.count) {
    any = first + 16 > args.count;
    if (!any) {
      const uint4 marks = *reinterpret_cast<const uint4*>(args.marks + first);
      any = (marks.x | marks.y | marks.z | marks.w) != 0;
    }
  }
  return __any_sync(whole_warp, any);
}

}  // namespace

}  // namespace smallbatch
