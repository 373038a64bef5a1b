// The summary of a run on stdout: text for people, or JSON.
#pragma once

#include <string>
#include <vector>

#include "app/report/run_report.hpp"
#include "app/report/set_json.hpp"

namespace smallbatch {

std::string report_text(const RunReport& report);
/// Returns one line: "r.h5: 9 problems in 2 sets, 1 failed, 8 agree with the referee".
std::string report_line(const RunReport& report);
std::string report_json(const RunReport& report);

/// Words about one kind of set.
struct KindWords {
  const char *done, *work;  ///< done: "solved", for its problems; work: unit of its work, for people
  const char* json_work;    ///< unit of its work, as a JSON key
  std::string (*describe)(std::int32_t);
  const char* values;  ///< the values that the referee compares, if a problem has several; else null
  const char* json_values;
};
const KindWords& words_of(const SetOutcome& set);

/// Returns the failures of a set by status: their count, the meaning of the status and the first indices. One line for
/// each status, or a JSON list.
std::string failures_text(const SetOutcome& set);
SetJson failures_json(const SetOutcome& set);

/// Returns "2 pivots of 1 system raised to the floor of 1e-08, by at most 0.01 of a diagonal element". Empty if no
/// pivot was raised.
std::string repairs_text(const SetOutcome& set, double pivot_floor);

/// One part of a run's time. The stages run at the same time, each at its own pace.
struct Stage {
  const char* name;
  double seconds = 0;
  double amount = 0;  ///< amount of work; 0 if it is not measured
  std::string unit;
  const char* remedy;
};
std::vector<Stage> stages_of(const RunReport& report);
/// Returns the slowest stage, if it takes at least half of the total time; else null. Below half, no single stage
/// determines the time.
const Stage* slowest_stage(const std::vector<Stage>& stages, double total);
/// Returns the amount of work per second in words, for a time of `seconds`.
std::string stage_rate(const Stage& stage, double seconds);

}  // namespace smallbatch
