// What a command has to say of the sets that it ran, merged or verified; app/report/summary.hpp says it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "app/judge/outcome.hpp"
#include "app/report/stage_seconds.hpp"

namespace smallbatch {

struct RunReport {
  const char* command = "run";
  std::string problems, results;
  std::string device, solver, potential, pair_energy, correlator;  ///< what computed; empty for `verify`
  double pivot_floor = 0;                                          ///< that the answers were computed with
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

  [[nodiscard]] bool all_right() const { return std::ranges::all_of(sets, &SetOutcome::all_right); }
};

}  // namespace smallbatch
