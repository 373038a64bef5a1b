#include "app/run/run_set.hpp"

#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/logging.hpp"
#include "app/run/run_journal.hpp"
#include "app/verification/piece_sums.hpp"
#include "core/visible_text.hpp"
#include "physics/correlation.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

/// A block on its way through the stages, with its verdicts, hash and times.
template <class Block>
struct StagedBlock {
  explicit StagedBlock(std::pmr::memory_resource* memory) : block(memory) {}
  Block block;
  Verdicts verdicts;
  std::uint64_t problems_hash = 0;  ///< the part of the set's hash from this block's problems
  double compute_seconds = 0;
  std::string verified;  ///< state of verify() after this block, for the journal
};

std::vector<std::int64_t> numbers_of(const SystemRange& range) { return {range.first, range.count}; }
std::vector<std::int64_t> numbers_of(const PlaneRange& range) {
  return {range.first, range.count, range.first_plane, range.plane_count};
}
std::vector<std::int64_t> numbers_of(const SignalRange& range) {
  return {range.first, range.channels, range.first_time, range.times};
}
/// Returns the ranges of blocks [begin, end) as numbers, one block after the other.
template <class Ranges>
std::vector<std::int64_t> numbers_of(const Ranges& blocks, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (std::int64_t k = begin; k < end; ++k)
    for (const std::int64_t number : numbers_of(blocks[static_cast<std::size_t>(k)])) all.push_back(number);
  return all;
}

/// Takes over the first blocks of a set from an unfinished run, and restores the state after them. Removes these blocks
/// from `blocks` and returns their number. Throws if their problems, which are read again, have changed.
template <class Kind, class Ranges>
std::int64_t take_over(const Run& run, Kind& kind, Ranges& blocks) {
  if (!run.journal) return 0;
  const std::string set = set_path(kind.set);
  typename Kind::Block block(&run.memory);
  std::uint64_t hash = 0;  // hash of the problems up to this record, as they are read now
  std::optional<std::size_t> last;
  std::int64_t done = 0;
  for (const std::size_t record : run.journal->earlier(set)) {
    stop_if_interrupted();
    const FinishedBlock finished = run.journal->finished(record);
    const std::int64_t end = finished.last_block + 1;
    // This run must cut the blocks as the earlier run did. No block may be missing before the blocks of this record.
    const bool are_next = finished.first_block == done && end > done &&
                          end <= static_cast<std::int64_t>(blocks.size()) &&
                          finished.ranges == numbers_of(blocks, done, end);
    if (!are_next || !run.writer.has_all(finished.written)) {
      spdlog::warn("{}: block {} {}; it and all later blocks are computed again", visible_text(set), done,
                   are_next ? "has changed in the unfinished file" : "does not follow in the journal");
      break;
    }
    for (std::int64_t k = done; k < end; ++k) {
      stop_if_interrupted();
      hash += read_block(run.reader, kind.set, blocks[static_cast<std::size_t>(k)], block);
    }
    if (hash != finished.problems_hash) {
      throw Error(ErrorKind::usage, "cannot continue the unfinished run of " + run.options.results,
                  "the problems of block " + std::to_string(end - 1) + " of " + visible_text(set) + " in " +
                      run.options.problems + " have changed since they were solved",
                  "Restore the problem file, or leave out --resume to begin again.");
    }
    std::string_view counted = finished.counted;
    kind.take(blocks[static_cast<std::size_t>(finished.last_block)], finished.verified, counted);
    done = end;
    last = record;
  }
  if (last) run.journal->restore(kind.tally.outcome, *last);
  run.journal->count_taken_over(done);
  blocks.erase(blocks.begin(), blocks.begin() + done);
  return done;
}

/// Notes in the journal which blocks of a set are finished.
template <class Ranges>
class FinishedBlocks {
 public:
  /// An earlier run has finished the first `done` blocks of the set. `left` has the blocks after them.
  FinishedBlocks(const Run& run, std::string set, const Ranges& left, std::int64_t done)
      : run_(run), set_(std::move(set)), left_(left), done_(done) {}
  /// Notes that block `k` of `left` and all blocks before it are written. Adds the block's compute time to the outcome.
  template <class Block>
  void note(std::int64_t k, const StagedBlock<Block>& item, SetOutcome& outcome, std::string counted = {}) {
    outcome.compute_seconds += item.compute_seconds / static_cast<double>(run_.computers.solvers.size());
    if (run_.journal) {
      run_.journal->note(
          run_.writer,
          {set_, done_ + next_, done_ + k, numbers_of(left_, next_, k + 1), {}, item.verified, std::move(counted)},
          outcome);
    }
    next_ = k + 1;
  }

 private:
  const Run& run_;
  std::string set_;
  const Ranges& left_;
  std::int64_t done_, next_ = 0;  ///< next_: number of blocks of left_ that are noted
};

/// Returns the number of problems or channels of a range or block.
template <class Part>
std::int64_t problems_of(const Part& part) {
  if constexpr (requires { part.channels; })
    return part.channels;
  else
    return part.count;
}

/// Steps of run_kind() that a kind of set may replace. This class has the usual steps; the classes below have the
/// differences. The verify stage calls verify() and verified() while the write stage calls write() and counted(), for
/// different blocks.
template <class Set, class BlockOfSet, class Tally>
struct KindOfSet {
  using Block = BlockOfSet;
  const Run& run;
  const Set& set;
  Tally tally;
  bool reads_one_at_a_time = true;  // sets with little to read need one reader only

  /// Returns the block's part of the set's work, in a unit of the kind. Progress is reported in this unit, by verify()
  /// if `verifying_reports_progress`, otherwise by run_kind().
  [[nodiscard]] double work(const SystemRange& range) const { return static_cast<double>(range.count); }
  static constexpr bool verifying_reports_progress = false;
  /// Makes room for the results of a block that was read.
  void prepare(Block& /*block*/) const {}
  Verdicts verify(Block& block, Progress& /*progress*/) { return tally.verify(block); }
  void write(const Block& block, const Verdicts& verdicts) {
    run.writer.write(set, block);
    write_verdicts(block.first, verdicts);
    tally.count(block, verdicts);
  }
  void write_verdicts(std::int64_t first, const Verdicts& verdicts) const {
    run.writer.write_verdicts(Set::kind, set.name, first, verdicts.verdict, verdicts.error_over_bound);
  }
  /// Called once all blocks are written.
  void finish() {}

  /// Returns whether a run can be resumed after the block.
  [[nodiscard]] bool may_go_on_after(const Block& /*block*/) const { return true; }
  static constexpr bool has_state = requires(const Tally& t, std::string bytes) { t.put_verified(0, 0, bytes); };
  /// Returns the state of verify() after the block, for the journal.
  [[nodiscard]] std::string verified(const Block& block) const {
    std::string bytes;
    if constexpr (has_state) tally.put_verified(block.first, problems_of(block), bytes);
    return bytes;
  }
  /// Returns the state of write() after the block, for the journal.
  [[nodiscard]] std::string counted(const Block& block) const {
    std::string bytes;
    if constexpr (has_state) tally.put_counted(block.first, problems_of(block), bytes);
    return bytes;
  }
  /// Restores the states of verify() and write() from the journal.
  template <class Range>
  void take(const Range& range, std::string_view verified, std::string_view& counted) {
    if constexpr (has_state) {
      tally.take_verified(range.first, problems_of(range), verified);
      tally.take_counted(range.first, problems_of(range), counted);
    }
  }
};

// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method): run_kind() is a template
template <class T>
struct SystemsOfSet : KindOfSet<SolveSet, SpdBlock<T>, SolveTally<T>> {
  /// Sets with chunks have one reader, so that a chunk that lies in two blocks is decoded only once.
  SystemsOfSet(const Run& r, const SolveSet& s)
      : SystemsOfSet::KindOfSet{r,
                                s,
                                {s, r.options.spd.pivot_floor, r.plan.on_gpus ? spd_rcond_overestimate : 1,
                                 verify_mode_of(r.plan, s), r.options.threads},
                                s.chunk_bytes > 0} {}
  void compute(SpdBlock<T>& block, std::size_t computer) const {
    this->run.computers.solvers[computer]->solve(block.batch(), block.solution());
  }
  void finish() { this->tally.outcome.work = static_cast<double>(this->set.batch); }
};

template <class T>
class PotentialsOfSet : public KindOfSet<PotentialSet, PotentialBlock<T>, PotentialTally<T>> {
 public:
  using Base = KindOfSet<PotentialSet, PotentialBlock<T>, PotentialTally<T>>;
  using Base::run, Base::set, Base::tally, typename Base::Block;

  PotentialsOfSet(const Run& r, const PotentialSet& s, const PotentialOptions& options)
      : Base{r, s, {s, options, verify_mode_of(r.plan, s), r.options.threads}}, options_(options), found_(s.batch) {}
  [[nodiscard]] double work(const PlaneRange& range) const { return pairs(set, range); }
  static constexpr bool verifying_reports_progress = true;
  void prepare(Block& block) const { block.resize_results(set.has_field); }
  void compute(Block& block, std::size_t computer) const {
    run.computers.potentials[computer]->evaluate(block.charges(), block.target_batch(), options_, block.result());
  }
  Verdicts verify(Block& block, Progress& progress) {
    return tally.verify(block, [&](double verified) { progress.advance(verified); });
  }
  void write(const Block& block, const Verdicts& verdicts) {
    run.writer.write(set, block);
    found_.add(block.first, block.count, block.summary);
    tally.count(block, verdicts);
  }
  void finish() {
    const PotentialStatistics statistics = found_.statistics();
    tally.finish(statistics);
    run.writer.write_statistics(set, statistics);
    Base::write_verdicts(0, tally.verdicts());
    tally.outcome.work = pairs(set);
  }
  [[nodiscard]] std::string counted(const Block& block) const {
    std::string bytes = Base::counted(block);
    found_.put_state(block.first, block.count, bytes);
    return bytes;
  }
  void take(const PlaneRange& range, std::string_view verified, std::string_view& counted) {
    Base::take(range, verified, counted);
    found_.take_state(range.first, range.count, counted);
  }

 private:
  PotentialOptions options_;
  StatisticsOfSet found_;
};

struct PairEnergiesOfSet : KindOfSet<PairEnergySet, PairEnergyBlock, PairEnergyTally> {
  PairEnergyOptions options;

  PairEnergiesOfSet(const Run& r, const PairEnergySet& s, const PairEnergyOptions& o)
      : KindOfSet{r, s, {s, o, verify_mode_of(r.plan, s), r.options.threads}}, options(o) {}
  void prepare(Block& block) const { block.resize_results(set.per_charge); }
  void compute(Block& block, std::size_t computer) const {
    run.computers.pair_energies[computer]->evaluate(block.charges(), options, block.result());
  }
};

/// If a block is a piece of an integration, its sums stay in memory until the last piece. So a run cannot be resumed
/// between pieces.
struct CorrelationsOfSet : KindOfSet<CorrelationSet, SignalBlock, CorrelationTally> {
  PieceSums pieces;

  CorrelationsOfSet(const Run& r, const CorrelationSet& s)
      : KindOfSet{r, s, {s, verify_mode_of(r.plan, s), r.options.threads}, s.chunk_bytes > 0} {}
  [[nodiscard]] double work(const SignalRange& range) const {
    return static_cast<double>(range.channels) * static_cast<double>(range.times) *
           static_cast<double>(set.baselines());
  }
  static void prepare(Block& block) { block.resize_sums(); }
  void compute(Block& block, std::size_t computer) const {
    run.computers.correlators[computer]->correlate(block.batch(), block.sums());
    if (set.is_mean && !is_piece(block, set)) take_means(block, run.options.threads);
  }
  Verdicts verify(Block& block, Progress& /*progress*/) {  // called by the verify stage, which has all blocks in order
    if (is_piece(block, set)) {
      pieces.add(set, block, run.options.threads);
      if (set.is_mean && ends_integration(block, set)) take_means(block, run.options.threads);
    }
    return tally.verify(block);
  }
  void write(const Block& block, const Verdicts& verdicts) {
    if (ends_integration(block, set)) run.writer.write(set, block);
    tally.count(block, verdicts);
  }
  void finish() {
    tally.finish();
    run.writer.write_info(set, 0, tally.info());
    write_verdicts(0, tally.verdicts());
    tally.outcome.work = multiply_adds(set);
  }
  [[nodiscard]] bool may_go_on_after(const Block& block) const { return ends_integration(block, set); }
};

// NOLINTEND(bugprone-derived-method-shadowing-base-method)

/// Takes the blocks of a set through all stages.
template <class Kind>
SetOutcome run_kind(Kind kind) {
  const Run& run = kind.run;
  const auto& set = kind.set;
  SetOutcome& outcome = kind.tally.outcome;
  auto blocks = blocks_of(run.plan, set);
  const std::int64_t done = take_over(run, kind, blocks);
  FinishedBlocks finished(run, set_path(set), blocks, done);
  const double earlier_seconds = outcome.compute_seconds;
  double work_left = 0;
  for (const auto& range : blocks) work_left += kind.work(range);
  Progress progress(outcome.kind + "/" + set.name, work_left);

  using Block = StagedBlock<typename Kind::Block>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = kind.reads_one_at_a_time;
  stages.read = [&](std::int64_t k, Block& item) {
    item.problems_hash = read_block(run.reader, set, blocks[static_cast<std::size_t>(k)], item.block);
    kind.prepare(item.block);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    item.compute_seconds = 0;
    timed(item.compute_seconds, [&] { kind.compute(item.block, computer); });
  };
  stages.verify = [&](std::int64_t, Block& item) {
    item.verdicts = kind.verify(item.block, progress);
    item.verified = run.journal && kind.may_go_on_after(item.block) ? kind.verified(item.block) : std::string();
  };
  stages.write = [&](std::int64_t k, const Block& item) {
    kind.write(item.block, item.verdicts);
    outcome.problems_hash += item.problems_hash;
    if (kind.may_go_on_after(item.block))
      finished.note(k, item, outcome, run.journal ? kind.counted(item.block) : std::string());
    if (!Kind::verifying_reports_progress) progress.advance(kind.work(blocks[static_cast<std::size_t>(k)]));
  };
  const double before = run.seconds.compute;
  timed(run.seconds.blocks, [&] {
    stream_blocks(static_cast<std::int64_t>(blocks.size()), stages, run.threads, &run.memory, run.seconds);
  });
  outcome.compute_seconds = earlier_seconds + run.seconds.compute - before;
  kind.finish();
  return outcome;
}

}  // namespace

SetOutcome run_set(const Run& run, const SolveSet& set) {
  return set.type == ScalarType::float32 ? run_kind(SystemsOfSet<float>(run, set))
                                         : run_kind(SystemsOfSet<double>(run, set));
}

SetOutcome run_set(const Run& run, const PotentialSet& set) {
  const PotentialOptions options = potential_options(set, run.options.singular);
  return run.options.precision == ScalarType::float32 ? run_kind(PotentialsOfSet<float>(run, set, options))
                                                      : run_kind(PotentialsOfSet<double>(run, set, options));
}

SetOutcome run_set(const Run& run, const PairEnergySet& set) {
  return run_kind(PairEnergiesOfSet(run, set, pair_energy_options(set, run.options.singular, run.options.precision)));
}

SetOutcome run_set(const Run& run, const CorrelationSet& set) { return run_kind(CorrelationsOfSet(run, set)); }

}  // namespace smallbatch
