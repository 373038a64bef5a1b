// What a run says on stdout: a summary for people, or the same as JSON.
#pragma once

#include <string>
#include <vector>

#include "app/report/run_report.hpp"

namespace smallbatch {

std::string report_text(const RunReport& report);
/// All of it in one line: "r.h5: 9 problems in 2 sets, 1 failed, 8 agree with the referee".
std::string report_line(const RunReport& report);
std::string report_json(const RunReport& report);

/// What is said of one kind of set.
struct KindWords {
  const char *done, *work;  ///< what its problems are; what is done a second, for people and
  const char* json_work;    ///< as a key
  std::string (*describe)(std::int32_t);
  const char* values;  ///< what is compared, more than one of a problem; null: problems
  const char* json_values;
};
const KindWords& words_of(const SetOutcome& set);

/// "2 pivots of 1 system raised to the floor of 1e-08, by at most 0.01 of a diagonal element"; empty where none was.
std::string repairs_text(const SetOutcome& set, double pivot_floor);

/// What a run does side by side, each at its own pace.
struct Stage {
  const char* name;
  double seconds = 0;
  double amount = 0;  ///< what it does in them; 0 where it has no measure
  std::string unit;
  const char* remedy;
};
std::vector<Stage> stages_of(const RunReport& report);
/// The longest, where it takes half of the whole time or more; else null: then no stage is what a run waits for.
const Stage* bound_of(const std::vector<Stage>& stages, double total);
/// What it does a second, in so many.
std::string stage_rate(const Stage& stage, double seconds);

}  // namespace smallbatch
