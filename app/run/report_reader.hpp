// Reads the report of a run from its result file, as far as the file stores it.
#pragma once

#include <string>

#include "app/report/run_report.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

/// Returns the outcome without the facts about single problems: statuses, numbers and names.
SetOutcome read_outcome(const ResultReader& results, const SolveSet& set);
SetOutcome read_outcome(const ResultReader& results, const PotentialSet& set);
SetOutcome read_outcome(const ResultReader& results, const PairEnergySet& set);
SetOutcome read_outcome(const ResultReader& results, const CorrelationSet& set);

/// Returns the report without its sets.
RunReport read_run(const ResultReader& results, const std::string& path);
/// Returns the report with the outcomes of all sets. They include statuses, numbers and names of problems.
RunReport read_report(const ResultReader& results, const std::string& path);
/// Adds facts that only the problem file has: how the systems are stored, and evidence of the likely cause of failures.
void add_facts_of_problems(const ProblemReader& problems, const ResultReader& results, RunReport& report);

}  // namespace smallbatch
