// A run, from opening its files to giving its results their name. One file, because each step uses what the step before
// has made.
#include "app/run/pipeline.hpp"
#include "app/cli/option_texts.hpp"
#include "app/run/decision.hpp"

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

#include "app/cli/interruption.hpp"
#include "app/cli/quantities.hpp"
#include "app/report/provenance.hpp"
#include "app/run/device_choice.hpp"
#include "app/run/messages.hpp"
#include "app/run/plan.hpp"
#include "app/run/ranks.hpp"
#include "app/run/report_reader.hpp"
#include "app/run/resumption.hpp"
#include "app/run/run_journal.hpp"
#include "app/run/run_set.hpp"
#include "app/run/smaller_blocks.hpp"
#include "app/run/stages.hpp"
#include "core/block_memory.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/system_refusals.hpp"
#include "io/integrity/journal.hpp"
#include "io/integrity/output_file.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

namespace {

using Clock = std::chrono::steady_clock;

/// Allocates the blocks of the first set while a GPU starts.
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

/// Logs the decisions about a set, for -v.
template <class Set>
void say_decisions(const Plan& plan, const Set& set) {
  const BlocksOfSet blocks = measure_blocks(plan, set);
  spdlog::debug("{}/{}: {} {} of at most {}; verified: {}", Set::kind, set.name, blocks.count,
                blocks.count == 1 ? "block" : "blocks", bytes_text(static_cast<double>(blocks.largest_bytes)),
                verify_mode_name(verify_mode_of(plan, set)));
}

/// Returns the size of a file, or 0 if it is unknown.
double bytes_of_file(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  return unknown ? 0 : static_cast<double>(bytes);
}

/// Collects the outcomes of all ranks at rank 0. Returns what the other ranks have written.
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

/// A run: its input, its plan, the objects that compute, and its output.
class Pipeline {
 public:
  Pipeline(const RunOptions& options, const std::string& command_line);
  RunReport run();

 private:
  [[nodiscard]] bool are_many() const { return ranks_.size() > 1; }
  [[nodiscard]] Share of_all_ranks() const { return {ranks_.rank(), ranks_.size()}; }
  [[nodiscard]] double bytes_of_problems() const { return bytes_of_file(options_.problems) / options_.share.count; }
  [[nodiscard]] RunIdentity identity() const { return run_identity(options_, plan_, input_.get()); }
  void open();
  void decide();
  void lock_output();
  void lay_out();
  void share_layout();
  void name_computers();
  void run_sets();
  void forget_journal(Run& all);
  void flush();
  void commit(const WrittenElements& written_by_others);

  const RunOptions& options_;
  const std::string& command_line_;
  Clock::time_point start_ = Clock::now();
  RunReport report_;
  std::exception_ptr cannot_open_;
  // Made before MPI and CUDA start, because it calls fork() for the process that reads the file's structure.
  std::unique_ptr<ProblemReader> reader_;
  Ranks ranks_;
  std::optional<InputGuard> guard_;
  std::shared_future<InputIdentity> input_;
  Remains remains_;
  std::vector<std::string> shapes_;  ///< shapes of the whole sets in words, if ranks have shares of them
  BlockMemory memory_;
  Plan plan_;
  std::optional<OutputFile> output_;  ///< empty once the writer has it
  bool goes_on_ = false;              ///< the run resumes from the journal
  std::string journal_path_;
  Computers computers_;
  std::optional<ResultWriter> writer_;
  std::unique_ptr<RunJournal> journal_;
  WrittenElements written_;  ///< what this rank has written; empty on the first rank
};

/// Opens the problem file. If this fails, returns null and stores the reason in `failure`.
std::unique_ptr<ProblemReader> open_problems(const RunOptions& options, std::exception_ptr& failure) {
  try {
    return std::make_unique<ProblemReader>(options.problems, thread_count(options.threads));
  } catch (...) {
    failure = std::current_exception();
    return {};
  }
}

Pipeline::Pipeline(const RunOptions& options, const std::string& command_line)
    : options_(options),
      command_line_(command_line),
      reader_(open_problems(options, cannot_open_)),
      ranks_(!options.share.is_everything()),
      remains_(options, command_line) {
  report_.problems = options.problems;
  report_.results = options.results;
  report_.pivot_floor = options.spd.pivot_floor;
}

/// Opens the input on all ranks, and begins to hash it.
void Pipeline::open() {
  ranks_.agree(cannot_open_);
  guard_.emplace(options_.problems, reader_->descriptor());
  const auto identify = [this] { return guard_->identify(); };
  input_ = ranks_.is_first() ? async_if_possible(identify) : std::async(std::launch::deferred, identify);
  ranks_.is_first() ? remains_.are_none() : drop_last_message();
  if (!ranks_.is_first()) spdlog::set_level(spdlog::level::off);
  report_.is_first_rank = ranks_.is_first();
  if (are_many()) for_each_set(reader_->sets(), [&](const auto& set) { shapes_.push_back(shape_words(set)); });
}

/// Decides before the run begins: on which device, in which blocks, and whether anything is left to be done.
void Pipeline::decide() {
  Decision decision = smallbatch::decide(options_, *reader_, [this] { return input_.get(); }, of_all_ranks(),
                                         {ranks_.local_rank(), ranks_.local_size()});
  plan_ = std::move(decision.plan);
  if (decision.complete) {
    if (options_.json) add_facts_of_problems(*reader_, ResultReader(options_.results), *decision.complete);
    report_ = std::move(*decision.complete);
    report_.problem_bytes = bytes_of_problems();
    return;
  }
  report_.seconds.start = decision.start_seconds;
  report_.verify_mode = plan_.verify_mode;
  if (plan_.verified_share < 1)
    spdlog::info("verifying {} answers, evenly chosen (--verify all takes about {})", report_.verify_mode,
                 seconds_text(plan_.job.referee / plan_.threads));
  if (!plan_.device.note.empty()) spdlog::info("no GPU is used ({})", plan_.device.note);
  spdlog::info("computing on {}{}", plan_.device.description,
               are_many() ? ", the first of " + std::to_string(ranks_.size()) + " ranks" : "");
  for (const std::string& words : plan_words(plan_, options_.device)) spdlog::debug("{}", words);
}

/// Locks the output, and finds out whether this run resumes an unfinished run.
void Pipeline::lock_output() {
  if (!ranks_.is_first()) return;
  output_.emplace(options_.results, options_.overwrite, OutputFile::Leftover::kept);
  const LeftBehind left{output_->has_leftover(), output_->temporary_path(), output_->journal_path()};
  if (!are_many()) journal_ = find_unfinished(options_, left, Journal::Access::appended, [this] { return identity(); });
  goes_on_ = journal_ != nullptr;
  if (!goes_on_) output_->start_afresh();
  remains_.are_in({left.part, left.journal});
  if (!goes_on_) remains_.are_none();
  if (are_many()) return;
  journal_path_ = left.journal;
  if (journal_path_.empty())
    spdlog::warn(
        "If this run is stopped, --resume cannot continue it, because files in the folder of {} cannot be locked.",
        options_.results);
}

/// Lays out the result file, so that every dataset has its address, and makes the objects that compute.
void Pipeline::lay_out() {
  // A GPU takes a while to start. The results are laid out meanwhile.
  std::future<Computers> beginning = async_if_possible([&] {
    Computers made;
    timed(report_.seconds.start, [&] { made = make_computers(plan_.device, options_.spd, reader_->sets()); });
    return made;
  });
  if (ranks_.is_first()) {
    writer_.emplace(std::move(*output_), goes_on_, 1);  // one thread, because writes to one file wait for each other
    if (goes_on_) remains_.are_kept(*writer_);
    for (const SolveSet& set : reader_->solve_sets()) writer_->add(set);
    for (const PotentialSet& set : reader_->potential_sets()) writer_->add(set, options_.precision);
    for (const PairEnergySet& set : reader_->pair_energy_sets()) writer_->add(set, options_.precision);
    for (const CorrelationSet& set : reader_->correlation_sets()) writer_->add(set);
    writer_->allocate();
  }
  if (plan_.on_gpus && !plan_.is_memory_limited && !reader_->solve_sets().empty())
    touch_blocks(reader_->solve_sets().front(), plan_, memory_);
  computers_ = beginning.get();
  if (journal_path_.empty()) return;
  if (!journal_) journal_ = std::make_unique<RunJournal>(journal_path_, Journal::Access::appended);
  journal_->begin([this] { return identity(); });
  journal_->at_first_block = [this] { remains_.are_kept(*writer_); };
  writer_->note_written();
}

/// Tells all ranks the layout of the result file. Each rank then writes its share into it.
void Pipeline::share_layout() {
  std::string layout;
  do_on_all(ranks_, [&] {
    if (writer_) layout = to_message(writer_->layout());
  });
  layout = ranks_.broadcast(layout);
  do_on_all(ranks_, [&] {
    if (!writer_) writer_.emplace(layout_of(layout));
    reader_->take(of_all_ranks());
    for_each_set(reader_->sets(), [&](const auto& set) { writer_->begin_at(set, reader_->start(set)); });
  });
}

void Pipeline::name_computers() {
  report_.device = plan_.device.description;
  report_.on_gpus = plan_.on_gpus;
  for (const auto& [kind, key, things] : computers_of_kinds) {
    std::string& computer = report_.computers[kind] = computers_.description(kind);
    if (!computer.empty()) spdlog::debug("{}: {}", things, computer);
  }
}

/// Stops the journal, because it counts in blocks of the former size.
void Pipeline::forget_journal(Run& all) {
  if (!journal_) return;
  spdlog::warn("If this run is stopped, --resume cannot continue it, because its blocks have become smaller.");
  all.journal = nullptr;
  journal_.reset();
  writer_->note_written(false);
  remains_.are_removed(*writer_);
}

/// Runs all blocks of all sets, or of this rank's share of them.
void Pipeline::run_sets() {
  StageThreads threads(computers_.solvers.size());
  if (plan_.on_gpus) memory_.lock_with(cuda_page_lock());
  if (spdlog::should_log(spdlog::level::debug))
    for_each_set(reader_->sets(), [&](const auto& set) { say_decisions(plan_, set); });
  Run all{options_, plan_, *reader_, *writer_, computers_, memory_, threads, report_.seconds, journal_.get()};
  try {
    for_each_set(reader_->sets(), [&](const auto& set) {
      report_.sets.push_back(in_blocks_that_fit(
          plan_, [&] { forget_journal(all); }, [&] { return run_set(all, set); }));
    });
  } catch (const Error& error) {
    if (ranks_.is_first() && (error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::missing_file))
      remains_.are_removed(*writer_);  // a resumed run would fail in the same way
    throw;
  }
  if (journal_) report_.blocks_taken_over = journal_->taken_over();
  if (!are_many()) report_.identity_digits = identity_digits(identity());
  report_.seconds.kernels = std::min(report_.seconds.compute,
                                     computers_.kernel_seconds() / static_cast<double>(plan_.device.backends.size()));
  if (ranks_.is_first()) return;
  flush();
  written_ = writer_->written();
  writer_.reset();
}

/// Puts all numbers on the disk.
void Pipeline::flush() {
  double spent = 0;
  timed(spent, [&] { writer_->flush(); });
  report_.seconds.write += spent;
  report_.seconds.blocks += spent;
}

/// Gives the results their name, unless the problem file has changed meanwhile.
void Pipeline::commit(const WrittenElements& written_by_others) {
  if (!ranks_.is_first()) return;
  if (are_many()) writer_->others_have_written(written_by_others);
  // The measured time ends when all numbers are on the disk. The file and the summary then state the same time.
  flush();
  StageSeconds& seconds = report_.seconds;
  seconds.total = std::chrono::duration<double>(Clock::now() - start_).count();
  seconds.set_up = std::max(0.0, seconds.total - seconds.start - seconds.blocks);
  try {
    guard_->refuse_change(input_.get());
  } catch (const Error&) {
    remains_.are_removed(*writer_);
    throw;
  }
  write_notes(*writer_, options_, report_, plan_.device.backends, input_.get(), command_line_, ranks_.size());
  try {
    writer_->commit();
  } catch (const Error&) {
    remains_.may_have_appeared();
    throw;
  }
  remains_.are_the_results();
}

RunReport Pipeline::run() {
  open();
  do_on_all(ranks_, [&] {
    decide();
    if (report_.was_complete) return;
    lock_output();
    lay_out();
  });
  if (report_.was_complete) {
    remains_.are_the_results();
    return report_;
  }
  if (are_many()) share_layout();
  name_computers();
  do_on_all(ranks_, [&] { run_sets(); });
  WrittenElements by_others;
  if (are_many()) by_others = gather_outcomes(ranks_, *reader_, written_, report_);
  for (std::size_t k = 0; k < shapes_.size(); ++k) report_.sets[k].shape = shapes_[k];
  do_on_all(ranks_, [&] { commit(by_others); });
  report_.problem_bytes = bytes_of_problems();
  report_.result_bytes = bytes_of_file(options_.results);
  return std::move(report_);
}

}  // namespace

RunReport run(const RunOptions& options, const std::string& command_line) {
  return Pipeline(options, command_line).run();
}

}  // namespace smallbatch
