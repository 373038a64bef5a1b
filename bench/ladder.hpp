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

struct Step {
  std::string name;                           ///< the mechanism
  std::string idea;                           ///< what it does otherwise than the step before
  std::function<void(cudaStream_t)> prepare;  ///< untimed: restores what the launch overwrites; may be empty
  std::function<void(cudaStream_t)> launch;
};

struct Ladder {
  std::string title;     ///< operation and size
  std::string unit;      ///< of `work`: "systems", "pairs"
  double work = 0;       ///< per launch
  double min_bytes = 0;  ///< that every step must move through device memory
  double flops = 0;      ///< of the textbook algorithm, for comparison with published figures; 0 where none is usual
  std::vector<Step> steps;
  /// Fills the output with NaN, so that what a step does not write is found.
  std::function<void(cudaStream_t)> poison;
  /// Largest error of the output over its bound, as the referee sees it; above 1 is wrong.
  std::function<double()> check;
};

/// n x n systems with one right-hand side. T is float or double.
template <class T>
Ladder solve_ladder(int n, std::int64_t batch);

/// V of `charges` random charges on a cubic lattice with `edge` points an axis, single precision.
Ladder potential_ladder(std::int64_t edge, std::int64_t charges);

struct Measurement {
  double error_over_bound = 0;  ///< checked before the clock runs; a wrong step is not timed
  double median_seconds = 0, lowest_seconds = 0, highest_seconds = 0;
};

/// Poisons, runs and checks a step, then times `repeats` launches with events.
Measurement measure(const Ladder& ladder, const Step& step, int repeats);

/// Bytes per second that plain streams reach on this device, by events: reading alone, and copying (read plus written).
struct Roofline {
  double read = 0, copy = 0;
};
Roofline measure_roofline();

}  // namespace smallbatch
