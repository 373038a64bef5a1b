// One set of a run: its blocks on their way from file to computer to verification to file.
#pragma once

#include <cstdint>

#include "app/device_choice.hpp"
#include "app/options.hpp"
#include "app/outcome.hpp"
#include "app/stages.hpp"
#include "core/block_memory.hpp"
#include "io/problem_reader.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

/// Everything that the blocks of a run share.
struct Run {
  const RunOptions& options;
  unsigned threads_of_run;
  int parts;              ///< that the sets are one of each
  double verified_share;  ///< by --verify auto
  std::int64_t block_bytes;
  const ProblemReader& reader;
  ResultWriter& writer;
  const Computers& computers;
  bool on_gpus;
  BlockMemory& memory;
  StageThreads& threads;
  StageSeconds& seconds;
};

/// Of systems, the larger ones that a set may want where nobody has said how much memory there is.
std::int64_t block_bytes_of(const SolveSet& set, const RunOptions& options, std::int64_t block_bytes, unsigned threads);

SetOutcome run_set(const Run& run, const SolveSet& set);
SetOutcome run_set(const Run& run, const PotentialSet& set);
SetOutcome run_set(const Run& run, const PairEnergySet& set);
SetOutcome run_set(const Run& run, const CorrelationSet& set);

}  // namespace smallbatch
