#include "bench/table_columns.hpp"

#include <algorithm>
#include <cmath>
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

/// Returns "| a | b |" and a line break.
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

/// Returns the unit of the rate, as "10^6 systems/s".
std::string rate_column(const Ladder& ladder) {
  return "10^" + std::to_string(ladder.exponent) + " " + ladder.unit + "/s";
}

/// Returns a rate in the unit of rate_column(). Rates in large units have more digits.
std::string rate_cell(const Ladder& ladder, double rate) {
  return fixed(rate / std::pow(10, ladder.exponent), ladder.exponent > 9 ? 3 : ladder.exponent > 6 ? 2 : 1);
}

std::string roofline_column(Bound bound) {
  return bound == Bound::read   ? "% of the read roofline"
         : bound == Bound::copy ? "% of the copy roofline"
                                : "% of the special-function roofline";
}

std::vector<std::string> ladder_columns(const Ladder& ladder) {
  std::vector<std::string> columns{"step", "idea", rate_column(ladder)};
  if (ladder.flops > 0)
    columns.push_back("Gflop/s" + (ladder.flops_convention.empty() ? "" : " (" + ladder.flops_convention + ")"));
  if (ladder.bound != Bound::none) columns.push_back(roofline_column(ladder.bound));
  columns.emplace_back("times row 0");
  if (ladder.bound != Bound::none)
    for (const char* name : {"registers per thread", "local bytes per thread", "shared bytes per block",
                             "threads per block", "warps per multiprocessor"})
      columns.emplace_back(name);
  if (ladder.shows_l2) columns.emplace_back("relative L2 error");
  columns.emplace_back("error / bound");
  columns.emplace_back("ms, lowest to highest");
  return columns;
}

/// Returns the `figure` of every kernel of a step, in the order of their launch, joined by " + ".
std::string of_kernels(const Measurement& measured, const std::function<std::string(const KernelResources&)>& figure) {
  std::string cell;
  for (const KernelResources& kernel : measured.kernels) cell += (cell.empty() ? "" : " + ") + figure(kernel);
  return cell;
}

std::string local_bytes_cell(std::size_t bytes) { return std::to_string(bytes) + (bytes > 0 ? " (spills)" : ""); }

/// Returns the result of the check, one cell per column.
std::vector<std::string> error_cells(const Ladder& ladder, const Measurement& measured) {
  std::vector<std::string> cells;
  if (ladder.shows_l2) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.1e", measured.judgement.relative_l2);
    cells.emplace_back(text);
  }
  cells.push_back(fixed(measured.judgement.error_over_bound, 3));
  return cells;
}

/// Returns the percentage of the roofline.
std::string roofline_cell(const Ladder& ladder, const Measurement& measured, const Roofline& roofline) {
  const double least = ladder.bound == Bound::special_function ? ladder.work : ladder.min_bytes;
  return fixed(100 * least / measured.median_seconds / roofline.of(ladder.bound), 1);
}

}  // namespace

double work_per_second(const Ladder& ladder, const Step& step, const Measurement& measured) {
  return ladder.work * step.part / measured.median_seconds;
}

std::string ladder_head(const Ladder& ladder) {
  return "\n## " + ladder.title + "\n\n" + (ladder.note.empty() ? "" : ladder.note + "\n\n") +
         head(ladder_columns(ladder));
}

std::string ladder_row(const Ladder& ladder, const Step& step, const Measurement& measured, double first_rate,
                       const Roofline& roofline) {
  std::vector<std::string> cells{step.name, step.idea};
  const std::vector<std::string> errors = error_cells(ladder, measured);
  if (!measured.right) {
    cells.emplace_back("wrong, not timed");
    cells.resize(ladder_columns(ladder).size() - 1 - errors.size());
    cells.insert(cells.end(), errors.begin(), errors.end());
    cells.emplace_back();
    return line(cells);
  }
  const double rate = work_per_second(ladder, step, measured);
  cells.push_back(rate_cell(ladder, rate));
  if (ladder.flops > 0) cells.push_back(fixed(ladder.flops * step.part / measured.median_seconds / 1e9, 0));
  if (ladder.bound != Bound::none) cells.push_back(step.host ? "" : roofline_cell(ladder, measured, roofline));
  cells.push_back(fixed(first_rate > 0 ? rate / first_rate : 1, 2));
  if (ladder.bound != Bound::none) {
    cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.registers); }));
    cells.push_back(of_kernels(measured, [](const KernelResources& k) { return local_bytes_cell(k.local_bytes); }));
    cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.shared_bytes); }));
    cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.threads); }));
    cells.push_back(of_kernels(measured, [](const KernelResources& k) { return std::to_string(k.resident_warps); }));
  }
  cells.insert(cells.end(), errors.begin(), errors.end());
  cells.push_back(fixed(1e3 * measured.lowest_seconds, 3) + " to " + fixed(1e3 * measured.highest_seconds, 3));
  return line(cells);
}

std::string sizes_head(const Ladder& first) {
  return head({"problems", rate_column(first), "of the first row's rate", roofline_column(first.bound), "GB/s written",
               "relative L2 error", "error / bound", "ms, lowest to highest"});
}

std::string sizes_row(const Ladder& ladder, const Measurement& measured, double first_rate, const Roofline& roofline) {
  std::vector<std::string> cells{ladder.title};
  const std::vector<std::string> errors = error_cells(ladder, measured);
  if (!measured.right) {
    cells.insert(cells.end(), {"wrong, not timed", "", "", "", errors[0], errors[1], ""});
    return line(cells);
  }
  const double rate = work_per_second(ladder, ladder.steps[0], measured);
  cells.push_back(rate_cell(ladder, rate));
  cells.push_back(fixed(first_rate > 0 ? rate / first_rate : 1, 3));
  cells.push_back(roofline_cell(ladder, measured, roofline));
  cells.push_back(fixed(ladder.min_bytes / measured.median_seconds / 1e9, 1));
  cells.insert(cells.end(), errors.begin(), errors.end());
  cells.push_back(fixed(1e3 * measured.lowest_seconds, 3) + " to " + fixed(1e3 * measured.highest_seconds, 3));
  return line(cells);
}

std::string steps_head(const Ladder& ladder, const std::vector<Step>& steps) {
  std::vector<std::string> columns{"n", "batch"};
  for (const Step& step : steps) {
    columns.push_back(step.name);
    if (!step.vendor) columns.push_back(roofline_column(ladder.bound));
  }
  columns.insert(columns.end(), {"registers per thread, at most", "local bytes per thread, at most", "error / bound"});
  return head(columns);
}

std::string steps_row(int n, const std::vector<Step>& steps, const Ladder& ladder,
                      const std::vector<Measurement>& measured, const Roofline& roofline) {
  std::vector<std::string> cells{std::to_string(n), fixed(ladder.work, 0)};
  for (const Step& step : steps) {
    const auto same =
        std::find_if(ladder.steps.begin(), ladder.steps.end(), [&](const Step& s) { return s.name == step.name; });
    std::string rate, percents;
    if (same != ladder.steps.end()) {
      const Measurement& m = measured.at(static_cast<std::size_t>(same - ladder.steps.begin()));
      rate = m.right ? rate_cell(ladder, work_per_second(ladder, *same, m)) : "wrong, not timed";
      if (m.right) percents = roofline_cell(ladder, m, roofline);
    }
    cells.push_back(rate);
    if (!step.vendor) cells.push_back(percents);
  }
  int registers = 0;
  std::size_t local_bytes = 0;
  Comparison worst;
  for (const Measurement& m : measured) {
    for (const KernelResources& kernel : m.kernels) {
      registers = std::max(registers, kernel.registers);
      local_bytes = std::max(local_bytes, kernel.local_bytes);
    }
    worst.add(m.judgement.error_over_bound, n);
  }
  cells.insert(cells.end(), {std::to_string(registers), local_bytes_cell(local_bytes), fixed(worst.worst, 3)});
  return line(cells);
}

std::string potential_calls_head() {
  return head({"problem", "microseconds from call to result", "beyond an empty kernel",
               "at the rate of the large problem", "ratio", "ratio beyond an empty kernel"});
}

std::string potential_calls_row(const Ladder& ladder, const Measurement& measured, double large_rate,
                                double empty_call) {
  if (!measured.right) return line({ladder.title, "wrong, not timed", "", "", "", ""});
  const double seconds = measured.median_seconds, beyond = seconds - empty_call;
  if (!(large_rate > 0)) return line({ladder.title, fixed(1e6 * seconds, 1), fixed(1e6 * beyond, 1), "", "", ""});
  const double ideal = ladder.work / large_rate;
  return line({ladder.title, fixed(1e6 * seconds, 1), fixed(1e6 * beyond, 1), fixed(1e6 * ideal, 1),
               fixed(seconds / ideal, 1), fixed(beyond / ideal, 1)});
}

std::string calls_head(const std::string& size, const std::vector<std::string>& steps, const std::string& beside) {
  std::vector<std::string> columns{size};
  for (const std::string& step : steps) columns.push_back(step);
  columns.push_back(steps.back() + " / " + beside);
  return head(columns);
}

std::string calls_row(std::int64_t size, const std::vector<std::string>& steps, const std::string& beside,
                      const std::vector<Measurement>& measured) {
  std::vector<std::string> cells{std::to_string(size)};
  bool all_right = true;
  for (const Measurement& m : measured) {
    cells.push_back(m.right ? fixed(1e6 * m.median_seconds, 1) : "wrong");
    all_right &= m.right;
  }
  const auto at = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), beside) - steps.begin());
  cells.push_back(all_right ? fixed(measured.back().median_seconds / measured.at(at).median_seconds, 2) : "");
  return line(cells);
}

}  // namespace smallbatch
