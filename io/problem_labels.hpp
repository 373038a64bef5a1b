// What problems are known by: the names of molecules, the steps and times of a trajectory's frames.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of the problems of a set, one each; empty where they are not known.
struct ProblemLabels {
  std::vector<std::string> name;   ///< of the molecule
  std::vector<std::int64_t> step;  ///< of the integration
  std::vector<double> time;        ///< in time_unit
  std::string time_unit;           ///< "ps"; empty where it is not known

  bool operator==(const ProblemLabels& other) const {
    return name == other.name && step == other.step && time == other.time && time_unit == other.time_unit;
  }
};

/// Those of problems [first, first + count).
ProblemLabels part_of(const ProblemLabels& labels, std::int64_t first, std::int64_t count);
/// Those of the problems that follow.
void append(ProblemLabels& labels, const ProblemLabels& more);

/// "lysozyme"; "step 200, time 0.4 ps"; empty where nothing is known of the problem.
std::string label_of(const ProblemLabels& labels, std::int64_t problem);

}  // namespace smallbatch
#pragma GCC visibility pop
