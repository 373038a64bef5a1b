// What became of a set, in numbers and in words: what `run` and `verify` report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/judge/failure_signs.hpp"
#include "app/judge/verification.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// What became of one set: the counts that `run` and `verify` report.
struct SetOutcome {
  std::string kind, name, shape;  ///< kind: that of the set's type; shape in words
  std::int64_t batch = 0;
  /// Systems, problems or channels by status: without an answer, or with values that leave their range.
  std::map<std::int32_t, std::int64_t> failed;
  std::map<std::int32_t, std::vector<std::int64_t>> first_failed;  ///< the first of them, a few
  /// What those and the worst one of the verification are known by, where they are (io/problem_labels.hpp).
  std::map<std::int64_t, std::string> labels;
  std::int64_t singular = 0;                   ///< charges on lattice points, or targets on charges
  std::optional<double> worst_backward_error;  ///< of the solved systems, in units of roundoff; NaN is the worst
  std::optional<double> smallest_rcond;        ///< of the solved systems; NaN is the smallest
  std::int64_t repaired_pivots = 0, repaired_systems = 0;
  double largest_perturbation = 0;  ///< what raising pivots added at most, as a fraction of a diagonal element
  VerificationSummary verification;
  std::int64_t values_checked = 0;  ///< targets or visibilities compared
  TargetKind targets = TargetKind::lattice;
  bool has_field = false;
  ScalarType type = ScalarType::float32;     ///< of systems
  bool are_singular_left_out = false;        ///< --singular skip
  PotentialUnit unit = PotentialUnit::volt;  ///< of V
  /// Potential sets: least and greatest V and interaction energy that are no NaN.
  std::optional<std::array<double, 2>> potential_range, energy_range;
  double compute_seconds = 0;
  double work = 0;                  ///< systems, pairs, or complex multiply-adds
  std::uint64_t problems_hash = 0;  ///< of those that were read (io/integrity/row_hashes.hpp)
  FailureSigns signs;               ///< of the first systems while none was solved; of all charges of lattices

  [[nodiscard]] std::int64_t failed_count() const;
  [[nodiscard]] bool all_right() const { return failed_count() == 0 && verification.disagreed == 0; }
  /// Adds what became of a share of the set that begins at `start`. Seconds stay those of the longest.
  void add(const SetOutcome& share, std::int64_t start);
  /// Of potentials and pairs a status above 0 counts places that are singular.
  [[nodiscard]] bool is_failed(std::int32_t status) const;
  /// Of systems, problems or channels first, first + 1, ...
  void count_status(std::int64_t first, std::span<const std::int32_t> info);
  /// Of `count` problems of the set of that path, as a result file has them; `start` is the first one's place.
  void count_statuses(const ResultReader& results, const std::string& set, std::int64_t start, std::int64_t count);
  template <class T>
  void count_numbers(const SpdBlock<T>& block);
  /// These numbers, as a result file has them.
  void count_numbers(const ResultReader& results, const SolveSet& set);
  void count_statistics(const PotentialStatistics& statistics);
  void count_energies(std::span<const double> energies);
  void count_verdicts(std::int64_t first, const Verdicts& verdicts);
  /// Why nearly all of them failed, or a lattice's values are infinite, as a question; empty where nothing speaks for
  /// it.
  [[nodiscard]] std::string likely_cause() const;
  /// Whether the referee compared numbers, rather than statuses alone.
  [[nodiscard]] bool has_compared_numbers() const;
  /// Keeps the labels of the problems that were named.
  void keep_labels(const ProblemLabels& of_set);

 private:
  static constexpr std::size_t most_named = 8;
  void name_failed(std::int32_t status, std::int64_t index);
};

/// "1000 dense 32x32 float32, 1 right-hand side"; "1 lattice 65x65x65, 60 charges, field"; "3 problems, 500 points, 60
/// charges, cut-off 12 angstrom".
std::string shape_words(const SolveSet& set);
std::string shape_words(const PotentialSet& set);
/// The same of results, which do not say how A lay: "1000 systems 32x32 float32, 1 right-hand side".
std::string shape_words_of_results(const SolveSet& set);
template <class Set>
std::string shape_words_of_results(const Set& set) {
  return shape_words(set);
}
/// "3 problems, 60 charges, groups, energies of charges, cut-off 12 angstrom".
std::string shape_words(const PairEnergySet& set);
/// "8 channels, 1000 times, 64 inputs of int8, 4 integrations of 256 samples, flags, means".
std::string shape_words(const CorrelationSet& set);

/// Pairs of a block's charges that meet.
double pairs(const PairEnergyBlock& block);

/// A set's options of its charges. `singular` and `precision` are the run's.
PotentialOptions potential_options(const ChargesOfSet& set, Singular singular);
PairEnergyOptions pair_energy_options(const ChargesOfSet& set, Singular singular, ScalarType precision);

SetOutcome start_outcome(const SolveSet& set);
SetOutcome start_outcome(const PotentialSet& set, ScalarType precision);
SetOutcome start_outcome(const PairEnergySet& set, const PairEnergyOptions& options);
SetOutcome start_outcome(const CorrelationSet& set);

/// Judges the systems of a set and counts what became of them, one block after the other: first judge(), then count(),
/// beside which later blocks may be judged.
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
  [[nodiscard]] Verdicts judge(const SpdBlock<T>& block) const;
  void count(const SpdBlock<T>& block, const Verdicts& verdicts);

  SetOutcome outcome;

 private:
  const SolveSet& set_;
  double pivot_floor_, rcond_overestimate_;
  VerifyMode mode_;
  unsigned threads_;
};

/// The same for potentials. Planes of a problem may lie in several blocks, so that verdicts are whole after finish().
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
  [[nodiscard]] Verdicts judge(const PotentialBlock<T>& block, const PairsJudged& judged = {});
  void count(const PotentialBlock<T>& block, const Verdicts& verdicts);
  void finish(const PotentialStatistics& statistics);
  /// What judge() and what count() know of `count` problems from `first` on, to be put back: each may be called beside
  /// the other, as the two may.
  void put_judged(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_judged(std::int64_t first, std::int64_t count, std::string_view& bytes);
  void take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes);
  /// Of all problems.
  [[nodiscard]] const Verdicts& verdicts() const { return of_set_; }

  SetOutcome outcome;

 private:
  [[nodiscard]] bool is_judged() const { return mode_.kind != VerifyMode::Kind::none; }

  const PotentialSet& set_;
  PotentialOptions options_;
  VerifyMode mode_;
  unsigned threads_;
  Verdicts of_set_;
  StatisticsReferee referee_;
  std::int64_t values_checked_ = 0;
};

/// The same for pair energies.
class PairEnergyTally {
 public:
  PairEnergyTally(const PairEnergySet& set, const PairEnergyOptions& options, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set, options)), set_(set), options_(options), mode_(mode), threads_(threads) {}
  [[nodiscard]] Verdicts judge(const PairEnergyBlock& block) const {
    return verify(set_, block, options_, mode_, threads_);
  }
  void count(const PairEnergyBlock& block, const Verdicts& verdicts);

  SetOutcome outcome;

 private:
  const PairEnergySet& set_;
  PairEnergyOptions options_;
  VerifyMode mode_;
  unsigned threads_;
};

/// The same for correlations. Times of a channel may lie in several blocks, so that its info and verdict are whole
/// after finish().
class CorrelationTally {
 public:
  CorrelationTally(const CorrelationSet& set, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set)),
        set_(set),
        verification_(set, mode, threads),
        info_(static_cast<std::size_t>(set.batch)),
        of_set_(set.batch),
        is_judged_(mode.kind != VerifyMode::Kind::none) {}
  [[nodiscard]] Verdicts judge(const SignalBlock& block) { return verification_.judge(block); }
  void count(const SignalBlock& block, const Verdicts& verdicts);
  void finish();
  /// As of PotentialTally, of channels, after the last block of an integration.
  void put_judged(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const;
  void take_judged(std::int64_t first, std::int64_t count, std::string_view& bytes);
  void take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes);
  /// Of all channels.
  [[nodiscard]] std::span<const std::int32_t> info() const { return info_; }
  [[nodiscard]] const Verdicts& verdicts() const { return of_set_; }

  SetOutcome outcome;

 private:
  const CorrelationSet& set_;
  CorrelationVerification verification_;
  std::vector<std::int32_t> info_;
  Verdicts of_set_;
  bool is_judged_;
};

}  // namespace smallbatch
