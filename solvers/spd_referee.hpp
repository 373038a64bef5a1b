// The referee's judgement of one solution: ratios of LAPACK's test programs, computed with Eigen in at least twice the
// precision where the ratio needs it, and the numbers about A with bounds of their errors. It shares no code with the
// backends that it judges.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/systems.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

/// u is the unit roundoff of T: 2^-24 for float, 2^-53 for double. LAPACK accepts ratios below 30.
///
/// With a floor of pivots the referee finds out for itself which pivots are to be raised (SpdOptions::pivot_floor),
/// in double precision for float and long double for double, and A below stands for its own nearby
/// matrix A + diag(s), unless said otherwise. How far x may be from the solution of that one is a matter of rounding
/// alone; where rounding decides which pivots are raised (`undecided`), x must still be, within rounding, the solution
/// of some A + diag(e) with e_k within what may be added, and its numbers those of a positive definite matrix.
///
/// Bounds. A solver whose backward error is 30 u has computed with some A + dA, ||dA|| <= 30 u ||A||, in each element
/// |dA_ij| <= 30 u sqrt(a_ii a_jj) where it factors (N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
/// theorems 10.3 to 10.5). So, to first order, with A = L D L^T and v_k row k of L^-1, so that d_k = v_k A v_k^T:
///     |d rcond| <= 30 u (1 + rcond)       rcond ||A|| is the distance to singularity (W. Kahan, 1966), which moves no
///                                         more than A does; and n u rcond for the sums of the norms. A backend
///                                         that estimates ||A^-1|| has up to spd_rcond_overestimate times as much
///     |d d_k| <= 30 u (sum_i |v_ki| sqrt(a_ii))^2 + sum_{m < k} v_km^2 |d s_m|
///     |d ln det A| <= sum_k |d d_k| / d_k; and (n + 3) 2^-53 sum_k (|ln m_k| + |c_k| ln 2), d_k = m_k 2^c_k, for the
///     sum
/// Where pivots were raised, u is 2^-53 in |d d_k|. A pivot that was raised is what the floor makes of it, whatever it
/// was before; |d s_k| is what |d d_k| was, less than F a_kk / 4 or else undecided. That error of A + diag(s) adds to
/// dA: the forward ratio and the bound of rcond are relaxed by 1 + max_k |d s_k| / (30 u a_kk).
///
/// The numbers are the referee's own, about A only where it has factored A; backward_error is that of x. `bounds` says
/// by how much a backend's may differ.
struct SpdJudgement : SpdValues {
  /// The referee's own status of the system, from its own inspection and Eigen's LLT in double precision;
  /// info_result_not_finite only where the backend says so too, info_result_underflowed clearly below what the backend
  /// may have rounded, or where it says so too and b is so small, beside A, that it may be.
  std::int32_t info = 0;
  /// max over right-hand sides of ||b - A x||_1 / (||A||_1 ||x||_1 u)   (dpot02)
  /// ||I - A X||_1 / (n ||A||_1 ||X||_1 u)                              (dpot03, inverse)
  /// where pivots are raised: for the nearby matrix, within what may be added, that x answers best.
  double residual_ratio = nan;
  /// max over columns of ||x - x*||_inf rcond / (||x*||_inf u), x* the referee's own solution   (dget04)
  double forward_ratio = nan;
  /// A backend's backward error, that of x for A as given also where pivots were raised, is right to 1 % of it and
  /// 2^-59; n 2^-53 for float, and where all of A or of a solution is so small that double has no number twice as
  /// exact.
  SpdValues bounds;
  /// Where the referee's and the backend's status differ about a pivot: the smallest eigenvalue of the disputed leading
  /// block after scaling its diagonal to 1, over the largest, which decides whether a Cholesky factorization can tell
  /// (Demmel 1989). Negative where the block is clearly indefinite. NaN where there is no dispute, where pivots are
  /// to be raised and the backend has not done so, and where it says that x underflowed and b is too large for that:
  /// that is never right.
  double disputed_rcond = nan;
  double largest_perturbation = nan;  ///< the most that it may be; 0 without a floor
  /// Rounding decides which pivots are raised: the counts and the numbers about A may be others.
  bool undecided = false;
};

inline constexpr double spd_ratio_limit = 30;

/// Judges the solution `x` (or inverse; null where the determinant alone is asked for) and status that a backend gave
/// for one system.
///
/// Where the input cannot be used (referee's info < 0) or the backend gave no solution (its info is not 0), there are
/// no ratios to compute: they are NaN, so look at same_status() first. Where only the referee finds the matrix not
/// positive definite, or so near to a singular one (rcond < n 2^-53) that no digit of its own solution is certain,
/// there is no x*: the residual is judged, and forward_ratio is 0 if x is finite. A NaN or an infinity in x gives NaN
/// or infinite ratios, never a small one.
template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info,
                                double pivot_floor = 0);

/// Whether the backend's status is right: it equals the referee's, or the two disagree about a pivot of a matrix that
/// rounding alone can push to either side (|disputed_rcond| < n u). Any other mismatch is a wrong answer: a failure
/// that the backend missed, or one that it made up. A backend that finds x out of range has found all pivots positive.
/// (About an underflow near the limit judge_spd_solution() agrees with either.)
bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n);

/// Error over bound of all that a block has of one system, computed with this floor of pivots: at most 1 where it is
/// right. The status is the referee's (same_status). A failed system has NaN for every number and no raised pivot. For
/// a solved one the stored backward error is right, the ratios are at most spd_ratio_limit, and rcond, the smallest
/// pivot, ln det A, the number of raised pivots and what raising them added are the referee's, within their bounds.
/// Numbers that the block does not have (results of old formats) are not judged. Where systems have sizes of their own,
/// all this is of their leading blocks, and what is beyond them must be 0.
///
/// rcond may be up to `rcond_overestimate` times the referee's: 1 where the backend does not estimate it.
///
/// Above 1/2 it is by what judge_spd_solution() finds. Below, it may be by the same formulas with other roundings
/// (solvers/reference/lanes.hpp), which decide nothing there. It does not depend on the systems that are judged beside.
template <class T>
double spd_error_over_bound(const SpdBlock<T>& block, double pivot_floor, std::int64_t system,
                            double rcond_overestimate = spd_rcond_overestimate);

/// The same of many systems, errors[i] of systems[i]; several at a time, so that each takes a fraction of the time.
template <class T>
void spd_errors_over_bounds(const SpdBlock<T>& block, double pivot_floor, std::span<const std::int64_t> systems,
                            std::span<double> errors, double rcond_overestimate = spd_rcond_overestimate);

/// That rule as a sentence, with its numbers.
std::string spd_criterion(const SpdShape& shape, ScalarType type);

}  // namespace smallbatch
