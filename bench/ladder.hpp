// A ladder is a table of variants of one operation on one problem, from a naive one to production. The variants are
// called steps. Production is the code that runs when a user calls smallbatch. Row 0 is another library that a user
// could call instead; the last row is the production launch. The benchmark, the tests and bench/RESULTS.md use the same
// ladders. A new step is therefore tested and reported as soon as a ladder lists it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smallbatch {

/// Result of a check.
struct Judgement {
  double error_over_bound = 0;  ///< largest error of the output, divided by the referee's bound; above 1: wrong
  double relative_l2 = 0;       ///< relative L2 error of the output, if the ladder shows it
};

struct Step {
  std::string name;                           ///< the mechanism
  std::string idea;                           ///< difference from the previous step
  std::function<void(cudaStream_t)> prepare;  ///< not timed: restores data that the launch overwrites; may be empty
  std::function<void(cudaStream_t)> launch;
  std::function<void(cudaStream_t)> finish;  ///< not timed: moves the result to where the check reads it; may be empty
  bool vendor = false;                       ///< calls another library; resources of its kernels are unknown
  bool host = false;                         ///< runs on the host; timed by the host's clock
  double part = 1;                           ///< part of Ladder::work that the launch does; below 1 for slow steps
  std::function<Judgement()> check;  ///< replaces Ladder::check, if the step stores its result elsewhere; may be empty
  double l2_limit = 0;               ///< above 0: this limit of the relative L2 error replaces the bound at every point
};

/// Limit that a ladder's rate is compared with. `read` and `copy` are in bytes per second. `special_function` is in
/// reciprocal square roots per second, and a unit of work needs one root. `none`: there is no limit, because all steps
/// run on the host.
enum class Bound { read, copy, special_function, none };

struct Ladder {
  std::string title;             ///< operation and size
  std::string note;              ///< text below the title; may be empty
  std::string unit;              ///< unit of `work`, for example "systems"
  int exponent = 6;              ///< rates are shown in 10^exponent units a second
  double work = 0;               ///< number of units (see `unit`) per launch
  double min_bytes = 0;          ///< bytes that every step must move through device memory
  double flops = 0;              ///< floating-point operations per launch, by a published convention; 0: no convention
  std::string flops_convention;  ///< the convention, for example "2 n^3 per system"
  Bound bound = Bound::read;     ///< copy if a step writes as much as it reads
  bool shows_l2 = false;         ///< whether the check also computes the relative L2 error
  std::vector<Step> steps;
  /// Fills the output with NaN, so that the check finds values that a step did not write.
  std::function<void(cudaStream_t)> poison;
  std::function<Judgement()> check;
};

/// Resources that one kernel of a step takes from a multiprocessor.
struct KernelResources {
  int registers = 0;             ///< per thread
  std::size_t local_bytes = 0;   ///< per thread: spilled registers and arrays that are not in registers
  std::size_t shared_bytes = 0;  ///< per block, static and dynamic
  int threads = 0;               ///< per block
  int resident_warps = 0;        ///< per multiprocessor, at most
};

/// One step of a ladder, measured.
struct Measurement {
  Judgement judgement;  ///< checked before the clock runs; a wrong step is not timed
  bool right = false;
  double median_seconds = 0, lowest_seconds = 0, highest_seconds = 0;
  std::vector<KernelResources> kernels;  ///< in the order of their launch; empty for steps of a vendor or on the host
};

/// Poisons the output, runs and checks the step, then times `repeats` launches with events. If these launches would
/// take more than half a second together, fewer are timed, but at least 5.
Measurement measure(const Ladder& ladder, const Step& step, int repeats);

/// Checks a step and times single calls by the host's clock, from the call of `launch` until the stream is done. This
/// is the time that a caller waits for the result. The number of calls is what fits into 0.1 s, at least 15 and at most
/// 400.
Measurement measure_calls(const Ladder& ladder, const Step& step);

/// Returns the kernels that a launch enqueues. It captures the launch in a graph and does not run it. A kernel that is
/// launched repeatedly is listed once.
std::vector<KernelResources> kernel_resources(const Step& step);

/// Limits of this device. All but empty_call are timed by events.
struct Roofline {
  double read = 0;        ///< bytes per second of the fastest kernel that only reads
  double copy = 0;        ///< bytes per second of the fastest copy, read plus written
  double roots = 0;       ///< reciprocal square roots per second of a kernel that computes only these
  double empty_call = 0;  ///< seconds of an empty kernel by the host's clock, from the call to the result

  [[nodiscard]] double of(Bound bound) const {
    return bound == Bound::read ? read : bound == Bound::copy ? copy : roots;
  }
};
Roofline measure_roofline();

/// Measures `roots` of the roofline; bench/special_function_roofline.cu.
void measure_roots(Roofline& roofline);

}  // namespace smallbatch
