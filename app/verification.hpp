// Judges answers with Eigen in double precision. The rules:
//
// solve: the backend's status is the referee's (or rounding decides about it). A failed system has NaN for every number
//   and no raised pivot. For a solved one the stored backward error is right, LAPACK's ratios are at most 30 (dpot02
//   for the residual, dpot03 for an inverse, dget04 for the error against Eigen's solution times the reciprocal
//   condition), and rcond, the smallest pivot, ln det A, the number of raised pivots and what raising them added are
//   the referee's, within the bounds of solvers/spd_referee.hpp. Where the floor of the run raised pivots, the ratios
//   and numbers are those of the nearby matrix that the referee finds for itself; the backward error is that for A as
//   given.
// potential: the status is the referee's, and at every checked point
//     |V - V_ref|     <= f sum_i |q_i|/r_i   (2^-22 + 2^-23 L/r_i)   (2^-51 and 2^-52 for V in double precision),
//     |E_k - E_ref,k| <= f sum_i |q_i|/r_i^2 (2^-20 + 2^-21 L/r_i)   (2^-49 and 2^-50), each component,
//   with rho for r where there is a softening and twice that where there is a cut-off (physics/potential.hpp). The
//   interaction energy is within f sum |q_i q_j|/r_ij 2^-44; V_min, V_max and V_mean are those of the values
//   (app/statistics.hpp). A NaN is right where the referee says that there is none but NaN, and nowhere else; an
//   infinity where the policy makes one, or the referee's number, within its bound, leaves the range of the type with
//   that sign. Whether values leave their range (info_values_out_of_range) the charges say on lattices, where both
//   answers are right within 1e-3 of the edge, and elsewhere the values: those that are checked, and what the stored
//   ones look like where not all are.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
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

/// What became of one set: the counts that `run` and `verify` report.
struct SetOutcome {
  std::string lane, name, shape;  ///< lane: "solve" or "potential"; shape in words
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

SetOutcome start_outcome(const SolveSet& set);
SetOutcome start_outcome(const PotentialSet& set, ScalarType precision);

/// Judges the systems of a block that `mode` selects (sample: N of the set's batch, evenly spread). Numbers about A
/// that the block does not have (results of format 1.0) are not judged.
template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, const VerifyMode& mode,
                unsigned threads);

/// Judges the values of a block that `mode` selects (sample: N of all the set's targets, evenly spread, and the
/// energies of N problems); a problem without one among them stays unchecked. Adds the number of targets to
/// `points_checked`.
template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked);

/// Judges V_min, V_max and V_mean of all problems. Where they are right, that alone is no check of the problem.
void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set);

}  // namespace smallbatch
