#include <chrono>

#include "app/blocks.hpp"
#include "app/commands.hpp"
#include "app/interruption.hpp"
#include "app/logging.hpp"
#include "app/verification.hpp"
#include "core/error.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

namespace {

struct Files {
  const VerifyOptions& options;
  const ProblemReader& problems;
  const ResultReader& results;
};

template <class Set>
const Set& find_set(const std::vector<Set>& sets, const std::string& lane, const std::string& name,
                    const std::string& path) {
  for (const Set& set : sets)
    if (set.name == name) return set;
  throw Error(ErrorKind::bad_input, path + " holds no results for /" + lane + "/" + name +
                                        " (the problem file has that set). Run the problem file again.");
}

void expect_same(bool same, const std::string& what, const Files& files,
                 const std::string& difference = "shape or place") {
  if (same) return;
  throw Error(ErrorKind::bad_input, what + " in " + files.options.results + " has another " + difference + " than in " +
                                        files.options.problems +
                                        " (these results are of other problems). Name the file they were made from.");
}

template <class T>
SetOutcome verify_set(const Files& files, const SolveSet& set, double pivot_floor) {
  SetOutcome outcome = start_outcome(set);
  const auto blocks = cut_into_blocks(set, files.options.block_mib << 20);
  Progress progress("verify solve/" + set.name, static_cast<double>(set.batch));
  SpdBlock<T> block;
  for (const SystemRange& range : blocks) {
    stop_if_interrupted();
    files.problems.read(set, range.first, range.count, block);
    files.results.read(set, range.first, range.count, block);
    outcome.count_status(block.info);
    outcome.count_numbers(block);
    outcome.count_verdicts(block.first, verify(set, block, pivot_floor, files.options.mode, files.options.threads));
    progress.advance(static_cast<double>(range.count));
  }
  return outcome;
}

template <class T>
SetOutcome verify_set(const Files& files, const PotentialSet& set, const PotentialSet& results_set) {
  SetOutcome outcome = start_outcome(set, scalar_type_of<T>);
  const PotentialOptions options{files.results.provenance("singular") == "skip" ? Singular::skip : Singular::infinite,
                                 set.unit_factor(), set.softening, set.cutoff};
  const auto blocks = cut_into_blocks(set, scalar_type_of<T>, files.options.block_mib << 20, cpu_block_pairs);
  Progress progress("verify potential/" + set.name, pairs(set));
  Verdicts of_set(set.batch);
  StatisticsReferee referee(set.batch);
  PotentialBlock<T> block;
  for (const PlaneRange& range : blocks) {
    stop_if_interrupted();
    read_block(files.problems, set, range, block);
    files.results.read(results_set, block);
    if (range.first_plane == 0) {
      outcome.count_energies(block.energy);
      outcome.count_status(block.info);
    }
    of_set.merge(block.first,
                 verify(set, block, options, files.options.mode, files.options.threads, outcome.points_checked));
    referee.add(block);
    progress.advance(pairs(block));
  }
  const PotentialStatistics statistics = files.results.statistics(results_set);
  verify_statistics(statistics, referee, of_set);
  outcome.count_statistics(statistics);
  outcome.count_verdicts(0, of_set);
  return outcome;
}

}  // namespace

RunReport verify(const VerifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const ProblemReader problems(options.problems);
  const ResultReader results(options.results);
  const Files files{options, problems, results};

  RunReport report;
  report.problems = options.problems;
  report.results = options.results;
  report.verify_mode = verify_mode_name(options.mode);
  report.pivot_floor = results.provenance_number("pivot_floor");
  if (!(report.pivot_floor >= 0 && report.pivot_floor < 1))
    throw Error(ErrorKind::bad_input, "cannot use " + options.results + " (its pivot_floor is " +
                                          std::to_string(report.pivot_floor) +
                                          ", expected 0 or a fraction below 1). Write the results anew.");
  for (const SolveSet& set : problems.solve_sets()) {
    const SolveSet& found = find_set(results.solve_sets(), "solve", set.name, options.results);
    expect_same(found.batch == set.batch && found.type == set.type && found.shape.n == set.shape.n &&
                    found.shape.nrhs == set.shape.nrhs && found.shape.determinant_only == set.shape.determinant_only &&
                    (set.shape.nrhs == 0 || found.rhs_is_vector == set.rhs_is_vector),
                "/solve/" + set.name, files);
    report.sets.push_back(set.type == ScalarType::float32 ? verify_set<float>(files, set, report.pivot_floor)
                                                          : verify_set<double>(files, set, report.pivot_floor));
  }
  for (const PotentialSet& set : problems.potential_sets()) {
    const PotentialSet& found = find_set(results.potential_sets(), "potential", set.name, options.results);
    expect_same(found.targets == set.targets && found.batch == set.batch && found.shape.nx == set.shape.nx &&
                    found.shape.ny == set.shape.ny && found.shape.nz == set.shape.nz && found.origin == set.origin &&
                    found.spacing == set.spacing && found.point_offset == set.point_offset &&
                    (set.targets != TargetKind::charges || found.offset == set.offset),
                "/potential/" + set.name, files);
    expect_same(found.output_unit == set.output_unit && found.has_field == set.has_field &&
                    found.has_groups == set.has_groups && found.softening == set.softening &&
                    found.cutoff == set.cutoff && found.dielectric == set.dielectric,
                "/potential/" + set.name, files, "unit, field, energy, softening, cut-off or dielectric constant");
    report.sets.push_back(found.type == ScalarType::float32 ? verify_set<float>(files, set, found)
                                                            : verify_set<double>(files, set, found));
  }
  report.seconds.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace smallbatch
