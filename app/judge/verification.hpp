// Judges what blocks hold by the referees of the rooms (solvers/spd_referee.hpp, physics/charges/potential_referee.hpp
// and its like), as many answers as were asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options.hpp"
#include "app/judge/statistics.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"
#include "physics/correlations/referee.hpp"
#include "physics/pair_energy.hpp"
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
  /// Those of `count` problems from `first` on, to be put back.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);
};

/// Judges the systems of a block that `mode` selects (sample: N of the set's batch, evenly spread). Numbers about A
/// that the block does not have (results of format 1.0) are not judged; `rcond_overestimate` as of the referee.
template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, double rcond_overestimate,
                const VerifyMode& mode, unsigned threads);

/// Pairs of target and charge of a block.
template <class T>
double pairs(const PotentialBlock<T>& block) {
  double total = 0;
  for (std::int64_t k = 0; k < block.count; ++k) {
    const auto p = static_cast<std::size_t>(k);
    total += static_cast<double>(block.target_count(k)) * static_cast<double>(block.offset[p + 1] - block.offset[p]);
  }
  return total;
}

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

/// Judges the problems of a block that `mode` selects (sample: N of the set's, evenly spread), all their energies.
Verdicts verify(const PairEnergySet& set, const PairEnergyBlock& block, const PairEnergyOptions& options,
                const VerifyMode& mode, unsigned threads);

/// Judges the visibilities of a set that `mode` selects (sample: N of all of them, evenly spread), in blocks of whole
/// integrations or of pieces of some, one after the other; the last piece has the visibilities of its integration.
class CorrelationVerification {
 public:
  CorrelationVerification(const CorrelationSet& set, const VerifyMode& mode, unsigned threads);
  /// Of the block's channels. A channel without a visibility among those selected stays unchecked.
  [[nodiscard]] Verdicts judge(const SignalBlock& block);
  /// Judges the info of channels, once all their blocks have been.
  void judge_info(std::span<const std::int32_t> info, Verdicts& of_set) const;
  [[nodiscard]] std::int64_t visibilities_checked() const { return visibilities_checked_; }
  /// Of `count` channels from `first` on, where no integration has begun and not ended; to be put back.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);

 private:
  /// What was found of a channel in its integrations that were looked at.
  struct Channel {
    std::int64_t integrations = 0;
    bool has_bad_sample = false, is_beyond_range = false;
  };
  /// One channel in one of a block's integrations.
  struct Place {
    std::int64_t channel, integration;
  };
  struct Found;
  /// Tells a referee, made with the first times of an integration, one of so many parts of its times in the block.
  void tell(const SignalBlock& block, const Place& place, std::int64_t part, std::int64_t parts,
            std::optional<CorrelationReferee>& referee) const;
  /// What the referees that were told the parts find, once they were told of all times.
  [[nodiscard]] Found found_by(std::span<std::optional<CorrelationReferee>> referees, const SignalBlock& block,
                               const Place& place) const;

  const CorrelationSet& set_;
  VerifyMode mode_;
  unsigned threads_;
  std::vector<Channel> channels_;
  std::vector<std::optional<CorrelationReferee>> referees_;  // of few places, (places, parts)
  std::int64_t visibilities_checked_ = 0;
};

}  // namespace smallbatch
