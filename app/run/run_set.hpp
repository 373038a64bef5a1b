// One set of a run: its blocks are read, computed, verified and written.
#pragma once

#include "app/cli/options.hpp"
#include "app/run/device_choice.hpp"
#include "app/run/plan.hpp"
#include "app/run/stages.hpp"
#include "app/verification/outcome.hpp"
#include "core/block_memory.hpp"
#include "io/problem_reader.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

class RunJournal;

/// Objects that all blocks of a run share.
struct Run {
  const RunOptions& options;
  const Plan& plan;
  const ProblemReader& reader;
  ResultWriter& writer;
  const Computers& computers;
  BlockMemory& memory;
  StageThreads& threads;
  StageSeconds& seconds;
  RunJournal* journal = nullptr;  ///< null if the run cannot be resumed
};

SetOutcome run_set(const Run& run, const SolveSet& set);
SetOutcome run_set(const Run& run, const PotentialSet& set);
SetOutcome run_set(const Run& run, const PairEnergySet& set);
SetOutcome run_set(const Run& run, const CorrelationSet& set);

}  // namespace smallbatch
