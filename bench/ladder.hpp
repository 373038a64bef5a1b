// A ladder: one operation on one problem, in steps from naive to production. Row 0 is what a user would call instead,
// the last row is the production launch. The benchmark, the tests and bench/RESULTS.md all walk the same table, so a
// new step is tested and reported by being listed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace smallbatch {

/// What a check found.
struct Judgement {
  double error_over_bound =
      0;                   ///< largest error of the output over its bound, as the referee sees it; above 1 is wrong
  double relative_l2 = 0;  ///< of the output's error, where the ladder shows it
};

struct Step {
  std::string name;                           ///< the mechanism
  std::string idea;                           ///< what it does otherwise than the step before
  std::function<void(cudaStream_t)> prepare;  ///< untimed: restores what the launch overwrites; may be empty
  std::function<void(cudaStream_t)> launch;
  std::function<void(cudaStream_t)> finish;  ///< untimed: brings the answer to where the check looks; may be empty
  bool vendor = false;                       ///< calls another library, whose kernels cannot be asked for resources
  bool host = false;                         ///< runs on the host until it is done; timed by the host's clock
  double part = 1;                           ///< of the ladder's work that the launch does: a sample, where it is slow
  std::function<Judgement()> check;          ///< where the answer lies elsewhere than the ladder's; may be empty
  double l2_limit = 0;  ///< above 0: the step keeps no bound at every point, and is wrong above this relative L2 error
};

/// What a ladder's rate is compared with: bytes per second, reciprocal square roots per second (one per unit of work),
/// or nothing, where all steps run on the host.
enum class Bound { read, copy, special_function, none };

struct Ladder {
  std::string title;             ///< operation and size
  std::string note;              ///< stands below the title; may be empty
  std::string unit;              ///< of `work`: "systems", "pairs"
  int exponent = 6;              ///< rates are shown in 10^exponent units a second
  double work = 0;               ///< per launch
  double min_bytes = 0;          ///< that every step must move through device memory
  double flops = 0;              ///< by a published convention, for comparison with its figures; 0 where none is usual
  std::string flops_convention;  ///< "2 n^3 per system"
  Bound bound = Bound::read;     ///< copy where as much is written as is read
  bool shows_l2 = false;         ///< the check knows the relative L2 error, too
  std::vector<Step> steps;
  /// Fills the output with NaN, so that what a step does not write is found.
  std::function<void(cudaStream_t)> poison;
  std::function<Judgement()> check;
};

/// What one kernel of a step takes from a multiprocessor.
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
  std::vector<KernelResources> kernels;  ///< in the order of their launch; empty for a vendor's or the host's step
};

/// Poisons, runs and checks a step, then times `repeats` launches with events; fewer, but 5 at least, where they take
/// more than half a second together.
Measurement measure(const Ladder& ladder, const Step& step, int repeats);

/// The same, timed by the host's clock from the call of `launch` to the stream's completion: what a caller waits for
/// who needs the answer. As many calls as fit into 0.1 s, at least 15 and at most 400.
Measurement measure_calls(const Ladder& ladder, const Step& step);

/// The kernels that a launch enqueues, found by capturing it in a graph instead of running it. One that is launched
/// again and again is listed once.
std::vector<KernelResources> kernel_resources(const Step& step);

/// Limits of this device, timed by events.
struct Roofline {
  double read = 0;        ///< bytes per second of the best plain stream that reads
  double copy = 0;        ///< bytes per second of the best plain copy, read plus written
  double roots = 0;       ///< reciprocal square roots per second of a kernel that does nothing else
  double empty_call = 0;  ///< seconds of an empty kernel by the host's clock, from the call to the result

  [[nodiscard]] double of(Bound bound) const {
    return bound == Bound::read ? read : bound == Bound::copy ? copy : roots;
  }
};
Roofline measure_roofline();

/// The part with reciprocal square roots; bench/special_function_roofline.cu.
void measure_roots(Roofline& roofline);

}  // namespace smallbatch
