#include "app/run_set.hpp"

#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/logging.hpp"
#include "app/piece_sums.hpp"
#include "app/run_journal.hpp"
#include "core/visible_text.hpp"
#include "physics/correlation.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

namespace {

/// A block on its way, with what was found out about it.
template <class Block>
struct JudgedBlock {
  explicit JudgedBlock(std::pmr::memory_resource* memory) : block(memory) {}
  Block block;
  Verdicts verdicts;
  std::uint64_t problems_hash = 0;  ///< the part that its problems have
  double compute_seconds = 0;
  std::string judged;  ///< by then, of its problems: for the journal
};

/// Computes a block, and says how long it took.
template <class Block, class Compute>
void compute_timed(JudgedBlock<Block>& item, Compute&& compute) {
  item.compute_seconds = 0;
  timed(item.compute_seconds, compute);
}

std::vector<std::int64_t> numbers_of(const SystemRange& range) { return {range.first, range.count}; }
std::vector<std::int64_t> numbers_of(const PlaneRange& range) {
  return {range.first, range.count, range.first_plane, range.plane_count};
}
std::vector<std::int64_t> numbers_of(const SignalRange& range) {
  return {range.first, range.channels, range.first_time, range.times};
}
/// Of blocks [begin, end), one after the other.
template <class Ranges>
std::vector<std::int64_t> numbers_of(const Ranges& blocks, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (std::int64_t k = begin; k < end; ++k)
    for (const std::int64_t number : numbers_of(blocks[static_cast<std::size_t>(k)])) all.push_back(number);
  return all;
}

/// Finds the first blocks of a set as an earlier process has left them, and tells take(finished) of those, one after
/// the other. Removes them from `blocks`; returns how many they are. Throws where their problems, which are read again
/// as `Block`s, have become others.
template <class Block, class Set, class Ranges, class Take>
std::int64_t take_over(const Run& run, const Set& problems, Ranges& blocks, SetOutcome& outcome, Take take) {
  if (!run.journal) return 0;
  const std::string set = set_path(problems);
  Block block(&run.memory);
  std::uint64_t hash = 0;  // of the problems so far, as they are now
  std::optional<std::size_t> last;
  std::int64_t done = 0;
  for (const std::size_t record : run.journal->earlier(set)) {
    stop_if_interrupted();
    const FinishedBlock finished = run.journal->finished(record);
    const std::int64_t end = finished.last_block + 1;
    // Of the same blocks, cut alike, and of none that are missing before them.
    const bool are_next = finished.first_block == done && end > done &&
                          end <= static_cast<std::int64_t>(blocks.size()) &&
                          finished.ranges == numbers_of(blocks, done, end);
    if (!are_next || !run.writer.has_all(finished.written)) {
      spdlog::warn(
          "{}: block {} {}; computing goes on from there", visible_text(set), done,
          are_next ? "in the unfinished file is not what was written there" : "is not what its journal goes on with");
      break;
    }
    for (std::int64_t k = done; k < end; ++k) {
      stop_if_interrupted();
      hash += read_block(run.reader, problems, blocks[static_cast<std::size_t>(k)], block);
    }
    if (hash != finished.problems_hash) {
      throw Error(ErrorKind::usage, "cannot go on with the run that was to write " + run.options.results,
                  "the problems of block " + std::to_string(end - 1) + " of " + visible_text(set) + " of " +
                      run.options.problems + " are no longer those that were solved",
                  "Put the problem file back as it was, or leave out --resume, which begins again.");
    }
    take(finished);
    done = end;
    last = record;
  }
  if (last) run.journal->restore(outcome, *last);
  run.journal->count_taken_over(done);
  blocks.erase(blocks.begin(), blocks.begin() + done);
  return done;
}
template <class Block, class Set, class Ranges>
std::int64_t take_over(const Run& run, const Set& problems, Ranges& blocks, SetOutcome& outcome) {
  return take_over<Block>(run, problems, blocks, outcome, [](const FinishedBlock&) {});
}

/// What of a set's blocks is finished, for who goes on with it.
template <class Ranges>
class FinishedBlocks {
 public:
  /// `done` blocks were finished before those of `left`.
  FinishedBlocks(const Run& run, std::string set, const Ranges& left, std::int64_t done)
      : run_(run), set_(std::move(set)), left_(left), done_(done) {}
  /// Notes that block `k` of those left is written, with those before it, and what it took to compute.
  template <class Block>
  void note(std::int64_t k, const JudgedBlock<Block>& item, SetOutcome& outcome, std::string counted = {}) {
    outcome.compute_seconds += item.compute_seconds / static_cast<double>(run_.computers.solvers.size());
    if (run_.journal) {
      run_.journal->note(
          run_.writer,
          {set_, done_ + next_, done_ + k, numbers_of(left_, next_, k + 1), {}, item.judged, std::move(counted)},
          outcome);
    }
    next_ = k + 1;
  }

 private:
  const Run& run_;
  std::string set_;
  const Ranges& left_;
  std::int64_t done_, next_ = 0;  ///< next: the first that is not noted
};

/// Takes the blocks of a set through all stages; returns the seconds of computing.
template <class Block>
double stream(const Run& run, std::size_t blocks, const Stages<Block>& stages) {
  const double before = run.seconds.compute;
  timed(run.seconds.blocks,
        [&] { stream_blocks(static_cast<std::int64_t>(blocks), stages, run.threads, &run.memory, run.seconds); });
  return run.seconds.compute - before;
}

template <class T>
SetOutcome run_set(const Run& run, const SolveSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  const double rcond_overestimate = run.plan.on_gpus ? spd_rcond_overestimate : 1;
  SolveTally<T> tally(set, run.options.spd.pivot_floor, rcond_overestimate, verify, run.options.threads);
  auto blocks = blocks_of(run.plan, set);
  const std::int64_t done = take_over<SpdBlock<T>>(run, set, blocks, tally.outcome);
  FinishedBlocks finished(run, set_path(set), blocks, done);
  const double earlier_seconds = tally.outcome.compute_seconds;
  Progress progress("solve/" + set.name, static_cast<double>(blocks.empty() ? 0 : set.batch - blocks.front().first));

  using Block = JudgedBlock<SpdBlock<T>>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = set.chunk_bytes > 0;  // a chunk of two blocks is kept for the second
  stages.read = [&](std::int64_t k, Block& item) {
    const SystemRange& range = blocks[static_cast<std::size_t>(k)];
    item.problems_hash = read_block(run.reader, set, range, item.block);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    compute_timed(item, [&] { run.computers.solvers[computer]->solve(item.block.batch(), item.block.solution()); });
  };
  stages.verify = [&](std::int64_t, Block& item) { item.verdicts = tally.judge(item.block); };
  stages.write = [&](std::int64_t k, const Block& item) {
    const auto& block = item.block;
    const Verdicts& verdicts = item.verdicts;
    run.writer.write(set, block);
    run.writer.write_verdicts("solve", set.name, block.first, verdicts.verdict, verdicts.error_over_bound);
    tally.count(block, verdicts);
    tally.outcome.problems_hash += item.problems_hash;
    finished.note(k, item, tally.outcome);
    progress.advance(static_cast<double>(block.count));
  };
  tally.outcome.compute_seconds = earlier_seconds + stream(run, blocks.size(), stages);
  tally.outcome.work = static_cast<double>(set.batch);
  return tally.outcome;
}

template <class T>
SetOutcome run_set(const Run& run, const PotentialSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  auto blocks = blocks_of(run.plan, set);
  const PotentialOptions options{run.options.singular, set.unit_factor(), set.softening, set.cutoff};
  PotentialTally<T> tally(set, options, verify, run.options.threads);
  StatisticsOfSet found(set.batch);
  const std::int64_t done =
      take_over<PotentialBlock<T>>(run, set, blocks, tally.outcome, [&](const FinishedBlock& finished) {
        const PlaneRange& range = blocks[static_cast<std::size_t>(finished.last_block)];
        std::string_view judged = finished.judged, counted = finished.counted;
        tally.take_judged(range.first, range.count, judged);
        tally.take_counted(range.first, range.count, counted);
        found.take_state(range.first, range.count, counted);
      });
  FinishedBlocks finished(run, set_path(set), blocks, done);
  const double earlier_seconds = tally.outcome.compute_seconds;
  double pairs_left = 0;
  for (const PlaneRange& range : blocks) pairs_left += pairs(set, range);
  Progress progress("potential/" + set.name, pairs_left);

  using Block = JudgedBlock<PotentialBlock<T>>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = true;  // there is little to read
  stages.read = [&](std::int64_t k, Block& item) {
    item.problems_hash = read_block(run.reader, set, blocks[static_cast<std::size_t>(k)], item.block);
    item.block.resize_results(set.has_field);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    PotentialBlock<T>& block = item.block;
    compute_timed(item, [&] {
      run.computers.potentials[computer]->evaluate(block.charges(), block.target_batch(), options, block.result());
    });
  };
  stages.verify = [&](std::int64_t, Block& item) {
    item.verdicts = tally.judge(item.block, [&](double judged) { progress.advance(judged); });
    item.judged.clear();
    if (run.journal) tally.put_judged(item.block.first, item.block.count, item.judged);
  };
  stages.write = [&](std::int64_t k, const Block& item) {
    const PotentialBlock<T>& block = item.block;
    run.writer.write(set, block);
    found.add(block.first, block.count, block.summary);
    tally.count(block, item.verdicts);
    tally.outcome.problems_hash += item.problems_hash;
    std::string counted;
    if (run.journal) tally.put_counted(block.first, block.count, counted);
    if (run.journal) found.put_state(block.first, block.count, counted);
    finished.note(k, item, tally.outcome, std::move(counted));
  };
  tally.outcome.compute_seconds = earlier_seconds + stream(run, blocks.size(), stages);
  const PotentialStatistics statistics = found.statistics();
  tally.finish(statistics);
  const Verdicts& verdicts = tally.verdicts();
  run.writer.write_statistics(set, statistics);
  run.writer.write_verdicts("potential", set.name, 0, verdicts.verdict, verdicts.error_over_bound);
  tally.outcome.work = pairs(set);
  return tally.outcome;
}

}  // namespace

SetOutcome run_set(const Run& run, const PairEnergySet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  auto blocks = blocks_of(run.plan, set);
  const PairEnergyOptions options{run.options.singular, run.options.precision, set.unit_factor(), set.softening,
                                  set.cutoff};
  PairEnergyTally tally(set, options, verify, run.options.threads);
  const std::int64_t done = take_over<PairEnergyBlock>(run, set, blocks, tally.outcome);
  FinishedBlocks finished(run, set_path(set), blocks, done);
  const double earlier_seconds = tally.outcome.compute_seconds;
  Progress progress("pair_energy/" + set.name,
                    static_cast<double>(blocks.empty() ? 0 : set.batch - blocks.front().first));

  using Block = JudgedBlock<PairEnergyBlock>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = true;  // there is little to read
  stages.read = [&](std::int64_t k, Block& item) {
    const SystemRange& range = blocks[static_cast<std::size_t>(k)];
    item.problems_hash = read_block(run.reader, set, range, item.block);
    item.block.resize_results(set.per_charge);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    compute_timed(item, [&] {
      run.computers.pair_energies[computer]->evaluate(item.block.charges(), options, item.block.result());
    });
  };
  stages.verify = [&](std::int64_t, Block& item) { item.verdicts = tally.judge(item.block); };
  stages.write = [&](std::int64_t k, const Block& item) {
    const PairEnergyBlock& block = item.block;
    const Verdicts& verdicts = item.verdicts;
    run.writer.write(set, block);
    run.writer.write_verdicts("pair_energy", set.name, block.first, verdicts.verdict, verdicts.error_over_bound);
    tally.count(block, verdicts);
    tally.outcome.problems_hash += item.problems_hash;
    finished.note(k, item, tally.outcome);
    progress.advance(static_cast<double>(block.count));
  };
  tally.outcome.compute_seconds = earlier_seconds + stream(run, blocks.size(), stages);
  return tally.outcome;
}

SetOutcome run_set(const Run& run, const CorrelationSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  auto blocks = blocks_of(run.plan, set);
  const unsigned threads = run.options.threads;
  CorrelationTally tally(set, verify, threads);
  const std::int64_t done = take_over<SignalBlock>(run, set, blocks, tally.outcome, [&](const FinishedBlock& finished) {
    const SignalRange& range = blocks[static_cast<std::size_t>(finished.last_block)];
    std::string_view judged = finished.judged, counted = finished.counted;
    tally.take_judged(range.first, range.channels, judged);
    tally.take_counted(range.first, range.channels, counted);
  });
  FinishedBlocks finished(run, set_path(set), blocks, done);
  const double earlier_seconds = tally.outcome.compute_seconds;
  double left = 0;
  for (const SignalRange& range : blocks)
    left += static_cast<double>(range.channels) * static_cast<double>(range.times) / static_cast<double>(set.times);
  Progress progress("correlation/" + set.name, set.times > 0 ? left * multiply_adds(set, 1) : 0);
  PieceSums pieces;

  using Block = JudgedBlock<SignalBlock>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = set.chunk_bytes > 0;
  stages.read = [&](std::int64_t k, Block& item) {
    item.problems_hash = read_block(run.reader, set, blocks[static_cast<std::size_t>(k)], item.block);
    item.block.resize_sums();
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    compute_timed(item, [&] {
      run.computers.correlators[computer]->correlate(item.block.batch(), item.block.sums());
      if (set.is_mean && !is_piece(item.block, set)) take_means(item.block, threads);
    });
  };
  stages.verify = [&](std::int64_t, Block& item) {  // the stage that has all blocks, in their order
    SignalBlock& block = item.block;
    if (is_piece(block, set)) {
      pieces.add(set, block, threads);
      if (set.is_mean && ends_integration(block, set)) take_means(block, threads);
    }
    item.verdicts = tally.judge(block);
    item.judged.clear();
    if (run.journal && ends_integration(block, set)) tally.put_judged(block.first, block.channels, item.judged);
  };
  stages.write = [&](std::int64_t k, const Block& item) {
    const SignalBlock& block = item.block;
    if (ends_integration(block, set)) run.writer.write(set, block);
    tally.count(block, item.verdicts);
    tally.outcome.problems_hash += item.problems_hash;
    if (ends_integration(block, set)) {  // of a piece, its sums wait for the next one in memory alone
      std::string counted;
      if (run.journal) tally.put_counted(block.first, block.channels, counted);
      finished.note(k, item, tally.outcome, std::move(counted));
    }
    progress.advance(multiply_adds(block));
  };
  tally.outcome.compute_seconds = earlier_seconds + stream(run, blocks.size(), stages);
  tally.finish();
  const Verdicts& verdicts = tally.verdicts();
  run.writer.write_info(set, 0, tally.info());
  run.writer.write_verdicts("correlation", set.name, 0, verdicts.verdict, verdicts.error_over_bound);
  tally.outcome.work = multiply_adds(set);
  return tally.outcome;
}

SetOutcome run_set(const Run& run, const SolveSet& set) {
  return set.type == ScalarType::float32 ? run_set<float>(run, set) : run_set<double>(run, set);
}
SetOutcome run_set(const Run& run, const PotentialSet& set) {
  return run.options.precision == ScalarType::float32 ? run_set<float>(run, set) : run_set<double>(run, set);
}

}  // namespace smallbatch
