// Runs the ladders and prints their tables. bench/collect.py puts them into bench/RESULTS.md:
//
//     smallbatch_bench [commit] [--only solve,calls] | bench/collect.py bench/RESULTS.md
//
// With --file p.h5 it prints instead how fast this machine reads that file, for bench/whole_runs.py.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/file_to_device.hpp"
#include "bench/ladder.hpp"
#include "bench/solve_cpu_ladder.hpp"
#include "bench/solve_ladder.hpp"
#include "bench/table_columns.hpp"
#include "bench/tables.hpp"
#include "core/device.hpp"
#include "core/error.hpp"

namespace smallbatch {

namespace {

constexpr int repeats = 15;

struct Options {
  std::string commit = "unknown";
  std::string file;
  std::vector<std::string> tables = table_names();

  [[nodiscard]] bool wants(const std::string& table) const {
    return std::find(tables.begin(), tables.end(), table) != tables.end();
  }
};

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--only" && i + 1 < arguments.size())
      options.tables = parse_table_names(arguments[++i]);
    else if (arguments[i] == "--file" && i + 1 < arguments.size())
      options.file = arguments[++i];
    else if (!arguments[i].starts_with("-") && options.commit == "unknown")
      options.commit = arguments[i];
    else
      throw Error(ErrorKind::usage, "\"" + arguments[i] + "\" is not understood",
                  "the command takes a commit and --only with names of tables",
                  "Call: smallbatch_bench [commit] [--only solve,calls]");
  }
  return options;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Prints a ladder's table. Returns false if a step is wrong.
bool print_ladder(const Ladder& ladder, const Roofline& roofline) {
  print(ladder_head(ladder));
  bool all_right = true;
  double first_rate = 0;
  for (const Step& step : ladder.steps) {
    const Measurement measured = measure(ladder, step, repeats);
    print(ladder_row(ladder, step, measured, first_rate, roofline));
    all_right &= measured.right;
    if (measured.right && first_rate == 0) first_rate = work_per_second(ladder, step, measured);
  }
  return all_right;
}

constexpr const char* how_calls_are_timed =
    "Microseconds by the host's clock, from the call to the stream's completion. Data are on the device. Median of up "
    "to "
    "400 calls after a first one.\n\n";

/// Prints a row with the times of single calls of a ladder's steps. With `is_first`, first prints the head of the
/// table, with `size` as the name of the first column. Returns false if a step is wrong.
bool print_calls_of(const Ladder& ladder, const std::string& size, const std::string& beside, bool is_first) {
  bool all_right = true;
  std::vector<std::string> names;
  std::vector<Measurement> measured;
  for (const Step& step : ladder.steps) {
    names.push_back(step.name);
    measured.push_back(measure_calls(ladder, step));
    all_right &= measured.back().right;
  }
  if (is_first) print(calls_head(size, names, beside));
  print(calls_row(static_cast<std::int64_t>(ladder.work), names, beside, measured));
  return all_right;
}

/// Prints the tables of single calls of solves, for each size and batch.
bool print_calls() {
  bool all_right = true;
  for (const int n : call_sizes) {
    if (n > max_system_size) continue;
    print("\n## Single calls: solve, n=" + std::to_string(n) + ", one right-hand side, dense, float32\n\n" +
          how_calls_are_timed);
    for (const std::int64_t batch : call_batches)
      all_right &= print_calls_of(solve_call<float>(n, batch), "batch", "gauss_jordan", batch == call_batches[0]);
  }
  return all_right;
}

/// Prints the tables of solves by size. Returns false if a step is wrong.
bool print_solve_sizes(const Roofline& roofline) {
  constexpr int repeats_of_each = 9;
  bool all_right = true;
  for (const SizesTable& table : solve_sizes()) {
    const Ladder fullest = table.rows.at(table.fullest).sample();
    print("\n## " + table.title + "\n\n10^6 systems/s, median of " + std::to_string(repeats_of_each) + " launches. " +
          (fullest.bound == Bound::copy ? "Only the bytes of A and its inverse count." : "Only the bytes of A count.") +
          " Only some sizes have Gauss-Jordan and the vendor's routines.\n\n");
    print(steps_head(fullest, fullest.steps));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const Ladder ladder = table.rows[row].full();
      std::vector<Measurement> measured;
      for (const Step& step : ladder.steps) {
        measured.push_back(measure(ladder, step, repeats_of_each));
        all_right &= measured.back().right;
      }
      print(steps_row(table.sizes[row], fullest.steps, ladder, measured, roofline));
    }
  }
  return all_right;
}

/// Prints the table of single calls of reductions.
bool print_reduce_calls() {
  print(std::string("\n## Single calls: sum, float32\n\n") + how_calls_are_timed);
  bool all_right = true;
  for (const LadderTable& table : sums_of_sizes())
    all_right &= print_calls_of(table.full(), "values", "cub_device_reduce", &table == &sums_of_sizes().front());
  return all_right;
}

/// Prints the table of the potential's production call on problems of several sizes. Returns false if a result is
/// wrong.
bool print_potential_sizes(const Roofline& roofline) {
  print(
      "\n## Potentials by the production call, by size\n\n"
      "float32. Only potentials are written. Errors are defined as in the ladder of potentials.\n\n");
  bool all_right = true;
  double first_rate = 0;
  for (const LadderTable& table : potential_sizes()) {
    const Ladder ladder = table.full();
    if (&table == &potential_sizes().front()) print(sizes_head(ladder));
    const Measurement measured = measure(ladder, ladder.steps.at(0), repeats);
    print(sizes_row(ladder, measured, first_rate, roofline));
    all_right &= measured.right;
    if (measured.right && first_rate == 0) first_rate = work_per_second(ladder, ladder.steps[0], measured);
  }
  return all_right;
}

/// Prints the times of single production calls of the potential. Returns false if a result is wrong.
bool print_potential_calls(const Roofline& roofline) {
  const Ladder large = potential_sizes().front().full();
  const Measurement of_large = measure(large, large.steps.at(0), repeats);
  const double large_rate = of_large.right ? work_per_second(large, large.steps[0], of_large) : 0;
  std::printf(
      "\n## Single calls: potential, float32\n\n"
      "Microseconds by the host's clock, from the call to the stream's completion. Data are on the device. Median of "
      "up "
      "to 400 calls after a first one. An empty kernel takes %.1f. The large problem: %s.\n\n",
      1e6 * roofline.empty_call, large.title.c_str());
  print(potential_calls_head());
  bool all_right = of_large.right;
  for (const LadderTable& table : small_potential_sizes()) {
    const Ladder ladder = table.full();
    const Measurement measured = measure_calls(ladder, ladder.steps.at(0));
    print(potential_calls_row(ladder, measured, large_rate, roofline.empty_call));
    all_right &= measured.right;
  }
  return all_right;
}

int run(const Options& options) {
  if (!options.file.empty()) {
    const FileRates rates = measure_file(options.file);
    std::printf("%.3g %.3g\n", rates.read, rates.to_device);
    return 0;
  }
  const DeviceList list = cuda_devices();
  if (list.devices.empty()) {
    std::fprintf(stderr, "smallbatch_bench: no GPU (%s). Run it on a machine with one.\n", list.why_none.c_str());
    return 5;
  }
  const DeviceInfo& device = list.devices[0];
  const Roofline roofline = measure_roofline();
  char figures[256];
  std::snprintf(
      figures, sizeof(figures),
      "It reads %.0f GB/s, copies %.0f GB/s (read plus written), and takes %.3f 10^12 reciprocal square roots/s.\n",
      roofline.read / 1e9, roofline.copy / 1e9, roofline.roots / 1e12);
  print("Commit " + options.commit + " on an " + device.name + " with CUDA " + device.runtime_version + ". " + figures);
  bool all_right = true;
  for (const LadderTable& table : ladder_tables())
    if (options.wants(table.name)) all_right &= print_ladder(table.full(), roofline);
  if (options.wants("potential_sizes")) all_right &= print_potential_sizes(roofline);
  if (options.wants("potential_calls")) all_right &= print_potential_calls(roofline);
  if (options.wants("reduce_calls")) all_right &= print_reduce_calls();
  if (options.wants("sizes")) all_right &= print_solve_sizes(roofline);
  if (options.wants("calls")) all_right &= print_calls();
  if (options.wants("cpu")) all_right &= print_solve_cpu_ladder();
  return all_right ? 0 : 1;
}

}  // namespace

}  // namespace smallbatch

int main(int argc, char** argv) {
  try {
    return smallbatch::run(smallbatch::parse_options({argv + 1, argv + argc}));
  } catch (const smallbatch::Error& error) {
    std::fprintf(stderr, "smallbatch_bench: %s\n", error.what());
    return error.kind() == smallbatch::ErrorKind::usage ? 2 : 70;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smallbatch_bench: %s\n", error.what());
    return 70;
  }
}
