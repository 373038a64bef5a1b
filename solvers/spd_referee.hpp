// The referee's judgement of a solution. It computes the ratios of LAPACK's test programs with Eigen. If a ratio needs
// more digits, it is computed in at least twice the precision. The referee also computes the numbers about A, with
// bounds of their errors. It shares no code with the backends that it judges.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/systems.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// Judgement of one system. The unit roundoff u of T is 2^-24 for float and 2^-53 for double. LAPACK accepts ratios
/// below 30.
///
/// With a pivot floor, the referee decides independently which pivots are raised (SpdOptions::pivot_floor). It computes
/// in double precision for float and in long double for double. Unless said otherwise, A below is then the referee's
/// nearby matrix A + diag(s). Only rounding may separate x from the solution for that matrix. If rounding decides which
/// pivots are raised (`undecided`), the rule is weaker. The answer x must then be, within rounding, the solution for
/// some A + diag(e), where no e_k exceeds the amount that may be added. The numbers must be those of a positive
/// definite matrix.
///
/// Bounds: a solver with a backward error of 30 u has computed with some A + dA, ||dA|| <= 30 u ||A||. A factorization
/// has |dA_ij| <= 30 u sqrt(a_ii a_jj) in each element (N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
/// theorems 10.3 to 10.5). Let A = L D L^T, and v_k row k of L^-1, so that d_k = v_k A v_k^T. Then, to first order:
///
/// - |d rcond| <= 30 u (1 + rcond), because rcond ||A|| is the distance to singularity (W. Kahan, 1966), which changes
///   by at most ||dA||. Roundings in the sums of the norms add n u rcond. A backend that estimates ||A^-1|| may have up
///   to spd_rcond_overestimate times the referee's rcond.
/// - |d d_k| <= 30 u (sum_i |v_ki| sqrt(a_ii))^2 + sum_{m < k} v_km^2 |d s_m|
/// - |d ln det A| <= sum_k |d d_k| / d_k. With d_k = m_k 2^c_k, the sum adds (n + 3) 2^-53 sum_k (|ln m_k| + |c_k| ln
///   2).
///
/// If pivots were raised, u is 2^-53 in |d d_k|. The floor alone determines a raised pivot, whatever its value was
/// before, so its |d d_k| is a rounding. The error |d s_k| is the |d d_k| of the pivot before it was raised. The system
/// is undecided unless |d s_k| is less than F a_kk / 4. The error |d s_k| of A + diag(s) is added to the error dA
/// above. The forward ratio and the bound of rcond are therefore relaxed by 1 + max_k |d s_k| / (30 u a_kk).
///
/// The inherited numbers are the referee's own. Numbers about A exist only if the referee has factored A. The backward
/// error is computed for the backend's x. The member `bounds` says how much a backend's numbers may differ.
struct SpdJudgement : SpdValues {
  /// The referee's own status, from its own inspection and Eigen's LLT in double precision. It is
  /// info_result_not_finite only if the backend reports this status, too. It is info_result_underflowed if rounding x*
  /// to T clearly changes x* by more than is allowed (spd_underflow_loss). It is also info_result_underflowed if the
  /// backend reports this status, b is small enough compared with A, and x* does not contradict it.
  std::int32_t info = 0;
  /// The residual ratio:
  ///
  /// - for a solution, the maximum over right-hand sides of ||b - A x||_1 / (||A||_1 ||x||_1 u) (dpot02);
  /// - for an inverse, ||I - A X||_1 / (n ||A||_1 ||X||_1 u) (dpot03).
  ///
  /// If pivots are raised, A stands for A + diag(e). Within the amounts that may be added, e is chosen so that x fits
  /// best.
  double residual_ratio = nan;
  /// The maximum over columns of ||x - x*||_inf rcond / (||x*||_inf u), with the referee's own solution x* (dget04).
  double forward_ratio = nan;
  /// How much the backend's numbers may differ from the referee's. A backward error always belongs to x and to A as
  /// given. It may differ by 1 % of its value plus 2^-59. For float the second term is n 2^-53. The second term is also
  /// n 2^-53 if all elements of A, or of a solution, are too small for twice the precision in double.
  SpdValues bounds;
  /// Decides a dispute about a pivot: the referee's and the backend's status differ. The disputed leading block is
  /// scaled to a diagonal of 1. This number is the block's smallest eigenvalue divided by its largest. It decides
  /// whether a Cholesky factorization can tell that the block is positive definite (Demmel 1989). It is negative if the
  /// block is clearly indefinite. It is NaN without a dispute. It is also NaN for two wrong statuses. Either the
  /// backend has not raised pivots that must be raised, or it reports an underflow of x although b is too large.
  double disputed_rcond = nan;
  double largest_perturbation = nan;  ///< the largest allowed `perturbation`; 0 without a floor
  /// Rounding decides which pivots are raised: the count and the numbers about A may differ.
  bool undecided = false;
};

inline constexpr double spd_ratio_limit = 30;

/// Judges the solution `x` (or inverse) and the status that a backend gave for one system. x is null if only the
/// determinant was wanted.
///
/// Call same_status() first. The ratios are NaN if the input cannot be used (referee's info < 0) or the backend gave no
/// solution (its info is not 0). There is no x* if only the referee finds the matrix not positive definite. There is
/// no x* either if the matrix is so nearly singular (rcond < n 2^-53) that no digit of the referee's solution is
/// certain. In both cases only the residual is judged, and forward_ratio is 0 if x is finite. A NaN or an infinity in x
/// gives NaN or infinite ratios, never a small ratio.
template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info,
                                double pivot_floor = 0);

/// Returns whether the backend's status is right. It is right if it equals the referee's status. It is also right if
/// the two disagree about a pivot, and rounding alone can make this pivot positive or negative (|disputed_rcond| < n
/// u). Any other mismatch is a wrong answer: a failure that the backend missed, or one that it made up. A backend that
/// finds x out of range has found all pivots positive. (Near the limit of an underflow, judge_spd_solution() agrees
/// with either status.)
bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n);

/// Returns the largest quotient of an error and its bound, over all numbers that a block stores about one system. A
/// result of at most 1 means that the system is right.
///
/// - The status must be the referee's (same_status).
/// - A failed system must have NaN for every number and no raised pivot.
/// - A solved system must store the right backward error, and its ratios must be at most spd_ratio_limit.
/// - rcond, the smallest pivot, ln det A, the number of raised pivots and the perturbation must be the referee's,
///   within their bounds.
/// - rcond may be up to `rcond_overestimate` times the referee's: pass 1 if the backend does not estimate it.
///
/// `pivot_floor` is the floor that the results were computed with. Numbers that the block does not have (results of old
/// formats) are not judged. If systems have their own sizes, their leading blocks are judged, and everything beyond
/// must be 0.
///
/// A result above 1/2 comes from judge_spd_solution(). A smaller result may come from the same formulas with other
/// roundings (solvers/reference/lanes.hpp). Roundings cannot change a verdict so far below 1. The result does not
/// depend on which systems are judged together.
template <class T>
double spd_error_over_bound(const SpdBlock<T>& block, double pivot_floor, std::int64_t system,
                            double rcond_overestimate = spd_rcond_overestimate);

/// Computes errors[i] of systems[i] like spd_error_over_bound(). Several systems are judged at a time, so each takes a
/// fraction of the time.
template <class T>
void spd_errors_over_bounds(const SpdBlock<T>& block, double pivot_floor, std::span<const std::int64_t> systems,
                            std::span<double> errors, double rcond_overestimate = spd_rcond_overestimate);

/// Returns the rule of spd_error_over_bound() as a sentence, with its numbers.
std::string spd_criterion(const SpdShape& shape, ScalarType type);

}  // namespace smallbatch
