// The outcome of a set, in numbers and in words, as `run` and `verify` report it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/verification/failure_signs.hpp"
#include "app/verification/verification.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Outcome of one set: the counts that `run` and `verify` report.
struct SetOutcome {
  std::string kind, name, shape;  ///< kind: of the set type; shape: in words
  std::int64_t batch = 0;
  /// Number of failed systems, problems or channels for each status. They have no answer, or values beyond the range of
  /// their type.
  std::map<std::int32_t, std::int64_t> failed;
  std::map<std::int32_t, std::vector<std::int64_t>> first_failed;  ///< the first few indices for each status
  /// Labels of the problems in first_failed and of the problem with the largest error, if they have labels
  /// (io/problem_labels.hpp).
  std::map<std::int64_t, std::string> labels;
  std::int64_t singular = 0;  ///< charges on lattice points, targets on charges, or pairs at one position
  std::optional<double> worst_backward_error;  ///< of the solved systems, in units of u; NaN is the worst
  std::optional<double> smallest_rcond;        ///< of the solved systems; NaN counts as the smallest
  std::int64_t repaired_pivots = 0, repaired_systems = 0;
  double largest_perturbation = 0;  ///< largest addition to a diagonal element, as a fraction of that element
  VerificationSummary verification;
  std::int64_t values_checked = 0;  ///< number of targets or visibilities compared
  TargetKind targets = TargetKind::lattice;
  bool has_field = false;
  ScalarType type = ScalarType::float32;     ///< of systems
  bool are_singular_left_out = false;        ///< --singular skip
  PotentialUnit unit = PotentialUnit::volt;  ///< of V
  /// Least and greatest V, and least and greatest interaction or pair energy. NaN is left out.
  std::optional<std::array<double, 2>> potential_range, energy_range;
  double compute_seconds = 0;
  double work = 0;                  ///< systems, pairs, or complex multiply-adds
  std::uint64_t problems_hash = 0;  ///< hash of the problems that were read (io/integrity/row_hashes.hpp)
  FailureSigns signs;               ///< evidence of the likely cause of failures

  [[nodiscard]] std::int64_t failed_count() const;
  [[nodiscard]] bool all_right() const { return failed_count() == 0 && verification.disagreed == 0; }
  /// Adds the outcome of a share of the set. `start` is the index of the share's first problem. Seconds do not add up:
  /// the slowest share counts.
  void add(const SetOutcome& share, std::int64_t start);
  /// Returns whether a status means failure. For potentials and pair energies, a status above 0 counts singular places.
  [[nodiscard]] bool is_failed(std::int32_t status) const;
  /// Counts the statuses of systems, problems or channels first, first + 1, ...
  void count_status(std::int64_t first, std::span<const std::int32_t> info);
  /// Counts the statuses of `count` problems of a result file. The path of the set is `set`. The index of the first
  /// problem in the whole set is `start`.
  void count_statuses(const ResultReader& results, const std::string& set, std::int64_t start, std::int64_t count);
  /// Counts the backward errors, rcond and repaired pivots of a block's solved systems.
  template <class T>
  void count_numbers(const SpdBlock<T>& block);
  /// Counts the backward errors, rcond and repaired pivots of all solved systems of a set in a result file.
  void count_numbers(const ResultReader& results, const SolveSet& set);
  void count_statistics(const PotentialStatistics& statistics);
  void count_energies(std::span<const double> energies);
  void count_verdicts(std::int64_t first, const Verdicts& verdicts);
  /// Returns a question about why nearly all systems failed, or why a lattice's values are infinite. It is empty
  /// without evidence.
  [[nodiscard]] std::string likely_cause() const;
  /// Returns whether the referee compared numbers, and not only statuses.
  [[nodiscard]] bool has_compared_numbers() const;
  /// Keeps the labels of the problems whose indices are reported.
  void keep_labels(const ProblemLabels& of_set);

 private:
  static constexpr std::size_t most_named = 8;
  void name_failed(std::int32_t status, std::int64_t index);
};

/// Returns the shape in words: "1000 dense 32x32 float32, 1 right-hand side"; "1 lattice 65x65x65, 60 charges, field";
/// "3 problems, 500 points, 60 charges, cut-off 12 angstrom".
std::string shape_words(const SolveSet& set);
std::string shape_words(const PotentialSet& set);
/// Returns the shape in words for result files, which do not say how A was stored: "1000 systems 32x32 float32, 1
/// right-hand side".
std::string shape_words_of_results(const SolveSet& set);
template <class Set>
std::string shape_words_of_results(const Set& set) {
  return shape_words(set);
}
/// Returns "3 problems, 60 charges, groups, energies of charges, cut-off 12 angstrom".
std::string shape_words(const PairEnergySet& set);
/// Returns "8 channels, 1000 times, 64 inputs of int8, 4 integrations of 256 samples, flags, means".
std::string shape_words(const CorrelationSet& set);

/// Returns the number of pairs in all problems of a block. With groups, a pair has a charge of group 1 and a charge of
/// group 2. Without groups, any two charges are a pair.
double pairs(const PairEnergyBlock& block);

/// Returns the options of the kernels for a set of charges. `singular` and `precision` are options of the run.
PotentialOptions potential_options(const ChargesOfSet& set, Singular singular);
PairEnergyOptions pair_energy_options(const ChargesOfSet& set, Singular singular, ScalarType precision);

SetOutcome start_outcome(const SolveSet& set);
SetOutcome start_outcome(const PotentialSet& set, ScalarType precision);
SetOutcome start_outcome(const PairEnergySet& set, const PairEnergyOptions& options);
SetOutcome start_outcome(const CorrelationSet& set);

/// Verifies the systems of a set and counts their outcomes, block by block. Each block goes through verify() and then
/// count(). Later blocks may be verified while an earlier block is counted.
template <class T>
class SolveTally {
 public:
  SolveTally(const SolveSet& set, double pivot_floor, double rcond_overestimate, const VerifyMode& mode,
             unsigned threads)
      : outcome(start_outcome(set)),
        set_(set),
        pivot_floor_(pivot_floor),
        rcond_overestimate_(rcond_overestimate),
        mode_(mode),
        threads_(threads) {}
  [[nodiscard]] Verdicts verify(const SpdBlock<T>& block) const;
  void count(const SpdBlock<T>& block, const Verdicts& verdicts);

  SetOutcome outcome;

 private:
  const SolveSet& set_;
  double pivot_floor_, rcond_overestimate_;
  VerifyMode mode_;
  unsigned threads_;
};

/// Verifies the potential problems of a set and counts their outcomes. Planes of a problem may lie in several blocks,
/// so verdicts are complete only after finish().
template <class T>
class PotentialTally {
 public:
  PotentialTally(const PotentialSet& set, const PotentialOptions& options, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set, scalar_type_of<T>)),
        set_(set),
        options_(options),
        mode_(mode),
        threads_(threads),
        of_set_(set.batch),
        referee_(set.batch) {
    outcome.are_singular_left_out = options.singular == Singular::skip;
  }
  [[nodiscard]] Verdicts verify(const PotentialBlock<T>& block, const PairsVerified& verified = {});
  void count(const PotentialBlock<T>& block, const Verdicts& verdicts);
  void finish(const PotentialStatistics& statistics);
  /// Saves (put) and restores (take) the state of `count` problems from `first` on. The functions ..._verified() handle
  /// the state of verify(), and ..._counted() handle the state of count(). Both pairs may run at the same time.
  void put_verified(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_verified(std::int64_t first, std::int64_t count, std::string_view& bytes);
  void take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes);
  /// Returns the verdicts of all problems.
  [[nodiscard]] const Verdicts& verdicts() const { return of_set_; }

  SetOutcome outcome;

 private:
  [[nodiscard]] bool is_verified() const { return mode_.kind != VerifyMode::Kind::none; }

  const PotentialSet& set_;
  PotentialOptions options_;
  VerifyMode mode_;
  unsigned threads_;
  Verdicts of_set_;
  StatisticsReferee referee_;
  std::int64_t values_checked_ = 0;
};

/// Verifies the pair-energy problems of a set and counts their outcomes.
class PairEnergyTally {
 public:
  PairEnergyTally(const PairEnergySet& set, const PairEnergyOptions& options, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set, options)), set_(set), options_(options), mode_(mode), threads_(threads) {}
  [[nodiscard]] Verdicts verify(const PairEnergyBlock& block) const {
    return smallbatch::verify(set_, block, options_, mode_, threads_);
  }
  void count(const PairEnergyBlock& block, const Verdicts& verdicts);

  SetOutcome outcome;

 private:
  const PairEnergySet& set_;
  PairEnergyOptions options_;
  VerifyMode mode_;
  unsigned threads_;
};

/// Verifies the channels of a set and counts their outcomes. Times of a channel may lie in several blocks, so info and
/// verdict are complete only after finish().
class CorrelationTally {
 public:
  CorrelationTally(const CorrelationSet& set, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set)),
        set_(set),
        verification_(set, mode, threads),
        info_(static_cast<std::size_t>(set.batch)),
        of_set_(set.batch),
        is_verified_(mode.kind != VerifyMode::Kind::none) {}
  [[nodiscard]] Verdicts verify(const SignalBlock& block) { return verification_.verify(block); }
  void count(const SignalBlock& block, const Verdicts& verdicts);
  void finish();
  /// Saves (put) and restores (take) the state of `count` channels from `first` on. The functions ..._verified() handle
  /// the state of verify(), and ..._counted() handle the state of count(). Call them only after the last block of an
  /// integration.
  void put_verified(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_verified(std::int64_t first, std::int64_t count, std::string_view& bytes);
  void take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes);
  /// Returns the info of all channels.
  [[nodiscard]] std::span<const std::int32_t> info() const { return info_; }
  [[nodiscard]] const Verdicts& verdicts() const { return of_set_; }

  SetOutcome outcome;

 private:
  const CorrelationSet& set_;
  CorrelationVerification verification_;
  std::vector<std::int32_t> info_;
  Verdicts of_set_;
  bool is_verified_;
};

}  // namespace smallbatch
