// Times of the stages of a run.
#pragma once

#include <chrono>

namespace smallbatch {

/// Seconds. The stages overlap, so they may add up to more than the total.
struct StageSeconds {
  double start = 0;   ///< until the devices can compute
  double blocks = 0;  ///< while blocks are in the stages, and until their numbers are on the disk
  double set_up = 0;  ///< everything else: opening files, laying out results, ending sets
  double read = 0, compute = 0, verify = 0, write = 0, total = 0;
  double kernels = 0;  ///< part of `compute` in kernels, on GPUs; the rest is copies
};

/// Adds the time that `work` takes to `seconds`.
template <class Work>
void timed(double& seconds, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace smallbatch
