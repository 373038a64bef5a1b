// Judges what blocks hold by the referees of the rooms (solvers/spd_referee.hpp, physics/potential_referee.hpp), as
// many answers as were asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "app/options.hpp"
#include "app/statistics.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Verdicts of consecutive systems or problems.
struct Verdicts {
  std::vector<Verdict> verdict;
  std::vector<float> error_over_bound;  ///< above 1 is a disagreement; NaN where nothing was checked

  explicit Verdicts(std::int64_t count = 0)
      : verdict(static_cast<std::size_t>(count), Verdict::not_checked),
        error_over_bound(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN()) {}
  /// Keeps the worse of what is there and what a check of (a part of) problem `index` found.
  void add(std::int64_t index, double error_over_its_bound);
  /// Adds what checks of problems first, first + 1, ... found.
  void merge(std::int64_t first, const Verdicts& part);
};

/// Judges the systems of a block that `mode` selects (sample: N of the set's batch, evenly spread). Numbers about A
/// that the block does not have (results of format 1.0) are not judged.
template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, const VerifyMode& mode,
                unsigned threads);

/// Hears of pairs of charge and target, from one thread at a time.
using PairsJudged = std::function<void(double pairs)>;

/// Judges the values of a block that `mode` selects (sample: N of all the set's targets, evenly spread, and the
/// energies of N problems); a problem without one among them stays unchecked. Adds the number of targets to
/// `points_checked`, and tells `judged` of all pairs of the block, in the measure in which those to be judged have
/// been.
template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked, const PairsJudged& judged = {});

/// Judges V_min, V_max and V_mean of all problems. Where they are right, that alone is no check of the problem.
void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set);

}  // namespace smallbatch
