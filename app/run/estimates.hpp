// Estimates of how long a job takes, right to within a factor of about two. They come from measurements of each kind of
// work (bench/RESULTS.md). They decide the device of --device auto and the share that --verify auto checks. They do not
// change any number in the results.
#pragma once

#include <cstddef>

#include "app/cli/options.hpp"
#include "core/instruction_sets.hpp"
#include "io/problem_reader.hpp"

namespace smallbatch {

/// Seconds that the parts of a job take.
struct Estimate {
  double cpu = 0;      ///< one core computes on the cpu backend
  double gpu = 0;      ///< one GPU, once started, copies and computes
  double referee = 0;  ///< one core verifies
  double read = 0;     ///< the file is read from the disk cache

  /// Returns the estimate of one of `parts` equal parts.
  [[nodiscard]] Estimate part(int parts) const { return {cpu / parts, gpu / parts, referee / parts, read / parts}; }
};

/// Estimates a job. The member `referee` is for the answers that `verify` checks. With auto it is for all answers.
Estimate estimate(const ProblemReader& reader, ScalarType precision, const VerifyMode& verify,
                  InstructionSet instruction_set);

/// Returns the seconds in which `threads` cores compute everything and verify `verified_share` of it.
double seconds_on_cpu(const Estimate& job, double verified_share, unsigned threads);
/// Returns the seconds in which `gpus` GPUs compute everything, while `threads` cores verify `verified_share` of it.
/// They include the start of the GPUs, a third of a second.
double seconds_on_gpus(const Estimate& job, std::size_t gpus, double verified_share, unsigned threads);

/// Returns whether one GPU, with its start of a third of a second, finishes before `threads` cores do. Either way the
/// cores also verify: everything, or with `auto_verify` the affordable share.
bool is_gpu_quicker(const Estimate& job, bool auto_verify, unsigned threads);

/// Returns the share of the answers that --verify auto checks: 1, or the largest 1 / 2^k that is affordable.
/// Verification is affordable if it takes no more than ten times the computing plus two seconds.
double affordable_share(const Estimate& job, bool on_gpu, unsigned threads);

/// Returns the mode for a set of `total` systems or targets. auto becomes a sample of `share`. If the set is one of
/// `parts` parts, a sample is divided among the parts.
VerifyMode mode_for(const VerifyMode& mode, std::int64_t total, double share, int parts = 1);

}  // namespace smallbatch
