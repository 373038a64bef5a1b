// What a result file tells of the run that made it: as much of what the run has said as a file keeps.
#pragma once

#include <string>

#include "app/report/run_report.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

/// All but what its problems tell one by one: their statuses, numbers and names.
SetOutcome told_outcome(const ResultReader& results, const SolveSet& set);
SetOutcome told_outcome(const ResultReader& results, const PotentialSet& set);
SetOutcome told_outcome(const ResultReader& results, const PairEnergySet& set);
SetOutcome told_outcome(const ResultReader& results, const CorrelationSet& set);

/// All but its sets.
RunReport told_run(const ResultReader& results, const std::string& path);
/// With its sets and all of their problems.
RunReport told_report(const ResultReader& results, const std::string& path);
/// Adds what the problem file alone tells: how systems lie in it, and what the likely cause of failures is told by.
void look_at_problems(const ProblemReader& problems, const ResultReader& results, RunReport& report);

}  // namespace smallbatch
