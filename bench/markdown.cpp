#include "bench/markdown.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "core/compare.hpp"

namespace smallbatch {

namespace {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

/// "| a | b |" and a line break.
std::string line(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

std::string head(const std::vector<std::string>& columns) {
  std::string rule = "|";
  for (std::size_t i = 0; i < columns.size(); ++i) rule += "---|";
  return line(columns) + rule + "\n";
}

std::vector<std::string> ladder_columns(const Ladder& ladder) {
  std::vector<std::string> columns{"step", "idea", "10^6 " + ladder.unit + "/s"};
  if (ladder.flops > 0)
    columns.push_back("Gflop/s" + (ladder.flops_convention.empty() ? "" : " (" + ladder.flops_convention + ")"));
  columns.push_back(ladder.bound == Bound::read ? "% of the read roofline" : "% of the copy roofline");
  for (const char* name : {"times row 0", "registers per thread", "local bytes per thread", "shared bytes per block",
                           "threads per block", "warps per multiprocessor", "error / bound", "ms, lowest to highest"})
    columns.emplace_back(name);
  return columns;
}

/// A figure of each kernel of a step, in the order of their launch.
std::string of_kernels(const Measurement& measured, const std::function<std::string(const KernelResources&)>& figure) {
  std::string cell;
  for (const KernelResources& kernel : measured.kernels) cell += (cell.empty() ? "" : " + ") + figure(kernel);
  return cell;
}

}  // namespace

std::string ladder_head(const Ladder& ladder) { return "\n## " + ladder.title + "\n\n" + head(ladder_columns(ladder)); }

std::string ladder_row(const Ladder& ladder, const Step& step, const Measurement& measured, double first_rate,
                       const Roofline& roofline) {
  std::vector<std::string> cells{step.name, step.idea};
  const std::size_t columns = ladder_columns(ladder).size();
  if (!within(measured.error_over_bound, 1)) {
    cells.push_back("wrong, not timed");
    cells.resize(columns);
    cells[columns - 2] = fixed(measured.error_over_bound, 3);
    return line(cells);
  }
  const double rate = ladder.work / measured.median_seconds;
  cells.push_back(fixed(rate / 1e6, 1));
  if (ladder.flops > 0) cells.push_back(fixed(ladder.flops / measured.median_seconds / 1e9, 0));
  cells.push_back(fixed(100 * ladder.min_bytes / measured.median_seconds / roofline.of(ladder.bound), 1));
  cells.push_back(fixed(first_rate > 0 ? rate / first_rate : 1, 2));
  cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.registers); }));
  cells.push_back(of_kernels(measured, [](const KernelResources& k) {
    return std::to_string(k.local_bytes) + (k.local_bytes > 0 ? " (spills)" : "");
  }));
  cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.shared_bytes); }));
  cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.threads); }));
  cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.resident_warps); }));
  cells.push_back(fixed(measured.error_over_bound, 3));
  cells.push_back(fixed(1e3 * measured.lowest_seconds, 3) + " to " + fixed(1e3 * measured.highest_seconds, 3));
  return line(cells);
}

std::string calls_head(const std::vector<std::string>& steps, const std::string& beside) {
  std::vector<std::string> columns{"batch"};
  for (const std::string& step : steps) columns.push_back(step);
  columns.push_back(steps.back() + " / " + beside);
  return head(columns);
}

std::string calls_row(std::int64_t batch, const std::vector<std::string>& steps, const std::string& beside,
                      const std::vector<Measurement>& measured) {
  std::vector<std::string> cells{std::to_string(batch)};
  bool all_right = true;
  for (const Measurement& m : measured) {
    const bool right = within(m.error_over_bound, 1);
    cells.push_back(right ? fixed(1e6 * m.median_seconds, 1) : "wrong");
    all_right &= right;
  }
  const auto at = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), beside) - steps.begin());
  cells.push_back(all_right ? fixed(measured.back().median_seconds / measured.at(at).median_seconds, 2) : "");
  return line(cells);
}

}  // namespace smallbatch
