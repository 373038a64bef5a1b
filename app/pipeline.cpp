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
#include <variant>
#include <vector>

#include "app/damage.hpp"
#include "app/device_choice.hpp"
#include "app/estimates.hpp"
#include "app/interruption.hpp"
#include "app/logging.hpp"
#include "app/messages.hpp"
#include "app/output_check.hpp"
#include "app/plan.hpp"
#include "app/provenance.hpp"
#include "app/ranks.hpp"
#include "app/report.hpp"
#include "app/run_journal.hpp"
#include "app/run_set.hpp"
#include "app/stages.hpp"
#include "core/block_memory.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "io/byte_check.hpp"
#include "io/output_file.hpp"
#include "io/problem_reader.hpp"
#include "io/provenance_reader.hpp"
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
/// the same places. before_smaller: what is done before.
template <class BeforeSmaller, class RunSet>
SetOutcome in_blocks_that_fit(Plan& plan, const BeforeSmaller& before_smaller, const RunSet& run_set) {
  for (;;) {
    try {
      return run_set();
    } catch (const Error& error) {
      const bool is_limited = plan.is_memory_limited;
      if (error.kind() != ErrorKind::out_of_memory || !take_smaller_blocks(plan)) throw;
      if (!is_limited) spdlog::warn("{} Going on with smaller blocks.", error.what());
      before_smaller();
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

/// Whether the results are there, of this very run, and every byte is what was written.
bool is_complete(const RunOptions& options, const RunIdentity& identity) {
  try {
    const auto origin = read_provenance(options.results);
    const auto found = origin.find("run_identity");
    const auto* const digits = found == origin.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (!digits || *digits != identity_digits(identity)) return false;
    refuse_damage(options.results, check_bytes(options.results, options.threads));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the run is to go on with what is in `output`, whose journal is then open.
template <class Identity>
bool find_earlier(const RunOptions& options, const OutputFile& output, std::optional<RunJournal>& journal,
                  Identity identity) {
  if (!output.has_leftover()) return false;
  if (!options.resume) {
    spdlog::warn("a run that did not end has left {}: it is removed (--resume would go on with it)",
                 output.temporary_path());
    return false;
  }
  journal.emplace(output.journal_path());
  if (!journal->has_begun()) {
    spdlog::warn("of {} nothing is known: it is removed, and the run begins again", output.temporary_path());
    journal.reset();
    return false;
  }
  journal->take_earlier(options.results, identity());
  spdlog::info("going on with the run that has left {}", output.temporary_path());
  return true;
}

/// What is left of a failed run, and what is said of it: nothing, until a block of it is finished.
class Remains {
 public:
  Remains(const RunOptions& options, const std::string& command_line)
      : how_("What is finished is kept. This goes on with it: " + command_line + (options.resume ? "" : " --resume")),
        is_json_(options.json) {}
  /// The unfinished file and its journal.
  void are_in(std::vector<std::string> files) { files_ = std::move(files); }
  void are_none() const { end_soon_with({is_json_, " (no output file was left). Run again.", files_}); }
  void are_kept(ResultWriter& writer) {
    if (are_kept_) return;
    are_kept_ = true;
    writer.keep_unfinished(true);
    offer_resumption(how_);
    end_soon_with({is_json_, ". " + how_, {}});
  }
  void are_removed(ResultWriter& writer) const {
    writer.keep_unfinished(false);
    offer_resumption({});
    are_none();
  }

 private:
  std::string how_;
  bool is_json_, are_kept_ = false;
  std::vector<std::string> files_;
};

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
  std::shared_future<InputIdentity> input =
      std::async(ranks.is_first() ? if_possible : std::launch::deferred, [&] { return guard.identify(); });
  Remains remains(options, command_line);
  if (ranks.is_first()) remains.are_none();
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
  std::optional<RunJournal> journal;
  bool has_journal = false;
  std::string journal_path;
  const auto identity = [&] { return run_identity(options, plan, input.get()); };
  do_on_all(ranks, [&] {
    if (are_many && !options.share.is_everything())
      throw Error(ErrorKind::usage, "--shard is for processes that do not know each other",
                  "a launcher has started these together", "Leave it out: each rank takes a share.");
    refuse_output_that_is_input(options.problems, options.results);
    if (are_many && options.resume)
      throw Error(ErrorKind::usage, "--resume is for a run of one process", "a launcher has started several",
                  "Leave it out, or run shares (--shard), each of which can be gone on with, and merge them.");
    if (ranks.is_first() && !options.resume) check_output(options.results, options.overwrite);
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
    if (options.resume) {
      const bool is_there = std::filesystem::exists(options.results) && !options.overwrite;
      report.was_complete = is_there && is_complete(options, run_identity(options, plan, input.get()));
      if (report.was_complete) return;
      check_output(options.results, options.overwrite);
    }
    std::optional<OutputFile> output;
    bool goes_on = false;
    if (ranks.is_first()) {
      output.emplace(options.results, options.overwrite, OutputFile::Leftover::kept);
      if (!are_many) goes_on = find_earlier(options, *output, journal, [&] { return identity(); });
      if (!goes_on) output->start_afresh();
      remains.are_in({output->temporary_path(), output->journal_path()});
      if (!goes_on) remains.are_none();
      has_journal = !are_many && !output->journal_path().empty();
      journal_path = output->journal_path();
    }
    // A GPU takes a while to begin, in which the results are laid out.
    beginning = std::async(if_possible, [&] {
      Computers made;
      timed(report.seconds.start, [&] { made = make_computers(device, options.spd, reader.sets()); });
      return made;
    });
    if (ranks.is_first()) {
      writer.emplace(std::move(*output), goes_on, 1);  // writes to one file wait for each other
      if (goes_on) remains.are_kept(*writer);
      for (const SolveSet& set : reader.solve_sets()) writer->add(set);
      for (const PotentialSet& set : reader.potential_sets()) writer->add(set, options.precision);
      for (const PairEnergySet& set : reader.pair_energy_sets()) writer->add(set, options.precision);
      for (const CorrelationSet& set : reader.correlation_sets()) writer->add(set);
      writer->allocate();
    }
    if (plan.on_gpus && !plan.is_memory_limited && !reader.solve_sets().empty())
      touch_blocks(reader.solve_sets().front(), plan, memory);
    computers = beginning.get();
    if (!has_journal) return;
    if (!journal) journal.emplace(journal_path);
    journal->begin(identity);
    journal->at_first_block = [&] { remains.are_kept(*writer); };
    writer->note_written();
  });
  if (report.was_complete) {
    no_longer_interruptible();
    spdlog::info("{} is there already, complete, of this very run: nothing is to be done", options.results);
    return report;
  }
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
    Run all{options, plan, reader, *writer, computers, memory, threads, report.seconds, journal ? &*journal : nullptr};
    // The journal counts in blocks of the size that they had.
    const auto forget_journal = [&] {
      if (!journal) return;
      spdlog::warn("If this run is stopped, it cannot be gone on with (--resume): its blocks are no longer the same.");
      all.journal = nullptr;
      journal.reset();
      writer->note_written(false);
      remains.are_removed(*writer);
    };
    try {
      for_each_set(reader.sets(), [&](const auto& set) {
        report.sets.push_back(in_blocks_that_fit(plan, forget_journal, [&] { return run_set(all, set); }));
      });
    } catch (const Error& error) {
      if (ranks.is_first() && (error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::missing_file))
        remains.are_removed(*writer);  // going on would meet the same
      throw;
    }
    if (journal) report.blocks_taken_over = journal->taken_over();
    if (!are_many) report.identity_digits = identity_digits(identity());
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
    try {
      guard.refuse_change(input.get());
    } catch (const Error&) {
      remains.are_removed(*writer);  // they are of what is no longer there
      throw;
    }
    write_notes(*writer, options, report, device, input.get(), command_line, ranks.size());
    writer->commit();
    no_longer_interruptible();
    offer_resumption({});
  });
  report.problem_bytes = bytes_of_file(options.problems) / options.share.count;
  report.result_bytes = bytes_of_file(options.results);
  return report;
}

}  // namespace smallbatch
