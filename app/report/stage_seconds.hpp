// Where the time of a run went.
#pragma once

#include <chrono>

namespace smallbatch {

/// In seconds. The stages overlap, so they add up to more than the whole.
struct StageSeconds {
  double start = 0;   ///< until there is something that computes
  double blocks = 0;  ///< while blocks are in the stages, and until their numbers are on the disk
  double set_up = 0;  ///< all but the two: files are opened, places laid out, sets ended
  double read = 0, compute = 0, verify = 0, write = 0, total = 0;
  double kernels = 0;  ///< of computing, on GPUs; the rest of it is copies
};

/// Adds the time that `work` takes to `seconds`.
template <class Work>
void timed(double& seconds, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace smallbatch
