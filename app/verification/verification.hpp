// Verification: --verify selects answers, and referees verify them, block by block. The referees are in
// solvers/spd_referee.hpp, physics/charges/ and physics/correlations/referee.hpp.
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
#include "app/verification/statistics.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"
#include "physics/correlations/referee.hpp"
#include "physics/pair_energy.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Verdicts of consecutive systems or problems.
struct Verdicts {
  std::vector<Verdict> verdict;
  std::vector<float> error_over_bound;  ///< above 1: disagreement; NaN: not checked

  explicit Verdicts(std::int64_t count = 0)
      : verdict(static_cast<std::size_t>(count), Verdict::not_checked),
        error_over_bound(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN()) {}
  /// Adds the result of checking problem `index` or a part of it. The worse of the old and the new result stays.
  void add(std::int64_t index, double error_over_its_bound);
  /// Adds the results for problems first, first + 1, ...
  void merge(std::int64_t first, const Verdicts& part);
  /// Saves and restores the verdicts of `count` problems from `first` on.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);
};

/// Verifies systems of a block; `mode` selects them. A sample has N systems of the whole set, evenly spread. The block
/// may lack numbers about A (results of format 1.0), which are then not verified. `rcond_overestimate` is passed to the
/// referee.
template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, double rcond_overestimate,
                const VerifyMode& mode, unsigned threads);

/// Returns the number of pairs of target and charge of a block.
template <class T>
double pairs(const PotentialBlock<T>& block) {
  double total = 0;
  for (std::int64_t k = 0; k < block.count; ++k) {
    const auto p = static_cast<std::size_t>(k);
    total += static_cast<double>(block.target_count(k)) * static_cast<double>(block.offset[p + 1] - block.offset[p]);
  }
  return total;
}

/// Receives the progress since its last call, in pairs of charge and target. Only one thread calls it at a time.
using PairsVerified = std::function<void(double pairs)>;

/// Verifies values of a block; `mode` selects them. A sample has N of all targets of the set, evenly spread, and the
/// energies of N problems. A problem without a selected value stays unchecked. Adds the number of checked targets to
/// `points_checked`. Calls `verified` as the work advances. The numbers passed add up to the pairs of the whole block,
/// even if only a sample is verified.
template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked,
                const PairsVerified& verified = {});

/// Verifies V_min, V_max and V_mean of all problems. If they are right, a problem without a checked target stays
/// unchecked.
void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set);

/// Verifies problems of a block, with all their energies; `mode` selects the problems. A sample has N problems of the
/// set, evenly spread.
Verdicts verify(const PairEnergySet& set, const PairEnergyBlock& block, const PairEnergyOptions& options,
                const VerifyMode& mode, unsigned threads);

/// Verifies visibilities of a set; `mode` selects them. A sample has N of all visibilities, evenly spread. Blocks come
/// in order and hold whole integrations, or a piece of one integration. The last piece has the visibilities of its
/// integration.
class CorrelationVerification {
 public:
  CorrelationVerification(const CorrelationSet& set, const VerifyMode& mode, unsigned threads);
  /// Verifies the channels of a block. A channel without a selected visibility stays unchecked.
  [[nodiscard]] Verdicts verify(const SignalBlock& block);
  /// Verifies the info of channels, after all blocks were verified.
  void verify_info(std::span<const std::int32_t> info, Verdicts& of_set) const;
  [[nodiscard]] std::int64_t visibilities_checked() const { return visibilities_checked_; }
  /// Saves and restores the state of `count` channels from `first` on. Valid only between integrations.
  void put_state(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_state(std::int64_t first, std::int64_t count, std::string_view& bytes);

 private:
  /// Findings about a channel in the integrations that were checked.
  struct Channel {
    std::int64_t integrations = 0;
    bool has_bad_sample = false, is_beyond_range = false;
  };
  /// One channel in one of a block's integrations.
  struct ChannelIntegration {
    std::int64_t channel, integration;
  };
  struct Found;
  /// Divides the integration's times in this block into `parts` parts, and gives part `part` to the referee. Makes the
  /// referee before, if the integration begins in this block.
  void add_times(const SignalBlock& block, const ChannelIntegration& at, std::int64_t part, std::int64_t parts,
                 std::optional<CorrelationReferee>& referee) const;
  /// Returns the findings of the referees of all parts, after they were given all times.
  [[nodiscard]] Found found_by(std::span<std::optional<CorrelationReferee>> referees, const SignalBlock& block,
                               const ChannelIntegration& at) const;

  const CorrelationSet& set_;
  VerifyMode mode_;
  unsigned threads_;
  std::vector<Channel> channels_;
  std::vector<std::optional<CorrelationReferee>>
      referees_;  // (channels x integrations, parts): for pieces, or few channels
  std::int64_t visibilities_checked_ = 0;
};

}  // namespace smallbatch
