#include "app/verification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "app/interruption.hpp"
#include "core/compare.hpp"
#include "core/parallel.hpp"
#include "physics/potential_referee.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Which of the indices [first, last) out of [0, total) the mode selects; sample=N selects floor(i total / N), i < N.
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

}  // namespace

void Verdicts::add(std::int64_t index, double error_over_its_bound) {
  const auto i = static_cast<std::size_t>(index);
  verdict[i] = std::max(verdict[i], within(error_over_its_bound, 1) ? Verdict::agreed : Verdict::disagreed);
  const double error = std::isnan(error_over_its_bound) ? infinity : error_over_its_bound;
  // fmax ignores the NaN that says "not checked yet"
  error_over_bound[i] = std::fmax(error_over_bound[i], static_cast<float>(error));
}

void Verdicts::merge(std::int64_t first, const Verdicts& part) {
  for (std::size_t k = 0; k < part.verdict.size(); ++k) {
    const auto i = static_cast<std::size_t>(first) + k;
    verdict[i] = std::max(verdict[i], part.verdict[k]);
    error_over_bound[i] = std::fmax(error_over_bound[i], part.error_over_bound[k]);
  }
}

template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, const VerifyMode& mode,
                unsigned threads) {
  Verdicts verdicts(block.count);
  const Selection selected(mode, set.batch, block.first, block.first + block.count);
  constexpr std::int64_t grain = 64;
  parallel_for(selected.size(), grain, threads, [&](std::int64_t first, std::int64_t last) {
    stop_if_interrupted();
    std::array<std::int64_t, grain> systems;
    std::array<double, grain> errors;
    const auto count = static_cast<std::size_t>(last - first);
    for (std::size_t i = 0; i < count; ++i) systems[i] = selected[first + static_cast<std::int64_t>(i)] - block.first;
    spd_errors_over_bounds<T>(block, pivot_floor, {systems.data(), count}, {errors.data(), count});
    for (std::size_t i = 0; i < count; ++i) verdicts.add(systems[i], errors[i]);
  });
  return verdicts;
}

template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked) {
  // The block's values are one run of the set's targets, counted problem after problem.
  const std::int64_t first_target =
      set.targets_before(block.first) +
      (set.targets == TargetKind::lattice ? block.first_plane * set.shape.plane_points() : 0);
  const Selection selected(mode, set.targets_before(set.batch), first_target,
                           first_target + static_cast<std::int64_t>(block.potential.size()));
  points_checked += selected.size();

  // Runs of selected targets of one problem, short enough to notice an interruption between two. Where everything is
  // checked, so is the status of a problem without targets.
  struct Piece {
    std::int64_t problem, first, last;
  };
  std::vector<Piece> pieces;
  constexpr std::int64_t longest = 1 << 16;
  std::int64_t i = 0;
  for (std::int64_t p = 0; p < block.count; ++p) {
    const std::int64_t end = set.targets_before(block.first + p + 1);
    const bool is_empty = end == set.targets_before(block.first + p);
    if (is_empty && mode.kind == VerifyMode::Kind::all) pieces.push_back({p, i, i});
    while (i < selected.size() && selected[i] < end) {
      Piece piece{p, i, i};
      while (i < selected.size() && i - piece.first < longest && selected[i] < end) ++i;
      piece.last = i;
      pieces.push_back(piece);
    }
  }

  struct Checked {
    ReferenceStatus status;
    std::int64_t targets = 0;
    Beyond beyond = Beyond::no;
  };
  std::vector<Checked> checked(static_cast<std::size_t>(block.count));
  Verdicts verdicts(block.count);
  std::mutex verdicts_mutex;
  auto verify_piece = [&](const Piece& piece, unsigned threads_of_piece) {
    stop_if_interrupted();
    const auto size = static_cast<std::size_t>(piece.last - piece.first);
    std::vector<std::int64_t> targets(size);
    std::vector<ReferencePotential> expected(size);
    const std::int64_t before = set.targets_before(block.first + piece.problem);
    for (std::size_t k = 0; k < size; ++k) targets[k] = selected[piece.first + static_cast<std::int64_t>(k)] - before;
    const ReferenceStatus status =
        reference_potential(block.charges(), block.target_batch(), piece.problem, options, scalar_type_of<T>, targets,
                            expected, threads_of_piece, !block.field.empty());
    double worst = 0;
    Beyond beyond = Beyond::no;
    for (std::size_t k = 0; k < size; ++k)
      worst = std::max(worst, potential_error_over_bound(block, targets[k] + before - first_target,
                                                         has_values(status.info), expected[k], beyond));
    const std::lock_guard lock(verdicts_mutex);
    verdicts.add(piece.problem, worst);
    Checked& sum = checked[static_cast<std::size_t>(piece.problem)];
    sum = {status, sum.targets + piece.last - piece.first, std::max(sum.beyond, beyond)};
  };

  // Few large problems are worked through by all threads, many small ones by a thread each: the referee prepares the
  // charges of a problem once for each piece.
  const unsigned workers = threads == 0 ? hardware_threads() : threads;
  const auto count = static_cast<std::int64_t>(pieces.size());
  if (count < 4 * static_cast<std::int64_t>(workers)) {
    for (const Piece& piece : pieces) verify_piece(piece, workers);
  } else {
    parallel_for(count, 1, workers, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) verify_piece(pieces[static_cast<std::size_t>(k)], 1);
    });
  }
  for (std::int64_t p = 0; p < block.count; ++p) {
    const auto problem = static_cast<std::size_t>(p);
    if (verdicts.verdict[problem] == Verdict::not_checked) continue;
    auto [status, targets, beyond] = checked[problem];
    const std::int64_t begin = set.targets_before(block.first + p) - first_target, end = begin + block.target_count(p);
    if (set.targets == TargetKind::lattice)
      beyond = Beyond::no;  // the charges have said it
    else if (targets < end - begin)
      beyond = std::max(
          beyond, stored_beyond_range(block, begin, end, options.singular == Singular::infinite ? status.info : 0));
    if (!is_status(block.info[problem], status, beyond)) verdicts.add(p, infinity);
  }
  if (!block.wants_energy) return verdicts;
  const Selection problems(mode, set.batch, block.first, block.first + block.count);
  parallel_for(problems.size(), 1, workers, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      stop_if_interrupted();
      const std::int64_t problem = problems[k] - block.first;
      verdicts.add(problem, energy_error_over_bound(block, options, problem));
    }
  });
  return verdicts;
}

void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set) {
  for (std::size_t p = 0; p < statistics.mean.size(); ++p) {
    const auto problem = static_cast<std::int64_t>(p);
    const double error = referee.judge(statistics, problem);
    if (of_set.verdict[p] != Verdict::not_checked || !within(error, 1)) of_set.add(problem, error);
  }
}

template Verdicts verify(const SolveSet&, const SpdBlock<float>&, double, const VerifyMode&, unsigned);
template Verdicts verify(const SolveSet&, const SpdBlock<double>&, double, const VerifyMode&, unsigned);
template Verdicts verify(const PotentialSet&, const PotentialBlock<float>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&);
template Verdicts verify(const PotentialSet&, const PotentialBlock<double>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&);

}  // namespace smallbatch
