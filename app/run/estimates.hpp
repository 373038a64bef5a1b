// What a job takes, before it is done: from what was measured of each kind of work (bench/RESULTS.md), right to a
// factor of about two. It decides what --device auto takes and how much --verify auto checks, and nothing about any
// number.
#pragma once

#include <cstddef>

#include "app/cli/options.hpp"
#include "core/instruction_sets.hpp"
#include "io/problem_reader.hpp"

namespace smallbatch {

/// Seconds.
struct Estimate {
  double cpu = 0;      ///< of one core, to compute on the cpu backend
  double gpu = 0;      ///< of one GPU, once it has begun, to compute and to copy
  double referee = 0;  ///< of one core, to verify
  double read = 0;     ///< to read the file from memory

  /// Of one of so many equal parts.
  [[nodiscard]] Estimate part(int parts) const { return {cpu / parts, gpu / parts, referee / parts, read / parts}; }
};

/// `referee` is of what `verify` checks, with auto of everything.
Estimate estimate(const ProblemReader& reader, ScalarType precision, const VerifyMode& verify,
                  InstructionSet instruction_set);

/// Until all is computed and this share of it verified: on `threads` cores; on GPUs, each of which takes a third of a
/// second to begin, with as many cores to verify.
double seconds_on_cpu(const Estimate& job, double verified_share, unsigned threads);
double seconds_on_gpus(const Estimate& job, std::size_t gpus, double verified_share, unsigned threads);

/// Whether one GPU, which takes a third of a second to begin, is done before `threads` cores are; both verify, with
/// `auto_verify` as much as is affordable.
bool is_gpu_quicker(const Estimate& job, bool auto_verify, unsigned threads);

/// The share of the answers that --verify auto checks: 1, or the largest 1 / 2^k with which that takes no more than ten
/// times the computing and two seconds.
double affordable_share(const Estimate& job, bool on_gpu, unsigned threads);

/// What a mode becomes for a set of `total` systems or targets, where auto checks that share, and the set is one of so
/// many parts.
VerifyMode mode_for(const VerifyMode& mode, std::int64_t total, double share, int parts = 1);

}  // namespace smallbatch
