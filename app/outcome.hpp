// What became of a set, in numbers and in words: what `run` and `verify` report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "app/verification.hpp"
#include "core/error.hpp"
#include "io/result_writer.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// What became of one set: the counts that `run` and `verify` report.
struct SetOutcome {
  std::string kind, name, shape;  ///< kind: "solve" or "potential"; shape in words
  std::int64_t batch = 0;
  /// Systems or problems by status: without an answer, or with values that leave their range.
  std::map<std::int32_t, std::int64_t> failed;
  std::int64_t singular = 0;                   ///< charges on lattice points, or targets on charges
  std::optional<double> worst_backward_error;  ///< of the solved systems, in units of roundoff; NaN is the worst
  std::optional<double> smallest_rcond;        ///< of the solved systems; NaN is the smallest
  std::int64_t repaired_pivots = 0, repaired_systems = 0;
  double largest_perturbation = 0;  ///< what raising pivots added at most, as a fraction of a diagonal element
  VerificationSummary verification;
  std::int64_t points_checked = 0;  ///< potential sets: targets compared
  TargetKind targets = TargetKind::lattice;
  bool has_field = false;
  PotentialUnit unit = PotentialUnit::volt;  ///< of V
  /// Potential sets: least and greatest V and interaction energy that are no NaN.
  std::optional<std::array<double, 2>> potential_range, energy_range;
  double compute_seconds = 0;
  double work = 0;  ///< systems, or pairs of charge and point

  [[nodiscard]] std::int64_t failed_count() const;
  [[nodiscard]] bool all_right() const { return failed_count() == 0 && verification.disagreed == 0; }
  /// Adds what became of a share of the set that begins at `start`. Seconds stay those of the longest.
  void add(const SetOutcome& share, std::int64_t start);
  void count_status(std::span<const std::int32_t> info);
  template <class T>
  void count_numbers(const SpdBlock<T>& block);
  void count_statistics(const PotentialStatistics& statistics);
  void count_energies(std::span<const double> energies);
  void count_verdicts(std::int64_t first, const Verdicts& verdicts);
};

/// "1000 dense 32x32 float32, 1 right-hand side"; "1 lattice 65x65x65, 60 charges, field"; "3 problems, 500 points, 60
/// charges, cut-off 12 angstrom".
std::string shape_words(const SolveSet& set);
std::string shape_words(const PotentialSet& set);

/// The kinds of sets that are computed; sets of the others are read and written alone.
template <class Set>
inline constexpr bool is_computed = std::is_same_v<Set, SolveSet> || std::is_same_v<Set, PotentialSet>;

/// Calls visit(set) for each set that is computed, and refuses `file` where it has another.
template <class Visit>
void for_each_computed(const ProblemSets& sets, const std::string& file, Visit&& visit) {
  for_each_set(sets, [&]<class Set>(const Set& set) {
    if constexpr (is_computed<Set>) {
      visit(set);
    } else {
      throw Error(ErrorKind::bad_input, "cannot use " + set_path(set) + " of " + file, "such sets are not computed yet",
                  "Remove the set.");
    }
  });
}

SetOutcome start_outcome(const SolveSet& set);
SetOutcome start_outcome(const PotentialSet& set, ScalarType precision);

/// Judges the systems of a set and counts what became of them, one block after the other: first judge(), then count(),
/// beside which later blocks may be judged.
template <class T>
class SolveTally {
 public:
  SolveTally(const SolveSet& set, double pivot_floor, const VerifyMode& mode, unsigned threads)
      : outcome(start_outcome(set)), set_(set), pivot_floor_(pivot_floor), mode_(mode), threads_(threads) {}
  [[nodiscard]] Verdicts judge(const SpdBlock<T>& block) const;
  void count(const SpdBlock<T>& block, const Verdicts& verdicts);

  SetOutcome outcome;

 private:
  const SolveSet& set_;
  double pivot_floor_;
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
        referee_(set.batch) {}
  [[nodiscard]] Verdicts judge(const PotentialBlock<T>& block, const PairsJudged& judged = {});
  void count(const PotentialBlock<T>& block, const Verdicts& verdicts);
  void finish(const PotentialStatistics& statistics);
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
};

}  // namespace smallbatch
