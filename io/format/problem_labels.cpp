#include "io/problem_labels.hpp"

#include <array>
#include <cstdio>

#include "core/visible_text.hpp"

namespace smallbatch {
namespace {

template <class T>
std::vector<T> part_of(const std::vector<T>& values, std::int64_t first, std::int64_t count) {
  if (values.empty()) return {};
  return {values.begin() + first, values.begin() + first + count};
}

template <class T>
void append(std::vector<T>& values, const std::vector<T>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

}  // namespace

ProblemLabels part_of(const ProblemLabels& labels, std::int64_t first, std::int64_t count) {
  return {part_of(labels.name, first, count), part_of(labels.step, first, count), part_of(labels.time, first, count),
          labels.time_unit};
}

void append(ProblemLabels& labels, const ProblemLabels& more) {
  append(labels.name, more.name);
  append(labels.step, more.step);
  append(labels.time, more.time);
  if (labels.time_unit.empty()) labels.time_unit = more.time_unit;
}

std::string label_of(const ProblemLabels& labels, std::int64_t problem) {
  const auto p = static_cast<std::size_t>(problem);
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (p < labels.name.size()) add(visible_text(labels.name[p]));
  if (p < labels.step.size()) add("step " + std::to_string(labels.step[p]));
  if (p < labels.time.size()) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", labels.time[p]);
    add(std::string("time ") + digits.data() + (labels.time_unit.empty() ? "" : " " + visible_text(labels.time_unit)));
  }
  return text;
}

}  // namespace smallbatch
