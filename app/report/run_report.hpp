// The report of a command about the sets that it ran, merged or verified; app/report/summary.hpp says it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/judge/outcome.hpp"
#include "app/report/stage_seconds.hpp"

namespace smallbatch {

/// A name for what computes sets of a kind, in JSON and in /provenance; and what it computes, for people.
struct ComputerOfKind {
  const char *kind, *key, *things;
};
inline constexpr std::array<ComputerOfKind, 4> computers_of_kinds{
    {{SolveSet::kind, "solver", "systems"},
     {PotentialSet::kind, "potential", "potentials"},
     {PairEnergySet::kind, "pair_energy", "pair energies"},
     {CorrelationSet::kind, "correlator", "correlations"}}};

struct RunReport {
  const char* command = "run";
  std::string problems, results;
  std::string device;                            ///< what computed; empty for `verify`
  std::map<std::string, std::string> computers;  ///< by kind of set
  double pivot_floor = 0;                        ///< that the answers were computed with
  std::vector<SetOutcome> sets;
  StageSeconds seconds;
  bool is_first_rank = true;  ///< others have nothing to say
  bool on_gpus = false;
  double problem_bytes = 0, result_bytes = 0;  ///< of the files
  std::string verify_mode;                     ///< "all", "1 of 64", "sample=N" or "none"
  std::string identity_digits;                 ///< of the run, where it could be gone on with
  std::int64_t merged_shares = 0;              ///< 0: the file was not merged
  std::int64_t blocks_taken_over = 0;          ///< that an earlier process of the run had finished
  bool was_complete = false;  ///< nothing was done: the results of this very run were there, and tell this

  [[nodiscard]] bool has(const char* kind) const { return std::ranges::count(sets, kind, &SetOutcome::kind) > 0; }
  /// Empty where it is not known.
  [[nodiscard]] std::string computer(const std::string& kind) const {
    const auto found = computers.find(kind);
    return found == computers.end() ? std::string() : found->second;
  }
  [[nodiscard]] bool all_right() const { return std::ranges::all_of(sets, &SetOutcome::all_right); }
};

}  // namespace smallbatch
