#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_map>

#include "app/cli/interruption.hpp"
#include "app/cli/logging.hpp"
#include "app/cli/option_texts.hpp"
#include "app/commands/commands.hpp"
#include "app/report/input_identity.hpp"
#include "app/run/cut_into_blocks.hpp"
#include "app/verification/byte_verdict.hpp"
#include "app/verification/outcome.hpp"
#include "app/verification/piece_sums.hpp"
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "io/format/byte_check.hpp"
#include "io/integrity/row_hashes.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

struct Files {
  const VerifyOptions& options;
  const ProblemReader& problems;
  const ResultReader& results;
  double pivot_floor, rcond_overestimate;  ///< of the run
};

template <class Set>
using SetsByName = std::unordered_map<std::string_view, const Set*>;

template <class Set>
SetsByName<Set> by_name(const std::vector<Set>& sets) {
  SetsByName<Set> found;
  for (const Set& set : sets) found.emplace(set.name, &set);
  return found;
}

template <class Set>
const Set& find_set(const SetsByName<Set>& sets, const std::string& name, const std::string& path) {
  if (const auto found = sets.find(name); found != sets.end()) return *found->second;
  throw Error(ErrorKind::bad_input, path + " holds no results for " + kind_path<Set>() + "/" + name,
              "the problem file has that set", "Run the problem file again.");
}

/// Checks that `object` is the same in both files: `asked` describes it in the problem file, `found` in the results.
void expect_same(const Files& files, const std::string& object, const std::string& asked, const std::string& found) {
  if (asked == found) return;
  throw Error(ErrorKind::bad_input, "cannot use " + object + " of " + files.options.results,
              "expected " + asked + ", as in " + files.options.problems + ", but found " + found +
                  ": these results belong to other problems, or were changed",
              "Name the file from which they were made.");
}

/// Checks that two arrays have equal elements. The error names the first difference.
template <class T>
void expect_same(const Files& files, const std::string& dataset, const std::vector<T>& asked,
                 const std::vector<T>& found) {
  const auto [expected, got] = std::ranges::mismatch(asked, found);
  if (expected == asked.end() && got == found.end()) return;
  const auto text = [](const std::vector<T>& values, auto value) {
    return value == values.end() ? "the end" : number_text(*value);
  };
  const std::string index = "[" + std::to_string(expected - asked.begin()) + "]";
  expect_same(files, dataset + index, text(asked, expected), text(found, got));
}

/// Checks that every set of the results is a set of the problem file, and that its verdicts are consistent.
template <class Set>
void expect_sets(const Files& files, const std::vector<Set>& problems, const std::vector<Set>& results) {
  const SetsByName<Set> asked = by_name(problems);
  for (const Set& set : results) {
    if (!asked.contains(set.name)) {
      throw Error(ErrorKind::bad_input, "cannot use " + set_path(set) + " of " + files.options.results,
                  files.options.problems + " has no such set: these results belong to other problems",
                  "Name the file from which they were made.");
    }
    files.results.check_verification(Set::kind, set.name, set.batch);
  }
}

/// Checks that the run solved these problems: `found`, the hash of the set, must be the hash in the results.
template <class Set>
void expect_solved_problems(const Files& files, const Set& set, std::uint64_t found) {
  const auto solved = files.results.problems_hash(Set::kind, set.name);
  if (!solved || *solved == found) return;
  throw Error(ErrorKind::bad_input, "cannot use " + set_path(set) + " of " + files.options.problems,
              "its numbers have the hash " + problems_hash_text(found) + ", but those that were solved had " +
                  problems_hash_text(*solved),
              "Name the file from which " + files.options.results + " was made, as it was then.");
}

/// Returns "x (5, 8) of float32" or "log_determinant (5) of float64, n = 8".
std::string answer_words(const SolveSet& set) {
  const SpdShape& shape = set.shape;
  std::vector<std::int64_t> sizes{set.batch};
  if (!shape.determinant_only) sizes.push_back(shape.n);
  if (shape.wants_inverse()) sizes.push_back(shape.n);
  if (shape.nrhs > 0 && !set.rhs_is_vector) sizes.push_back(shape.nrhs);
  std::string text = shape.determinant_only ? "log_determinant (" : shape.wants_inverse() ? "inverse (" : "x (";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  text += set.type == ScalarType::float32 ? ") of float32" : ") of float64";
  if (shape.has_sizes) text += " with sizes";
  return shape.determinant_only ? text + ", n = " + std::to_string(shape.n) : text;
}

void expect_same(const Files& files, const SolveSet& asked, const SolveSet& found) {
  expect_same(files, set_path(asked), answer_words(asked), answer_words(found));  // systems have no labels to compare
}

/// Compares the attributes that define the interaction of two charges.
void expect_same_measure(const Files& files, const ChargesOfSet& asked, const ChargesOfSet& found,
                         const std::string& group) {
  const auto expect = [&](const char* object, const std::string& expected, const std::string& got) {
    expect_same(files, group + object, expected, got);
  };
  expect("@output_unit", potential_unit_name(asked.output_unit), potential_unit_name(found.output_unit));
  expect("@temperature", number_text(asked.temperature), number_text(found.temperature));
  expect("@dielectric", number_text(asked.dielectric), number_text(found.dielectric));
  expect("@softening", number_text(asked.softening), number_text(found.softening));
  expect("@cutoff", number_text(asked.cutoff), number_text(found.cutoff));
  expect("@screening_length", number_text(asked.screening_length), number_text(found.screening_length));
  expect("@width", number_text(asked.width), number_text(found.width));
  expect("@widths", asked.has_widths ? "1" : "0", found.has_widths ? "1" : "0");
}

void expect_same(const Files& files, const PotentialSet& asked, const PotentialSet& found) {
  const std::string group = set_path(asked);
  const auto shape = [](const PotentialSet& set) {
    return std::to_string(set.shape.nx) + " x " + std::to_string(set.shape.ny) + " x " + std::to_string(set.shape.nz);
  };
  const auto problems = [](const PotentialSet& set) { return std::to_string(set.batch) + " problems"; };
  const auto wanted = [](bool is_wanted) { return std::string(is_wanted ? "one" : "none"); };
  const auto expect = [&](const char* object, const std::string& expected, const std::string& got) {
    expect_same(files, group + object, expected, got);
  };
  expect("@targets", target_kind_name(asked.targets), target_kind_name(found.targets));
  expect("@shape", shape(asked), shape(found));
  expect("", problems(asked), problems(found));
  expect_same_measure(files, asked, found, group);
  expect("/E", wanted(asked.has_field), wanted(found.has_field));
  expect("/energy", wanted(asked.has_groups), wanted(found.has_groups));
  expect_same(files, group + "/origin", asked.origin, found.origin);
  expect_same(files, group + "/spacing", asked.spacing, found.spacing);
  expect_same(files, group + "/point_offset", asked.point_offset, found.point_offset);
  if (asked.targets == TargetKind::charges) expect_same(files, group + "/offset", asked.offset, found.offset);
  files.results.check_labels(asked, found);
}

void expect_same(const Files& files, const PairEnergySet& asked, const PairEnergySet& found) {
  const std::string group = set_path(asked);
  const auto wanted = [](bool is_wanted) { return std::string(is_wanted ? "1" : "0"); };
  const auto expect = [&](const char* object, const std::string& expected, const std::string& got) {
    expect_same(files, group + object, expected, got);
  };
  expect("", std::to_string(asked.batch) + " problems", std::to_string(found.batch) + " problems");
  expect("@per_charge", wanted(asked.per_charge), wanted(found.per_charge));
  expect("@groups", wanted(asked.has_groups), wanted(found.has_groups));
  expect_same_measure(files, asked, found, group);
  if (asked.per_charge) expect_same(files, group + "/offset", asked.offset, found.offset);
  files.results.check_labels(asked, found);
}

void expect_same(const Files& files, const CorrelationSet& asked, const CorrelationSet& found) {
  const std::string group = set_path(asked);
  const auto shape = [](const CorrelationSet& set) {
    return std::to_string(set.batch) + " channels, " + std::to_string(set.times) + " times, " +
           std::to_string(set.inputs) + " inputs";
  };
  const auto output = [](const CorrelationSet& set) { return std::string(set.is_mean ? "mean" : "sum"); };
  const auto expect = [&](const char* object, const std::string& expected, const std::string& got) {
    expect_same(files, group + object, expected, got);
  };
  expect("", shape(asked), shape(found));
  expect("@signal", sample_type_name(asked.type), sample_type_name(found.type));
  expect("@integrate", std::to_string(asked.integrate), std::to_string(found.integrate));
  expect("@output", output(asked), output(found));
  expect("@sample_time", number_text(asked.sample_time), number_text(found.sample_time));
  expect("@start_time", number_text(asked.start_time), number_text(found.start_time));
  expect_same(files, group + "/frequency", asked.frequency, found.frequency);
  expect_same(files, group + "/input_position", asked.input_position, found.input_position);
  files.results.check_labels(asked, found);
  if (asked.labels == found.labels) return;
  expect_same(files, group + "/input_antenna", asked.labels.antenna, found.labels.antenna);
  throw Error(ErrorKind::bad_input, "cannot use " + group + " of " + files.options.results,
              "its antennas, feeds, telescope, phase center or unit are not those of " + files.options.problems,
              "Name the file from which they were made.");
}

/// Returns the largest permitted ratio of the stored rcond to the referee's rcond. It is 1 if the file says that no
/// solver estimated rcond. It is larger with several ranks, because the file names only the solver of the first rank.
double rcond_overestimate_of(const ResultReader& results) {
  const std::string solver = results.provenance("solver");
  const bool is_known = solver.starts_with("cpu") || solver.starts_with("reference");
  const bool is_exact = is_known && solver.find("cuda") == std::string::npos && results.provenance_number("ranks") <= 1;
  return is_exact ? 1 : spd_rcond_overestimate;
}

template <class T>
SetOutcome verify_set(const Files& files, const SolveSet& set) {
  SolveTally<T> tally(set, files.pivot_floor, files.rcond_overestimate, files.options.mode, files.options.threads);
  Progress progress("verify solve/" + set.name, static_cast<double>(set.batch));
  SpdBlock<T> block;
  for (const SystemRange& range : cut_into_blocks(set, cpu_block_bytes)) {
    stop_if_interrupted();
    tally.outcome.problems_hash += read_block(files.problems, set, range, block);
    const AlignedVector<std::int32_t> sizes = block.sizes;
    files.results.read(set, range.first, range.count, block);
    if (block.sizes != sizes)
      throw Error(ErrorKind::bad_input, "cannot use " + set_path(set) + "/size of " + files.options.results,
                  "it is not that of " + files.options.problems, "Name the file from which they were made.");
    tally.count(block, tally.verify(block));
    progress.advance(static_cast<double>(range.count));
  }
  return tally.outcome;
}

Singular singular_of(const Files& files) {
  return files.results.provenance("singular") == "skip" ? Singular::skip : Singular::infinite;
}

template <class T>
SetOutcome verify_set(const Files& files, const PotentialSet& set, const PotentialSet& results_set) {
  const PotentialOptions options = potential_options(set, singular_of(files));
  PotentialTally<T> tally(set, options, files.options.mode, files.options.threads);
  Progress progress("verify potential/" + set.name, pairs(set));
  PotentialBlock<T> block;
  for (const PlaneRange& range : cut_into_blocks(set, scalar_type_of<T>, cpu_block_bytes, cpu_block_pairs)) {
    stop_if_interrupted();
    tally.outcome.problems_hash += read_block(files.problems, set, range, block);
    files.results.read(results_set, block);
    tally.count(block, tally.verify(block, [&](double verified) { progress.advance(verified); }));
  }
  tally.finish(files.results.statistics(results_set));
  return tally.outcome;
}

SetOutcome verify_set(const Files& files, const SolveSet& set, const SolveSet& /*results_set*/) {
  return set.type == ScalarType::float32 ? verify_set<float>(files, set) : verify_set<double>(files, set);
}
SetOutcome verify_set(const Files& files, const PotentialSet& set, const PotentialSet& results_set) {
  return results_set.type == ScalarType::float32 ? verify_set<float>(files, set, results_set)
                                                 : verify_set<double>(files, set, results_set);
}

SetOutcome verify_set(const Files& files, const PairEnergySet& set, const PairEnergySet& results_set) {
  const PairEnergyOptions options = pair_energy_options(set, singular_of(files), results_set.type);
  PairEnergyTally tally(set, options, files.options.mode, files.options.threads);
  Progress progress("verify pair_energy/" + set.name, static_cast<double>(set.batch));
  PairEnergyBlock block;
  for (const SystemRange& range : cut_into_blocks(set, cpu_block_bytes, cpu_block_pairs)) {
    stop_if_interrupted();
    tally.outcome.problems_hash += read_block(files.problems, set, range, block);
    files.results.read(results_set, block);
    tally.count(block, tally.verify(block));
    progress.advance(static_cast<double>(range.count));
  }
  return tally.outcome;
}

SetOutcome verify_set(const Files& files, const CorrelationSet& set, const CorrelationSet& results_set) {
  CorrelationTally tally(set, files.options.mode, files.options.threads);
  Progress progress("verify correlation/" + set.name, multiply_adds(set));
  SignalBlock block;
  for (const SignalRange& range : cut_into_blocks(set, cpu_block_bytes)) {
    stop_if_interrupted();
    tally.outcome.problems_hash += read_block(files.problems, set, range, block);
    block.info.clear();
    if (ends_integration(block, set)) files.results.read(results_set, block);
    tally.count(block, tally.verify(block));
    progress.advance(multiply_adds(block));
  }
  tally.finish();
  return tally.outcome;
}

}  // namespace

RunReport verify(const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  ProblemReader problems(options.problems, options.threads);
  const ResultReader results(options.results, options.threads, stop_if_interrupted, [&](const ByteCheck& check) {
    refuse_damaged_numbers(options.results, check);
    if (!check.has_checksums) spdlog::info("{}: {}.", options.results, check_words(check));
    if (!check.is_rest_unchanged) spdlog::warn("{}", words_on_rest(options.results));
  });
  RunReport report;
  report.command = "verify";
  report.problems = options.problems;
  report.results = options.results;
  report.verify_mode = verify_mode_name(options.mode);
  report.pivot_floor = results.provenance_number("pivot_floor");
  if (!(report.pivot_floor >= 0 && report.pivot_floor < 1))
    throw Error(ErrorKind::bad_input, "cannot use " + options.results,
                "its pivot_floor is " + std::to_string(report.pivot_floor) + ", expected 0 or a fraction below 1",
                "Write the results anew.");
  if (const std::string text = results.provenance("share"); !text.empty()) {
    const auto share = parse_share(text);
    if (!share)
      throw Error(ErrorKind::bad_input, "cannot use /provenance@share of " + options.results,
                  "it is not a share, such as 3/16", "Write the results anew.");
    problems.take(*share);
  }
  const std::string singular = results.provenance("singular");
  if (!singular.empty() && singular != "inf" && singular != "skip")
    throw Error(ErrorKind::bad_input, "cannot use /provenance@singular of " + options.results,
                "it is neither inf nor skip", "Write the results anew.");
  if (is_another_input(options.problems, results.provenance("input_hash")))
    spdlog::warn("{} is not the file that was run: its hash differs.", options.problems);
  const Files files{options, problems, results, report.pivot_floor, rcond_overestimate_of(results)};
  for_each_kind(problems.sets(), [&]<class Set>(const std::vector<Set>& asked) {
    expect_sets(files, asked, std::get<std::vector<Set>>(results.sets()));
  });
  for_each_kind(problems.sets(), [&]<class Set>(const std::vector<Set>& asked) {
    const SetsByName<Set> of_results = by_name(std::get<std::vector<Set>>(results.sets()));
    for (const Set& set : asked) {
      const Set& found = find_set<Set>(of_results, set.name, options.results);
      expect_same(files, set, found);
      report.sets.push_back(verify_set(files, set, found));
      expect_solved_problems(files, set, report.sets.back().problems_hash);
    }
  });
  report.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace smallbatch
