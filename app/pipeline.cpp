#include "app/pipeline.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <ctime>
#include <future>

#include "app/cut_into_blocks.hpp"
#include "app/device_choice.hpp"
#include "app/interruption.hpp"
#include "app/logging.hpp"
#include "app/output_check.hpp"
#include "app/version.hpp"
#include "core/error.hpp"
#include "io/problem_reader.hpp"
#include "io/result_writer.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time that `work` takes to `seconds`.
template <class Work>
void timed(double& seconds, Work&& work) {
  const auto start = Clock::now();
  work();
  seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

/// What is done with the blocks of one set. Read and write happen on the calling thread (HDF5 wants one thread);
/// compute and verify on threads of their own, each for one block at a time.
template <class Block>
struct Stages {
  std::function<void(std::int64_t, Block&)> read, compute, verify, write;
};

/// While block k is computed, block k+1 is read and block k-1 is verified and written: three blocks in memory.
template <class Block>
void stream_blocks(std::int64_t blocks, const Stages<Block>& stages, StageSeconds& seconds) {
  std::array<Block, 3> ring;
  auto slot = [&](std::int64_t k) -> Block& { return ring[static_cast<std::size_t>(k % 3)]; };
  for (std::int64_t k = -1; k <= blocks; ++k) {
    stop_if_interrupted();
    std::future<void> computing, verifying;  // their destructors wait, so the ring outlives both
    const bool compute = k >= 0 && k < blocks, finish = k >= 1;
    if (compute)
      computing =
          std::async(std::launch::async, [&, k] { timed(seconds.compute, [&] { stages.compute(k, slot(k)); }); });
    if (finish)
      verifying =
          std::async(std::launch::async, [&, k] { timed(seconds.verify, [&] { stages.verify(k - 1, slot(k - 1)); }); });
    if (k + 1 < blocks) timed(seconds.read, [&] { stages.read(k + 1, slot(k + 1)); });
    if (finish) {
      verifying.get();
      timed(seconds.write, [&] { stages.write(k - 1, slot(k - 1)); });
    }
    if (compute) computing.get();
  }
}

/// Everything that the blocks of a run share.
struct Run {
  const RunOptions& options;
  const ProblemReader& reader;
  ResultWriter& writer;
  SpdSolver& solver;
  Potential& potential;
  BackendKind backend;
  StageSeconds& seconds;
};

template <class T>
SetOutcome run_set(const Run& run, const SolveSet& set) {
  SolveTally<T> tally(set, run.options.spd.pivot_floor, run.options.verify, run.options.threads);
  const auto blocks = cut_into_blocks(set, run.options.block_mib << 20);
  Progress progress("solve/" + set.name, static_cast<double>(set.batch));

  Stages<SpdBlock<T>> stages;
  stages.read = [&](std::int64_t k, SpdBlock<T>& block) {
    const SystemRange& range = blocks[static_cast<std::size_t>(k)];
    run.reader.read(set, range.first, range.count, block);
  };
  stages.compute = [&](std::int64_t, SpdBlock<T>& block) {
    timed(tally.outcome.compute_seconds, [&] { run.solver.solve(block.batch(), block.solution()); });
  };
  stages.verify = [&](std::int64_t, const SpdBlock<T>& block) { tally.judge(block); };
  stages.write = [&](std::int64_t, const SpdBlock<T>& block) {
    const Verdicts& verdicts = tally.verdicts();
    run.writer.write(set, block);
    run.writer.write_verdicts("solve", set.name, block.first, verdicts.verdict, verdicts.error_over_bound);
    tally.count(block);
    progress.advance(static_cast<double>(block.count));
  };
  stream_blocks(static_cast<std::int64_t>(blocks.size()), stages, run.seconds);
  tally.outcome.work = static_cast<double>(set.batch);
  return tally.outcome;
}

template <class T>
SetOutcome run_set(const Run& run, const PotentialSet& set) {
  // Where every answer is verified, the CPU works through each pair too.
  const bool gpu_alone = run.backend == BackendKind::cuda && run.options.verify.kind != VerifyMode::Kind::all;
  const auto blocks = cut_into_blocks(set, scalar_type_of<T>, run.options.block_mib << 20,
                                      gpu_alone ? gpu_block_pairs : cpu_block_pairs);
  const PotentialOptions options{run.options.singular, set.unit_factor(), set.softening, set.cutoff};
  PotentialTally<T> tally(set, options, run.options.verify, run.options.threads);
  Progress progress("potential/" + set.name, pairs(set));
  StatisticsOfSet found(set.batch);

  Stages<PotentialBlock<T>> stages;
  stages.read = [&](std::int64_t k, PotentialBlock<T>& block) {
    read_block(run.reader, set, blocks[static_cast<std::size_t>(k)], block);
    block.resize_results(set.has_field);
  };
  stages.compute = [&](std::int64_t, PotentialBlock<T>& block) {
    timed(tally.outcome.compute_seconds,
          [&] { run.potential.evaluate(block.charges(), block.target_batch(), options, block.result()); });
  };
  stages.verify = [&](std::int64_t, const PotentialBlock<T>& block) {
    tally.judge(block, [&](double judged) { progress.advance(judged); });
  };
  stages.write = [&](std::int64_t, const PotentialBlock<T>& block) {
    run.writer.write(set, block);
    found.add(block.first, block.count, block.summary);
    tally.count(block);
  };
  stream_blocks(static_cast<std::int64_t>(blocks.size()), stages, run.seconds);
  const PotentialStatistics statistics = found.statistics();
  tally.finish(statistics);
  const Verdicts& verdicts = tally.verdicts();
  run.writer.write_statistics(set, statistics);
  run.writer.write_verdicts("potential", set.name, 0, verdicts.verdict, verdicts.error_over_bound);
  tally.outcome.work = pairs(set);
  return tally.outcome;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

}  // namespace

bool RunReport::all_right() const {
  for (const SetOutcome& set : sets)
    if (!set.all_right()) return false;
  return true;
}

std::string verify_mode_name(const VerifyMode& mode) {
  switch (mode.kind) {
    case VerifyMode::Kind::all:
      return "all";
    case VerifyMode::Kind::sample:
      return "sample=" + std::to_string(mode.sample);
    case VerifyMode::Kind::none:
      break;
  }
  return "none";
}

RunReport run(const RunOptions& options, const std::string& command_line) {
  const auto start = Clock::now();
  RunReport report;
  report.problems = options.problems;
  report.results = options.results;
  report.verify_mode = verify_mode_name(options.verify);
  report.pivot_floor = options.spd.pivot_floor;

  const ProblemReader reader(options.problems, options.threads);
  for (const std::string& warning : reader.warnings()) spdlog::warn("{}", warning);
  for (const std::string& note : reader.notes()) spdlog::info("{}", note);
  const DeviceChoice device = choose_device(options.device, options.threads, options.instruction_set);
  if (!device.note.empty()) spdlog::info("no GPU is used ({})", device.note);
  spdlog::info("computing on {}", device.description);
  const auto solver = make_spd_solver(device.backend, options.spd);
  const auto potential = make_potential(device.backend);
  report.device = device.description;
  report.solver = solver->description();
  report.potential = potential->description();

  refuse_output_that_is_input(options.problems, options.results);
  ResultWriter writer(options.results, options.overwrite, options.threads);
  for (const SolveSet& set : reader.solve_sets()) writer.add(set);
  for (const PotentialSet& set : reader.potential_sets()) writer.add(set, options.precision);

  const Run all{options, reader, writer, *solver, *potential, device.backend.kind, report.seconds};
  for (const SolveSet& set : reader.solve_sets())
    report.sets.push_back(set.type == ScalarType::float32 ? run_set<float>(all, set) : run_set<double>(all, set));
  for (const PotentialSet& set : reader.potential_sets())
    report.sets.push_back(options.precision == ScalarType::float32 ? run_set<float>(all, set)
                                                                   : run_set<double>(all, set));

  for (const SetOutcome& set : report.sets) writer.write_summary(set.kind, set.name, set.verification);
  writer.provenance("program", std::string("smallbatch ") + version_text);
  writer.provenance("commit", commit_text);
  writer.provenance("command_line", command_line);
  writer.provenance("problems", options.problems);
  writer.provenance("created", utc_now());
  writer.provenance("device", report.device);
  writer.provenance("solver", report.solver);
  writer.provenance("potential", report.potential);
  writer.provenance("method", std::string(spd_method_name(options.spd.method)));
  writer.provenance("pivot_floor", options.spd.pivot_floor);
  writer.provenance("verify", report.verify_mode);
  writer.provenance("singular", options.singular == Singular::infinite ? "inf" : "skip");
  writer.provenance("read_seconds", report.seconds.read);
  writer.provenance("compute_seconds", report.seconds.compute);
  writer.provenance("verify_seconds", report.seconds.verify);
  writer.provenance("write_seconds", report.seconds.write);
  timed(report.seconds.write, [&] { writer.commit(); });
  report.seconds.total = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace smallbatch
