#include "app/pipeline.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <memory_resource>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "app/device_choice.hpp"
#include "app/estimates.hpp"
#include "app/logging.hpp"
#include "app/messages.hpp"
#include "app/output_check.hpp"
#include "app/plan.hpp"
#include "app/provenance.hpp"
#include "app/ranks.hpp"
#include "app/report.hpp"
#include "app/run_set.hpp"
#include "app/stages.hpp"
#include "core/block_memory.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "io/output_file.hpp"
#include "io/problem_reader.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

namespace {

using Clock = std::chrono::steady_clock;

/// In a thread of its own; where the system starts none, once it is needed.
constexpr std::launch if_possible = std::launch::async | std::launch::deferred;

/// Has the memory ready for the blocks of the first set while a GPU begins.
void touch_blocks(const SolveSet& set, const Plan& plan, BlockMemory& memory) {
  const auto ranges = blocks_of(plan, set);
  if (ranges.empty()) return;
  const auto touch = [&]<class T>(T) {
    std::deque<SpdBlock<T>> touched;
    for (std::int64_t k = 0; k < plan.blocks_in_memory; ++k)
      touched.emplace_back(&memory).resize(set.shape, ranges.front().count);
  };
  set.type == ScalarType::float32 ? touch(float{}) : touch(double{});
}

/// Runs a set; from its beginning, in smaller blocks, where others have taken the GPU's memory. The same numbers go to
/// the same places.
template <class RunSet>
SetOutcome in_blocks_that_fit(Plan& plan, const RunSet& run_set) {
  for (;;) {
    try {
      return run_set();
    } catch (const Error& error) {
      const bool is_limited = plan.is_memory_limited;
      if (error.kind() != ErrorKind::out_of_memory || !take_smaller_blocks(plan)) throw;
      if (!is_limited) spdlog::warn("{} Going on with smaller blocks.", error.what());
    }
  }
}

/// What is decided about a set, for -v.
template <class Set>
void say_decisions(const Plan& plan, const Set& set) {
  const BlocksOfSet blocks = measure_blocks(plan, set);
  spdlog::debug("{}/{}: {} {} of at most {}; verified: {}", Set::kind, set.name, blocks.count,
                blocks.count == 1 ? "block" : "blocks", bytes_text(static_cast<double>(blocks.largest_bytes)),
                verify_mode_name(verify_mode_of(plan, set)));
}

/// 0 where it is not known.
double bytes_of_file(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  return unknown ? 0 : static_cast<double>(bytes);
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
    case VerifyMode::Kind::automatic:
      return "auto";
    case VerifyMode::Kind::none:
      break;
  }
  return "none";
}

namespace {

/// What became of the shares of all ranks, at rank 0; returns what the others have written.
WrittenElements gather_outcomes(const Ranks& ranks, const ProblemReader& reader, const WrittenElements& written,
                                RunReport& report) {
  ShareOutcome mine{report.sets, {}, report.seconds, written};
  for_each_set(reader.sets(), [&](const auto& set) { mine.starts.push_back(reader.start(set).problem); });
  const std::vector<std::string> messages = ranks.gather(to_message(mine));
  for (std::size_t rank = 1; rank < messages.size(); ++rank) add_message(mine, messages[rank]);
  report.sets = mine.sets;
  report.seconds = mine.seconds;
  return mine.written;
}

}  // namespace

RunReport run(const RunOptions& options, const std::string& command_line) {
  const auto start = Clock::now();
  RunReport report;
  report.problems = options.problems;
  report.results = options.results;
  report.pivot_floor = options.spd.pivot_floor;

  const unsigned threads_of_run = thread_count(options.threads);
  // The child that reads the file's structure is there before MPI and CUDA are.
  std::optional<ProblemReader> opened;
  std::exception_ptr cannot_open;
  try {
    opened.emplace(options.problems, threads_of_run);
  } catch (...) {
    cannot_open = std::current_exception();
  }
  const Ranks ranks;
  ranks.agree(cannot_open);
  const InputGuard guard(options.problems, opened->descriptor());
  std::future<InputIdentity> identifying =
      std::async(ranks.is_first() ? if_possible : std::launch::deferred, [&] { return guard.identify(); });
  ProblemReader& reader = *opened;
  const bool are_many = ranks.size() > 1;
  if (!ranks.is_first()) spdlog::set_level(spdlog::level::off);
  report.is_first_rank = ranks.is_first();
  for (const std::string& warning : reader.warnings()) spdlog::warn("{}", warning);
  for (const std::string& note : reader.notes()) spdlog::info("{}", note);
  const Share share = are_many ? Share{ranks.rank(), ranks.size()} : options.share;
  const Estimate job = estimate(reader, options.precision, options.verify, options.instruction_set).part(share.count);

  std::vector<std::string> shapes;  // of the whole sets, in words
  if (are_many) for_each_set(reader.sets(), [&](const auto& set) { shapes.push_back(shape_words(set)); });

  BlockMemory memory;
  Plan plan;
  const DeviceChoice& device = plan.device;
  Computers computers;
  std::future<Computers> beginning;
  std::optional<ResultWriter> writer;
  WrittenElements written;  // by this rank, and then by all others
  do_on_all(ranks, [&] {
    if (are_many && !options.share.is_everything())
      throw Error(ErrorKind::usage, "--shard is for processes that do not know each other",
                  "a launcher has started these together", "Leave it out: each rank takes a share.");
    refuse_output_that_is_input(options.problems, options.results);
    if (ranks.is_first()) check_output(options.results, options.overwrite);
    if (!are_many) reader.take(share);
    timed(report.seconds.start, [&] {
      plan = make_plan(options, job, share.count, {ranks.local_rank(), ranks.local_size()});
    });
    report.verify_mode = plan.verify_mode;
    if (plan.verified_share < 1)
      spdlog::info("verifying {} answers, evenly chosen (--verify all takes about {})", report.verify_mode,
                   seconds_text(job.referee / plan.threads));
    if (!device.note.empty()) spdlog::info("no GPU is used ({})", device.note);
    spdlog::info("computing on {}{}", device.description,
                 are_many ? ", the first of " + std::to_string(ranks.size()) + " ranks" : "");
    for (const std::string& words : plan_words(plan, options.device)) spdlog::debug("{}", words);
    // A GPU takes a while to begin, in which the results are laid out.
    beginning = std::async(if_possible, [&] {
      Computers made;
      timed(report.seconds.start, [&] { made = make_computers(device, options.spd, reader.sets()); });
      return made;
    });
    if (ranks.is_first()) {
      writer.emplace(options.results, options.overwrite, 1);  // writes to one file wait for each other
      for (const SolveSet& set : reader.solve_sets()) writer->add(set);
      for (const PotentialSet& set : reader.potential_sets()) writer->add(set, options.precision);
      for (const PairEnergySet& set : reader.pair_energy_sets()) writer->add(set, options.precision);
      for (const CorrelationSet& set : reader.correlation_sets()) writer->add(set);
      writer->allocate();
    }
    if (plan.on_gpus && !plan.is_memory_limited && !reader.solve_sets().empty())
      touch_blocks(reader.solve_sets().front(), plan, memory);
    computers = beginning.get();
  });
  if (are_many) {
    std::string layout;
    do_on_all(ranks, [&] {
      if (writer) layout = to_message(writer->layout());
    });
    layout = ranks.broadcast(layout);
    do_on_all(ranks, [&] {
      if (!writer) writer.emplace(layout_of(layout));
      reader.take(share);
      for_each_set(reader.sets(), [&](const auto& set) { writer->begin_at(set, reader.start(set)); });
    });
  }
  report.device = device.description;
  report.on_gpus = plan.on_gpus;
  report.solver = computers.solver_description();
  report.potential = computers.potential_description();
  report.pair_energy = computers.pair_energy_description();
  report.correlator = computers.correlator_description();
  for (const auto& [what, computer] : {std::pair{"systems", &report.solver},
                                       {"potentials", &report.potential},
                                       {"pair energies", &report.pair_energy},
                                       {"correlations", &report.correlator}})
    if (!computer->empty()) spdlog::debug("{}: {}", what, *computer);

  do_on_all(ranks, [&] {
    StageThreads threads(computers.solvers.size());
    if (plan.on_gpus) memory.lock_with(cuda_page_lock());
    if (spdlog::should_log(spdlog::level::debug))
      for_each_set(reader.sets(), [&](const auto& set) { say_decisions(plan, set); });
    const Run all{options, plan, reader, *writer, computers, memory, threads, report.seconds};
    for_each_set(reader.sets(), [&](const auto& set) {
      report.sets.push_back(in_blocks_that_fit(plan, [&] { return run_set(all, set); }));
    });
    report.seconds.kernels =
        std::min(report.seconds.compute, computers.kernel_seconds() / static_cast<double>(device.backends.size()));
    if (ranks.is_first()) return;
    timed(report.seconds.write, [&] { writer->flush(); });
    written = writer->written();
    writer.reset();
  });
  if (are_many) written = gather_outcomes(ranks, reader, written, report);
  for (std::size_t k = 0; k < shapes.size(); ++k) report.sets[k].shape = shapes[k];
  do_on_all(ranks, [&] {
    if (!ranks.is_first()) return;
    if (are_many) writer->others_have_written(written);
    // The file and the summary say the same: the time until all numbers are on the disk.
    timed(report.seconds.write, [&] { writer->flush(); });
    report.seconds.total = std::chrono::duration<double>(Clock::now() - start).count();
    const InputIdentity input = identifying.get();
    guard.refuse_change(input);
    write_notes(*writer, options, report, device, input, command_line, ranks.size());
    writer->commit();
  });
  report.problem_bytes = bytes_of_file(options.problems) / options.share.count;
  report.result_bytes = bytes_of_file(options.results);
  return report;
}

}  // namespace smallbatch
