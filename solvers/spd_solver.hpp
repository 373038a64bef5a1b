// Solvers of A x = b, and of A^-1 or ln det A, for many small symmetric positive definite systems.
//
// Three implementations stand behind one interface. The cuda backend keeps a system in the registers of a few lanes.
// Above 64 rows, the system is in the shared memory of a block. The cpu backend uses SIMD across systems. The reference
// is Eigen's LLT in double precision. All give the same status for the same input.
//
// Sources: V. Volkov, "Unrolling parallel loops" (2011), for Gauss-Jordan on one 32x32 system per thread block; here
// the right-hand sides are carried along. N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapters 10
// (L D L^T) and 14.4 (why Gauss-Jordan is less accurate). J. H. Goodnight, "A tutorial on the SWEEP operator" (1979),
// for the inverse in place and the relative floor of pivots.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/backend.hpp"
#include "core/systems.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Method for solving systems. On cuda, all methods are L D L^T for n > 64. In double precision on cuda, gauss_jordan
/// is also L D L^T
///
/// - for solutions with n > 32,
/// - for inverses with 16 < n <= 24 or n > 32, if `automatic` would invert them again.
enum class SpdMethod {
  /// L D L^T for solutions. For inverses on cuda: the sweep, and then L D L^T if the sweep's backward error is above
  /// `spd_resolve_above`.
  automatic,
  /// Elimination above and below the pivots, with right-hand sides carried along. Its error grows with the condition
  /// number.
  gauss_jordan,
  /// A = L D L^T and two triangular solves: backward stable.
  ldlt
};

/// Largest backward error, in units of u, that is good enough for `automatic`; for an inverse the limit is n times
/// this. LAPACK's test programs accept 30.
inline constexpr double spd_resolve_above = 8;

/// Options for all systems of a solver.
struct SpdOptions {
  SpdMethod method = SpdMethod::automatic;  ///< how systems are solved
  /// Pivot floor f, within [0, 1): pivots below this fraction of their diagonal element are raised. 0: no pivot is
  /// raised.
  ///
  /// The floor is for matrices that should be positive definite or semidefinite, but are not to working precision. Let
  /// F = max(f, n u), with u = 2^-24 or 2^-53 for T. The matrix is factored in double precision with symmetric
  /// pivoting. The next pivot is the first row with a diagonal element s_kk that is nearly the largest, as a fraction
  /// of a_kk (`spd_nearly_largest`). When the largest fraction falls below F, the remaining rows follow in their order,
  /// each with the pivot max(F a_kk, max_i s_ik^2 / (F a_ii)). No later s_ii then loses more than F a_ii.
  ///
  /// Raising pivots adds e_k to a_kk. The answer is that of the nearby matrix A + diag(e), and so are all numbers
  /// except the backward error. The backward error is that for A as given. The number `repaired` counts the raised
  /// pivots; this is n minus the numerical rank of A. The number `perturbation` is max_k e_k / a_kk.
  ///
  /// A repair fails at row k in two cases: a_kk is not positive, or e_k would exceed `spd_largest_repair` max(F a_kk,
  /// n u max_i a_ii). No semidefinite matrix is near then. The system keeps the status that it has without a floor; if
  /// that status is 0, it becomes k. A system that is solved without a floor, and has no raised pivot, keeps its bits.
  /// If the triangles of A differ by roundings, e belongs to the lower triangle.
  ///
  /// Sources: P. E. Gill, W. Murray, M. H. Wright, "Practical Optimization" (1981), section 4.4.2.2, for raised pivots
  /// under symmetric pivoting. N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 10.3, for why
  /// the given order of the rows does not suffice. Measurements are in docs/numerics.md.
  double pivot_floor = 0;
};

/// Symmetric pivoting treats a pivot as equal to the largest if it is at least this fraction of the largest. Rounding
/// then does not decide between them.
inline constexpr double spd_nearly_largest = 1 - 0x1p-10;
/// The most that may be added to a diagonal element, in units of max(F a_kk, n u max_i a_ii).
inline constexpr double spd_largest_repair = 8;
/// Returns F for the pivot floor f.
template <class T>
constexpr double spd_used_floor(double pivot_floor, int n) {
  const double rounding = n * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53);
  return pivot_floor > rounding ? pivot_floor : rounding;
}

/// The factor by which cuda's rcond may be too large, for solutions and determinants with more rows than
/// `spd_rcond_is_exact_up_to`. For these, cuda estimates ||A^-1||_1 from below (after N. J. Higham, F. Tisseur, "A
/// block algorithm for matrix 1-norm estimation", 2000). No estimate by a few solutions has a bound that always holds.
/// This estimate is mostly exact. The result was at most 3 times too large over 15 families of matrices, but thousands
/// of times too large for matrices that a long search found.
inline constexpr double spd_rcond_overestimate = 20;
inline constexpr int spd_rcond_is_exact_up_to = 12;  ///< rows up to which rcond is exact with every backend

/// The largest number of right-hand sides of a system: offsets within a system have 32 bits.
inline constexpr int max_spd_rhs = std::numeric_limits<int>::max() / max_system_size;

/// The change of x by rounding, in units of u ||x||_1, above which x has underflowed (core/systems.hpp).
inline constexpr double spd_underflow_loss = 8;

/// Returns "auto", "gauss_jordan" or "ldlt".
std::string_view spd_method_name(SpdMethod method);
std::optional<SpdMethod> parse_spd_method(std::string_view name);

/// Output of a factorization A = L D L^T, where L has a unit diagonal. The factors are an array (count, n (n + 1) / 2),
/// by rows like Storage::packed_lower. L is below the diagonal and D on it. The stride of the factors must not be 0. A
/// number with a null pointer is not wanted; the factors and info are always required.
template <class T>
struct SpdFactors {
  T* factors = nullptr;
  std::int32_t* info = nullptr;
  T* smallest_pivot = nullptr;          ///< as in SpdSolution
  double* log_determinant = nullptr;    ///< as in SpdSolution
  std::int64_t factors_stride = tight;  ///< elements from one system to the next

  /// Returns the distance from the factors of one system to those of the next, in elements.
  [[nodiscard]] std::int64_t factors_step(int n) const {
    return factors_stride == tight ? std::int64_t{n} * (n + 1) / 2 : factors_stride;
  }
};

/// Factors from SpdSolver::factor, and right-hand sides as SpdBatch has them.
template <class T>
struct SpdFactoredBatch {
  int n = 0;                                   ///< rows of A
  int nrhs = 1;                                ///< at least 1
  std::int64_t count = 0;                      ///< how many systems
  const T* factors = nullptr;                  ///< as SpdSolver::factor stored them
  const std::int32_t* factors_info = nullptr;  ///< one status per system; a single status if factors_stride is 0
  const T* b = nullptr;                        ///< (count, n, nrhs)
  std::int64_t factors_stride = tight, b_stride = tight;  ///< as in SpdBatch; 0: all systems share one factor, or one b

  /// Returns the shape of a system.
  [[nodiscard]] SpdShape shape() const { return {n, nrhs, Storage::packed_lower}; }
  /// Returns the distance from one system to the next in `factors`, in elements.
  [[nodiscard]] std::int64_t factors_step() const {
    return factors_stride == tight ? shape().matrix_size() : factors_stride;
  }
  /// Returns the distance from one system to the next in `factors_info`, in elements.
  [[nodiscard]] std::int64_t factors_info_step() const { return factors_stride == 0 ? 0 : 1; }
  /// Returns the distance from one system to the next in `b`, in elements.
  [[nodiscard]] std::int64_t b_step() const { return b_stride == tight ? shape().rhs_size() : b_stride; }
};

/// Solves batches that lie in host memory. An object owns its device memory and stream. Use it from one thread at a
/// time.
///
/// Each system gets `info`, as core/systems.hpp defines it, and a normwise backward error:
///
/// - for a solution, the maximum over right-hand sides of ||b - A x||_1 / (||A||_1 ||x||_1): LAPACK's dpot02 without
///   its division by eps;
/// - for an inverse, ||I - A X||_1 / (||A||_1 ||X||_1): dpot03 without its division by n eps.
///
/// The residual is computed in twice the precision of T; a residual of 0 gives a backward error of 0. The backward
/// error has no unit: compare it with 30 * 2^-24 (float32) or 30 * 2^-53 (float64). All other numbers are defined in
/// core/systems.hpp.
///
/// Asking for a number does not change any bit of x, of info, or of another number.
///
/// A failed system has NaN for every number and 0 for `repaired` (SpdValues). It does not change the bits of its
/// neighbours' results. A system gives the same bits at any place in any batch with the same n.
///
/// In batches with sizes (SpdBatch), a size outside [0, n] gives status -6 and NaN in all n rows of x. For all other
/// systems, x is 0 beyond their sizes; an inverse is 0 beyond the leading rows and columns. NaN appears only within the
/// sizes.
class SpdSolver {
 public:
  virtual ~SpdSolver() = default;

  /// Solves a batch. A count of 0 does nothing. x may be b: the solutions then replace the right-hand sides.
  ///
  /// Throws Error (bad_input) for
  ///
  /// - n outside [1, max_system_size], nrhs outside [0, max_spd_rhs], nrhs > 0 with determinant_only, or count < 0;
  /// - a stride that is neither `tight` nor at least the size of a system (a and b may have a stride of 0);
  /// - a null pointer to info or to any other array that is needed;
  /// - x that overlaps a, or overlaps b without being b itself with the same stride;
  /// - info that overlaps sizes.
  virtual void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// Factors systems once, so that solve_factored() can solve with the factors many times. The members nrhs and b of
  /// `batch` are ignored, and so are all SpdOptions: the factors are those of A as given, without pivoting.
  ///
  /// The status is what solve() says about A alone: -1, -2 or k > 0. It is -4 if a number of L overflows, and -5 if a
  /// number of D underflows. That happens only with elements near the limits of T, or with diagonal elements of very
  /// different size. A failed system has NaN for its factors and numbers. Throws Error as solve() does, and also for a
  /// batch with sizes. The factors must not overlap A.
  virtual void factor(const SpdBatch<float>& batch, const SpdFactors<float>& factors) = 0;
  virtual void factor(const SpdBatch<double>& batch, const SpdFactors<double>& factors) = 0;

  /// Computes x and info from factors, which any backend may have made. The backward error of x is that of solve() by
  /// ldlt, to within a small factor. If the factorization of a system failed, info is that status again; otherwise it
  /// is 0, -3, -4 or -5 as in solve(). If info is not 0, x is NaN.
  ///
  /// Throws Error as solve() does, and also if `solution` asks for any number except info. The solutions may replace b,
  /// with the same stride. They must not overlap the factors, and info must not overlap factors_info.
  virtual void solve_factored(const SpdFactoredBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve_factored(const SpdFactoredBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// Returns what runs, for provenance: "cuda:0 auto", "cpu ldlt avx2", "reference eigen llt".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Returns the seconds of GPU computing since this object was made, without copies from and to the host. Other
  /// backends return 0.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Makes a solver. Throws Error (no_device) if the backend is cuda and the build has no CUDA or the machine has no such
/// device. Throws Error (usage) for a pivot_floor outside [0, 1) or an instruction set that the processor does not
/// have.
std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend, const SpdOptions& options = {});

}  // namespace smallbatch
#pragma GCC visibility pop
