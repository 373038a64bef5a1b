#include "app/verification/verification.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

#include "app/cli/interruption.hpp"
#include "app/verification/block_state.hpp"
#include "app/verification/piece_sums.hpp"
#include "core/compare.hpp"
#include "core/grid_stride.hpp"
#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "physics/charges/pair_energy_referee.hpp"
#include "physics/charges/potential_referee.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {

/// Selected indices in [first, last). The mode selects them from all indices in [0, total). With sample=N, it selects
/// floor(i total / N) for i < N.
class Selection {
 public:
  Selection(const VerifyMode& mode, std::int64_t total, std::int64_t first, std::int64_t last)
      : all_(mode.kind == VerifyMode::Kind::all || (mode.kind == VerifyMode::Kind::sample && mode.sample >= total)),
        first_(first),
        last_(last) {
    if (all_ || mode.kind == VerifyMode::Kind::none || total == 0) return;
    const double step = static_cast<double>(total) / static_cast<double>(mode.sample);
    auto index_of = [&](std::int64_t i) { return static_cast<std::int64_t>(static_cast<double>(i) * step); };
    auto i = std::max<std::int64_t>(0, static_cast<std::int64_t>(static_cast<double>(first) / step) - 1);
    for (; i < mode.sample && index_of(i) < last; ++i)
      if (index_of(i) >= first) chosen_.push_back(index_of(i));
  }
  [[nodiscard]] std::int64_t size() const { return all_ ? last_ - first_ : static_cast<std::int64_t>(chosen_.size()); }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    return all_ ? first_ + i : chosen_[static_cast<std::size_t>(i)];
  }

 private:
  bool all_;
  std::int64_t first_, last_;
  std::vector<std::int64_t> chosen_;
};

/// A problem to check. It has selected targets. With --verify all, it may also be a problem without any targets.
struct Problem {
  std::int64_t problem = 0, charges = 0;  ///< charges: at least 1, so that work is never 0
  std::int64_t targets = 0, pieces = 0;   ///< number of targets to check, and of their pieces
  std::optional<PotentialReferee> referee;
  ReferenceStatus status;
  Beyond beyond = Beyond::no;
};

/// A unit of work: selected targets first .. last - 1, all of one problem.
struct Piece {
  std::size_t problem = 0;
  std::int64_t first = 0, last = 0;
  double worst = 0;
  Beyond beyond = Beyond::no;
  [[nodiscard]] std::int64_t targets() const { return last - first; }
};
/// Limits of a piece, which takes some hundredths of a second on a slow core.
constexpr std::int64_t pairs_of_piece = 1 << 23, fewest_targets_of_piece = 32, most_targets_of_piece = 1 << 12;

/// Reports a block's pairs while threads verify them. If only a sample is verified, each verified pair stands for
/// several pairs. Only one thread reports at a time. If another thread is reporting, a thread leaves its pairs to the
/// next report.
class Advance {
 public:
  Advance(const PairsVerified& verified, double pairs, double pairs_to_verify)
      : verified_(verified), left_(pairs), weight_(pairs / std::max(1.0, pairs_to_verify)) {}
  void add(double pairs) {
    if (!verified_) return;
    waiting_ += pairs * weight_;
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) report(std::min(waiting_.exchange(0), left_));
  }
  void finish() {
    if (verified_) report(left_);
  }

 private:
  void report(double pairs) {
    left_ -= pairs;
    verified_(pairs);
  }
  const PairsVerified& verified_;
  double left_, weight_;
  std::atomic<double> waiting_ = 0;
  std::mutex mutex_;
};

}  // namespace

void Verdicts::add(std::int64_t index, double error_over_its_bound) {
  const auto i = static_cast<std::size_t>(index);
  verdict[i] = std::max(verdict[i], within(error_over_its_bound, 1) ? Verdict::agreed : Verdict::disagreed);
  const double error = std::isnan(error_over_its_bound) ? infinity : error_over_its_bound;
  // fmax ignores the NaN that means "not checked yet".
  error_over_bound[i] = std::fmax(error_over_bound[i], static_cast<float>(error));
}

void Verdicts::merge(std::int64_t first, const Verdicts& part) {
  for (std::size_t k = 0; k < part.verdict.size(); ++k) {
    const auto i = static_cast<std::size_t>(first) + k;
    verdict[i] = std::max(verdict[i], part.verdict[k]);
    error_over_bound[i] = std::fmax(error_over_bound[i], part.error_over_bound[k]);
  }
}

void Verdicts::put_state(std::int64_t first, std::int64_t count, std::string& bytes) const {
  const auto begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  put(bytes, std::span(verdict).subspan(begin, size));
  put(bytes, std::span(error_over_bound).subspan(begin, size));
}
void Verdicts::take_state(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  const auto begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  take(bytes, std::span(verdict).subspan(begin, size));
  take(bytes, std::span(error_over_bound).subspan(begin, size));
}

template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, double rcond_overestimate,
                const VerifyMode& mode, unsigned threads) {
  Verdicts verdicts(block.count);
  const Selection selected(mode, set.batch, block.first, block.first + block.count);
  // The referee is fastest with many systems at a time (solvers/reference/lanes.hpp). In a small block, each thread
  // gets fewer, so that all threads have work.
  constexpr std::int64_t fewest = 16, most = 64;
  const std::int64_t workers = thread_count(threads);
  const std::int64_t grain = std::clamp(selected.size() / (4 * workers) / fewest * fewest, fewest, most);
  parallel_for(selected.size(), grain, threads, [&](std::int64_t first, std::int64_t last) {
    stop_if_interrupted();
    std::array<std::int64_t, most> systems;
    std::array<double, most> errors;
    const auto count = static_cast<std::size_t>(last - first);
    for (std::size_t i = 0; i < count; ++i) systems[i] = selected[first + static_cast<std::int64_t>(i)] - block.first;
    spd_errors_over_bounds<T>(block, pivot_floor, {systems.data(), count}, {errors.data(), count}, rcond_overestimate);
    for (std::size_t i = 0; i < count; ++i) verdicts.add(systems[i], errors[i]);
  });
  return verdicts;
}

template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked, const PairsVerified& verified) {
  // The values of a block are consecutive targets of the set, counted problem after problem.
  const std::int64_t first_target =
      set.targets_before(block.first) +
      (set.targets == TargetKind::lattice ? block.first_plane * set.shape.plane_points() : 0);
  const Selection selected(mode, set.targets_before(set.batch), first_target,
                           first_target + static_cast<std::int64_t>(block.potential.size()));
  points_checked += selected.size();

  // Pieces are runs of selected targets of one problem. They are short, so that an interruption is noticed soon and a
  // large problem occupies all threads. With --verify all, the status of a problem without targets is checked too.
  std::vector<Piece> pieces;
  std::vector<Problem> problems;
  double checked_pairs = 0;
  std::int64_t i = 0;
  for (std::int64_t p = 0; p < block.count; ++p) {
    const std::int64_t end = set.targets_before(block.first + p + 1);
    const bool is_empty = end == set.targets_before(block.first + p);
    const bool is_selected = i < selected.size() && selected[i] < end;
    if (!is_selected && !(is_empty && mode.kind == VerifyMode::Kind::all)) continue;
    const auto k = static_cast<std::size_t>(p);
    const std::int64_t charges = std::max<std::int64_t>(1, block.offset[k + 1] - block.offset[k]);
    const std::int64_t longest = std::clamp(pairs_of_piece / charges, fewest_targets_of_piece, most_targets_of_piece);
    problems.emplace_back().problem = p;
    problems.back().charges = charges;
    do {
      Piece piece{problems.size() - 1, i, i};
      while (i < selected.size() && i - piece.first < longest && selected[i] < end) ++i;
      piece.last = i;
      problems.back().targets += piece.targets();
      ++problems.back().pieces;
      pieces.push_back(piece);
    } while (i < selected.size() && selected[i] < end);
    checked_pairs += static_cast<double>(charges) * static_cast<double>(problems.back().targets);
  }

  // A problem's referee is made for the first piece of the problem, and deleted after the last piece.
  std::vector<std::once_flag> prepared(problems.size());
  std::vector<std::atomic<std::int64_t>> left(problems.size());
  for (std::size_t k = 0; k < problems.size(); ++k) left[k] = problems[k].pieces;
  Advance advance(verified, pairs(block), checked_pairs);
  const unsigned workers = thread_count(threads);
  const auto verify_piece = [&](Piece& piece) {
    stop_if_interrupted();
    Problem& problem = problems[piece.problem];
    std::call_once(prepared[piece.problem], [&] {
      problem.referee.emplace(block.charges(), block.target_batch(), problem.problem, options, scalar_type_of<T>,
                              !block.field.empty());
      problem.status = problem.referee->status();
    });
    const auto size = static_cast<std::size_t>(piece.targets());
    std::vector<std::int64_t> targets(size);
    std::vector<ReferencePotential> expected(size);
    const std::int64_t before = set.targets_before(block.first + problem.problem);
    for (std::size_t k = 0; k < size; ++k) targets[k] = selected[piece.first + static_cast<std::int64_t>(k)] - before;
    problem.referee->at(targets, expected);
    for (std::size_t k = 0; k < size; ++k)
      piece.worst =
          std::max(piece.worst, potential_error_over_bound(block, targets[k] + before - first_target,
                                                           has_values(problem.status.info), expected[k], piece.beyond));
    if (--left[piece.problem] == 0) problem.referee.reset();
    advance.add(static_cast<double>(problem.charges) * static_cast<double>(size));
  };
  for_each_index_on_threads(static_cast<std::int64_t>(pieces.size()), 1, workers,
                            [&](std::int64_t k) { verify_piece(pieces[static_cast<std::size_t>(k)]); });

  advance.finish();

  Verdicts verdicts(block.count);
  for (const Piece& piece : pieces) {
    Problem& problem = problems[piece.problem];
    verdicts.add(problem.problem, piece.worst);
    problem.beyond = std::max(problem.beyond, piece.beyond);
  }
  for_each_index_on_threads(static_cast<std::int64_t>(problems.size()), 1, workers, [&](std::int64_t k) {
    const Problem& problem = problems[static_cast<std::size_t>(k)];
    const std::int64_t p = problem.problem, begin = set.targets_before(block.first + p) - first_target;
    const std::int64_t end = begin + block.target_count(p);
    Beyond beyond = problem.beyond;
    if (set.targets == TargetKind::lattice)
      beyond = Beyond::no;  // for lattices, status.info already says whether values are beyond the range
    else if (problem.targets < end - begin)
      beyond = std::max(beyond, stored_beyond_range(block, begin, end,
                                                    options.singular == Singular::infinite ? problem.status.info : 0));
    if (!is_status(block.info[static_cast<std::size_t>(p)], problem.status, beyond)) verdicts.add(p, infinity);
  });
  if (!block.wants_energy) return verdicts;
  const Selection energies(mode, set.batch, block.first, block.first + block.count);
  for_each_index_on_threads(energies.size(), 1, workers, [&](std::int64_t k) {
    stop_if_interrupted();
    const std::int64_t problem = energies[k] - block.first;
    verdicts.add(problem, energy_error_over_bound(block, options, problem, stop_if_interrupted));
  });
  return verdicts;
}

void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set) {
  for (std::size_t p = 0; p < statistics.mean.size(); ++p) {
    const auto problem = static_cast<std::int64_t>(p);
    const double error = referee.largest_error_over_bound(statistics, problem);
    if (of_set.verdict[p] != Verdict::not_checked || !within(error, 1)) of_set.add(problem, error);
  }
}

Verdicts verify(const PairEnergySet& set, const PairEnergyBlock& block, const PairEnergyOptions& options,
                const VerifyMode& mode, unsigned threads) {
  Verdicts verdicts(block.count);
  const Selection selected(mode, set.batch, block.first, block.first + block.count);
  // Each thread takes a problem. If there are few problems, all threads share each one.
  const std::int64_t workers = thread_count(threads);
  const bool is_shared = selected.size() < 4 * workers;
  parallel_for(selected.size(), 1, is_shared ? 1 : threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      stop_if_interrupted();
      const std::int64_t problem = selected[k] - block.first;
      const ReferencePairEnergy reference = reference_pair_energy(block.charges(), problem, options, set.per_charge,
                                                                  is_shared ? threads : 1, stop_if_interrupted);
      verdicts.add(problem, pair_energy_error_over_bound(block, problem, reference));
    }
  });
  return verdicts;
}

/// Findings about one channel in one integration.
struct CorrelationVerification::Found {
  Comparison visibilities;  ///< empty before the last piece
  bool is_checked = false, has_bad_sample = false, is_beyond_range = false;
};

CorrelationVerification::CorrelationVerification(const CorrelationSet& set, const VerifyMode& mode, unsigned threads)
    : set_(set), mode_(mode), threads_(thread_count(threads)), channels_(static_cast<std::size_t>(set.batch)) {
  // Uses fewer threads if the sums of all their referees would take more than most_bytes.
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20, bytes_of_baseline = 2 * sizeof(double) + 4;
  threads_ =
      static_cast<unsigned>(std::clamp<std::int64_t>(most_bytes / (bytes_of_baseline * set.baselines()), 1, threads_));
}

void CorrelationVerification::add_times(const SignalBlock& block, const ChannelIntegration& at, std::int64_t part,
                                        std::int64_t parts, std::optional<CorrelationReferee>& referee) const {
  stop_if_interrupted();
  const std::int64_t baselines = set_.baselines(), begin = at.integration * set_.integrate;
  if ((block.first_time + begin) % set_.integrate == 0) {
    referee.reset();
    const std::int64_t of_set = (block.first_time + begin) / set_.integrate * set_.batch + block.first + at.channel;
    const Selection selected(mode_, set_.integrations() * set_.batch * baselines, of_set * baselines,
                             (of_set + 1) * baselines);
    if (selected.size() == 0) return;
    std::vector<std::int64_t> some;
    for (std::int64_t k = 0; selected.size() < baselines && k < selected.size(); ++k)
      some.push_back(selected[k] - of_set * baselines);
    referee.emplace(set_.type, set_.inputs, std::move(some));
  }
  if (!referee) return;
  const std::int64_t times = std::min(set_.integrate, block.times - begin);
  const std::int64_t first = part * times / parts, last = (part + 1) * times / parts;
  referee->add(block.batch(), at.channel, begin + first, last - first);
}

CorrelationVerification::Found CorrelationVerification::found_by(std::span<std::optional<CorrelationReferee>> referees,
                                                                 const SignalBlock& block,
                                                                 const ChannelIntegration& at) const {
  std::optional<CorrelationReferee>& referee = referees.front();
  if (!referee) return {};
  for (const auto& other : referees.subspan(1)) referee->merge(*other);
  const std::int64_t baselines = set_.baselines();
  const std::int64_t first = (at.integration * block.channels + at.channel) * baselines;
  const StoredVisibilities stored{set_.sum(), block.visibility.data() + first * bytes_of(block.sum),
                                  block.weight.data() + first, set_.is_mean};
  const Found found{referee->compare(stored), true, referee->has_bad_sample(), are_beyond_range(stored, set_.inputs)};
  for (auto& of_part : referees) of_part.reset();
  return found;
}

Verdicts CorrelationVerification::verify(const SignalBlock& block) {
  Verdicts verdicts(block.channels);
  if (mode_.kind == VerifyMode::Kind::none) return verdicts;
  const std::int64_t count = block.batch().integrations() * block.channels;
  if (count == 0) return verdicts;
  std::vector<Found> found(static_cast<std::size_t>(count));
  const auto at_index = [&](std::int64_t k) { return ChannelIntegration{k % block.channels, k / block.channels}; };
  if (is_piece(block, set_) || count < threads_) {
    // If the block is a piece of an integration, its referees stay in memory for the next piece. If there are more
    // threads than channels times integrations, each of these has several referees, so that all threads have work.
    const std::int64_t parts = std::max<std::int64_t>(1, threads_ / count);
    referees_.resize(static_cast<std::size_t>(count * parts));
    for_each_index_on_threads(count * parts, 1, threads_, [&](std::int64_t k) {
      add_times(block, at_index(k / parts), k % parts, parts, referees_[static_cast<std::size_t>(k)]);
    });
    if (!ends_integration(block, set_)) return verdicts;
    for_each_index_on_threads(count, 1, threads_, [&](std::int64_t k) {
      found[static_cast<std::size_t>(k)] = found_by(std::span(referees_).subspan(k * parts, parts), block, at_index(k));
    });
  } else {
    for_each_index_on_threads(count, 1, threads_, [&](std::int64_t k) {
      std::optional<CorrelationReferee> referee;
      add_times(block, at_index(k), 0, 1, referee);
      found[static_cast<std::size_t>(k)] = found_by({&referee, 1}, block, at_index(k));
    });
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!found[k].is_checked) continue;
    const std::int64_t c = static_cast<std::int64_t>(k) % block.channels;
    Channel& channel = channels_[static_cast<std::size_t>(block.first + c)];
    ++channel.integrations;
    channel.has_bad_sample |= found[k].has_bad_sample;
    channel.is_beyond_range |= found[k].is_beyond_range;
    visibilities_checked_ += found[k].visibilities.compared;
    verdicts.add(c, found[k].visibilities.worst);
  }
  return verdicts;
}

void CorrelationVerification::put_state(std::int64_t first, std::int64_t count, std::string& bytes) const {
  if (mode_.kind == VerifyMode::Kind::none) return;
  put(bytes, std::span(&visibilities_checked_, 1));
  put(bytes, std::span(channels_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}
void CorrelationVerification::take_state(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  if (mode_.kind == VerifyMode::Kind::none) return;
  take(bytes, std::span(&visibilities_checked_, 1));
  take(bytes, std::span(channels_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

void CorrelationVerification::verify_info(std::span<const std::int32_t> info, Verdicts& of_set) const {
  const bool is_all = mode_.kind == VerifyMode::Kind::all;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const auto& [integrations, has_bad_sample, is_beyond_range] = channels_[c];
    if (integrations == 0 && !is_all) continue;
    // An info that the checked integrations do not explain may come from an integration that was not checked.
    const bool is_right = info[c] == correlation_info(has_bad_sample, is_beyond_range) ||
                          (integrations < set_.integrations() && !has_bad_sample &&
                           (info[c] == info_signal_not_finite ||
                            (info[c] == info_visibility_out_of_range && set_.type == SampleType::complex_float32)));
    of_set.add(static_cast<std::int64_t>(c), is_right ? 0 : infinity);
  }
}

template Verdicts verify(const SolveSet&, const SpdBlock<float>&, double, double, const VerifyMode&, unsigned);
template Verdicts verify(const SolveSet&, const SpdBlock<double>&, double, double, const VerifyMode&, unsigned);
template Verdicts verify(const PotentialSet&, const PotentialBlock<float>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&, const PairsVerified&);
template Verdicts verify(const PotentialSet&, const PotentialBlock<double>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&, const PairsVerified&);

}  // namespace smallbatch
