// The referee's judgement of one solution: ratios of LAPACK's test programs, computed with Eigen in at least twice the
// precision where the ratio needs it. It shares no code with the backends that it judges.
#pragma once

#include <cstdint>

#include "core/batch.hpp"

namespace smallbatch {

/// u is the unit roundoff of T: 2^-24 for float, 2^-53 for double. LAPACK accepts ratios below 30.
struct SpdJudgement {
  /// The referee's own status of the system, from its own inspection and Eigen's LLT in double precision;
  /// info_result_not_finite only where the backend says so too.
  std::int32_t info = 0;
  /// max over right-hand sides of ||b - A x||_1 / (||A||_1 ||x||_1 u)   (dpot02)
  /// ||I - A X||_1 / (n ||A||_1 ||X||_1 u)                              (dpot03, inverse)
  double residual_ratio = 0;
  /// max over columns of ||x - x*||_inf rcond / (||x*||_inf u), x* the referee's own solution   (dget04)
  double forward_ratio = 0;
  /// 1 / (||A||_1 ||A^-1||_1), with the explicit inverse. Where the referee's and the backend's status differ about a
  /// pivot, instead the smallest eigenvalue of the disputed leading block after scaling its diagonal to 1, over the
  /// largest: what decides whether a Cholesky factorization can tell (Demmel 1989). It is negative where the block is
  /// clearly indefinite.
  double rcond = 0;
};

inline constexpr double spd_ratio_limit = 30;

/// Judges the solution `x` (or inverse) and status that a backend gave for one system.
///
/// Where the input cannot be used (referee's info < 0) or the backend gave no solution (its info is not 0), there are
/// no ratios to compute: they are NaN, so look at same_status() first. Where only the referee finds the matrix not
/// positive definite, there is no x*: the residual is judged, and forward_ratio is 0 if x is finite. A NaN or an
/// infinity in x gives NaN or infinite ratios, never a small one.
template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info);

/// Whether the backend's status is right: it equals the referee's, or the two disagree about a pivot of a matrix that
/// rounding alone can push to either side (|rcond| < n u). Any other mismatch is a wrong answer: a failure that the
/// backend missed, or one that it made up.
bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n);

}  // namespace smallbatch
