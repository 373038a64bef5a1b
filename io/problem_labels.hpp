// Labels of problems: names of molecules, steps and times of the frames of a trajectory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Labels of all problems of a set. A member is empty if it is unknown.
struct ProblemLabels {
  std::vector<std::string> name;   ///< of the molecule
  std::vector<std::int64_t> step;  ///< of the problem's frame in the trajectory
  std::vector<double> time;        ///< in time_unit
  std::string time_unit;           ///< for example "ps"; empty: unknown

  bool operator==(const ProblemLabels& other) const {
    return name == other.name && step == other.step && time == other.time && time_unit == other.time_unit;
  }
};

/// Returns the labels of problems [first, first + count).
ProblemLabels part_of(const ProblemLabels& labels, std::int64_t first, std::int64_t count);
/// Appends `more`, the labels of the next problems, to `labels`.
void append(ProblemLabels& labels, const ProblemLabels& more);

/// Returns a problem's label as text: "lysozyme", or "step 200, time 0.4 ps". Empty if nothing is known.
std::string label_of(const ProblemLabels& labels, std::int64_t problem);

}  // namespace smallbatch
#pragma GCC visibility pop
