#include "app/run_set.hpp"

#include <cstddef>
#include <memory_resource>

#include "app/logging.hpp"
#include "app/piece_sums.hpp"
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
};

/// Takes the blocks of a set through all stages; returns the seconds of computing.
template <class Block>
double stream(const Run& run, std::size_t blocks, const Stages<Block>& stages) {
  const double before = run.seconds.compute;
  stream_blocks(static_cast<std::int64_t>(blocks), stages, run.threads, &run.memory, run.seconds);
  return run.seconds.compute - before;
}

template <class T>
SetOutcome run_set(const Run& run, const SolveSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  const double rcond_overestimate = run.plan.on_gpus ? spd_rcond_overestimate : 1;
  SolveTally<T> tally(set, run.options.spd.pivot_floor, rcond_overestimate, verify, run.options.threads);
  const auto blocks = blocks_of(run.plan, set);
  Progress progress("solve/" + set.name, static_cast<double>(set.batch));

  using Block = JudgedBlock<SpdBlock<T>>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = set.chunk_bytes > 0;  // a chunk of two blocks is kept for the second
  stages.read = [&](std::int64_t k, Block& item) {
    const SystemRange& range = blocks[static_cast<std::size_t>(k)];
    run.reader.read(set, range.first, range.count, item.block);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    run.computers.solvers[computer]->solve(item.block.batch(), item.block.solution());
  };
  stages.verify = [&](std::int64_t, Block& item) { item.verdicts = tally.judge(item.block); };
  stages.write = [&](std::int64_t, const Block& item) {
    const auto& [block, verdicts] = item;
    run.writer.write(set, block);
    run.writer.write_verdicts("solve", set.name, block.first, verdicts.verdict, verdicts.error_over_bound);
    tally.count(block, verdicts);
    progress.advance(static_cast<double>(block.count));
  };
  tally.outcome.compute_seconds = stream(run, blocks.size(), stages);
  tally.outcome.work = static_cast<double>(set.batch);
  return tally.outcome;
}

template <class T>
SetOutcome run_set(const Run& run, const PotentialSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  const auto blocks = blocks_of(run.plan, set);
  const PotentialOptions options{run.options.singular, set.unit_factor(), set.softening, set.cutoff};
  PotentialTally<T> tally(set, options, verify, run.options.threads);
  Progress progress("potential/" + set.name, pairs(set));
  StatisticsOfSet found(set.batch);

  using Block = JudgedBlock<PotentialBlock<T>>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = true;  // there is little to read
  stages.read = [&](std::int64_t k, Block& item) {
    read_block(run.reader, set, blocks[static_cast<std::size_t>(k)], item.block);
    item.block.resize_results(set.has_field);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    PotentialBlock<T>& block = item.block;
    run.computers.potentials[computer]->evaluate(block.charges(), block.target_batch(), options, block.result());
  };
  stages.verify = [&](std::int64_t, Block& item) {
    item.verdicts = tally.judge(item.block, [&](double judged) { progress.advance(judged); });
  };
  stages.write = [&](std::int64_t, const Block& item) {
    const PotentialBlock<T>& block = item.block;
    run.writer.write(set, block);
    found.add(block.first, block.count, block.summary);
    tally.count(block, item.verdicts);
  };
  tally.outcome.compute_seconds = stream(run, blocks.size(), stages);
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
  const auto blocks = blocks_of(run.plan, set);
  const PairEnergyOptions options{run.options.singular, run.options.precision, set.unit_factor(), set.softening,
                                  set.cutoff};
  PairEnergyTally tally(set, options, verify, run.options.threads);
  Progress progress("pair_energy/" + set.name, static_cast<double>(set.batch));

  using Block = JudgedBlock<PairEnergyBlock>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = true;  // there is little to read
  stages.read = [&](std::int64_t k, Block& item) {
    const SystemRange& range = blocks[static_cast<std::size_t>(k)];
    run.reader.read(set, range.first, range.count, item.block);
    item.block.resize_results(set.per_charge);
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    run.computers.pair_energies[computer]->evaluate(item.block.charges(), options, item.block.result());
  };
  stages.verify = [&](std::int64_t, Block& item) { item.verdicts = tally.judge(item.block); };
  stages.write = [&](std::int64_t, const Block& item) {
    const auto& [block, verdicts] = item;
    run.writer.write(set, block);
    run.writer.write_verdicts("pair_energy", set.name, block.first, verdicts.verdict, verdicts.error_over_bound);
    tally.count(block, verdicts);
    progress.advance(static_cast<double>(block.count));
  };
  tally.outcome.compute_seconds = stream(run, blocks.size(), stages);
  return tally.outcome;
}

SetOutcome run_set(const Run& run, const CorrelationSet& set) {
  const VerifyMode verify = verify_mode_of(run.plan, set);
  const auto blocks = blocks_of(run.plan, set);
  const unsigned threads = run.options.threads;
  CorrelationTally tally(set, verify, threads);
  Progress progress("correlation/" + set.name, multiply_adds(set));
  PieceSums pieces;

  using Block = JudgedBlock<SignalBlock>;
  Stages<Block> stages;
  stages.reads_one_at_a_time = set.chunk_bytes > 0;
  stages.read = [&](std::int64_t k, Block& item) {
    SignalBlock& block = item.block;
    const SignalRange& range = blocks[static_cast<std::size_t>(k)];
    take_range(range, block);
    run.reader.read(set, block);
    block.resize_sums();
  };
  stages.compute = [&](std::int64_t, Block& item, std::size_t computer) {
    run.computers.correlators[computer]->correlate(item.block.batch(), item.block.sums());
    if (set.is_mean && !is_piece(item.block, set)) take_means(item.block, threads);
  };
  stages.verify = [&](std::int64_t, Block& item) {  // the stage that has all blocks, in their order
    SignalBlock& block = item.block;
    if (is_piece(block, set)) {
      pieces.add(set, block, threads);
      if (set.is_mean && ends_integration(block, set)) take_means(block, threads);
    }
    item.verdicts = tally.judge(block);
  };
  stages.write = [&](std::int64_t, const Block& item) {
    const SignalBlock& block = item.block;
    if (ends_integration(block, set)) run.writer.write(set, block);
    tally.count(block, item.verdicts);
    progress.advance(multiply_adds(block));
  };
  tally.outcome.compute_seconds = stream(run, blocks.size(), stages);
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
