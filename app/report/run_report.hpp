// The report of a command about the sets that it ran, merged or verified. app/report/summary.hpp puts it into words.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/report/stage_seconds.hpp"
#include "app/verification/outcome.hpp"

namespace smallbatch {

/// Names for a kind of set. JSON and /provenance tell under `key` what computed the sets of this kind. Messages call
/// their problems `things`.
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
  std::string device;                            ///< devices that computed; empty for `verify`
  std::map<std::string, std::string> computers;  ///< description of what computed each kind of set
  double pivot_floor = 0;                        ///< pivot floor of the run
  std::vector<SetOutcome> sets;
  StageSeconds seconds;
  bool is_first_rank = true;  ///< only the first rank prints a summary
  bool on_gpus = false;
  double problem_bytes = 0, result_bytes = 0;  ///< sizes of the files
  std::string verify_mode;                     ///< "all", "1 of 64", "sample=N" or "none"
  std::string identity_digits;         ///< identity of the run; empty with several ranks, which cannot be resumed
  std::int64_t merged_shares = 0;      ///< 0: the file was not merged
  std::int64_t blocks_taken_over = 0;  ///< blocks that an earlier, stopped process had finished
  bool was_complete = false;           ///< the results were there already, and this report was read from them

  [[nodiscard]] bool has(const char* kind) const { return std::ranges::count(sets, kind, &SetOutcome::kind) > 0; }
  /// Returns the description of what computed a kind of set. Empty if unknown.
  [[nodiscard]] std::string computer(const std::string& kind) const {
    const auto found = computers.find(kind);
    return found == computers.end() ? std::string() : found->second;
  }
  [[nodiscard]] bool all_right() const { return std::ranges::all_of(sets, &SetOutcome::all_right); }
};

}  // namespace smallbatch
