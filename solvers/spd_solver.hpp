// A x = b, A^-1 or ln det A for many small symmetric positive definite systems.
//
// Three implementations behind one interface: cuda (systems in the registers of a few lanes, or those of more than 64
// rows in the shared memory of a block), cpu (SIMD across systems) and reference (Eigen's LLT in double precision). All
// give the same status for the same input.
//
// Sources: V. Volkov, "Unrolling parallel loops" (2011), for Gauss-Jordan on one 32x32 system per thread block; the
// right-hand sides are carried along here. N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapters 10
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

/// How systems are solved. On cuda all methods are L D L^T for n > 64. In double precision gauss_jordan is, too, for
/// solutions with n > 32, and for those inverses with 16 < n <= 24 or n > 32 that `automatic` would invert again.
enum class SpdMethod {
  automatic,  ///< L D L^T for solutions; for inverses the sweep on cuda, and L D L^T where its backward error is above
              ///< `spd_resolve_above`
  gauss_jordan,  ///< elimination above and below the pivots, right-hand sides carried along; its error grows with the
                 ///< condition number
  ldlt           ///< A = L D L^T and two triangular solves: backward stable
};

/// A solution whose backward error exceeds this many units of roundoff (this times n for an inverse) is not good
/// enough for `automatic`. LAPACK's test programs accept 30.
inline constexpr double spd_resolve_above = 8;

/// Of all systems of a solver.
struct SpdOptions {
  SpdMethod method = SpdMethod::automatic;  ///< how they are solved
  /// f, within [0, 1): pivots below this fraction of their diagonal element are raised. 0: none are.
  ///
  /// For matrices that should be positive definite, or semidefinite, and are not to working precision. With F = max(f,
  /// n u), u = 2^-24 or 2^-53 as T has it, such a matrix is factored in double precision with symmetric pivoting:
  /// the next pivot is the first row whose diagonal element s_kk is nearly the largest, as a fraction of a_kk
  /// (`spd_nearly_largest`). As soon as the largest is below F a_kk, the rows that are left follow in their order, each
  /// with the pivot max(F a_kk, max_i s_ik^2 / (F a_ii)), so that no later s_ii loses more than F a_ii. Raising pivots
  /// adds e_k to a_kk: the answer is that of the nearby A + diag(e), so are all numbers but the backward error, which
  /// is that for A as given; `repaired` counts the raised pivots (n less the numerical rank of A), `perturbation` is
  /// max_k e_k / a_kk.
  ///
  /// Where some e_k would be larger than `spd_largest_repair` max(F a_kk, n u max_i a_ii), or a diagonal element is not
  /// positive, no semidefinite matrix is near, and the system has the status that it has without a floor (or k, should
  /// that be 0). A system that is solved without a floor, and of which no pivot is raised, keeps its bits. Where the
  /// triangles of A differ by roundings, e is that of the lower one.
  ///
  /// (P. E. Gill, W. Murray, M. H. Wright, "Practical Optimization" (1981), section 4.4.2.2, for pivots raised under
  /// symmetric pivoting; N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 10.3, for why the
  /// order of the rows would not do. docs/numerics.md has what was measured.)
  double pivot_floor = 0;
};

/// Of symmetric pivoting: pivots that differ by less are equal, so that rounding does not decide between them.
inline constexpr double spd_nearly_largest = 1 - 0x1p-10;
/// What may be added to a diagonal element, in units of max(F a_kk, n u max_i a_ii).
inline constexpr double spd_largest_repair = 8;
/// F of the floor f.
template <class T>
constexpr double spd_used_floor(double pivot_floor, int n) {
  const double rounding = n * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53);
  return pivot_floor > rounding ? pivot_floor : rounding;
}

/// How many times too large rcond may be of solutions and determinants by cuda with more rows than it is exact for:
/// ||A^-1||_1 is estimated from below (after N. J. Higham, F. Tisseur, "A block algorithm for matrix 1-norm
/// estimation", 2000). No estimate by a few solutions has a bound that holds always; this one is mostly exact and was
/// at most 3 times too large over 15 families of matrices, but thousands of times where a long search made the
/// matrices.
inline constexpr double spd_rcond_overestimate = 20;
inline constexpr int spd_rcond_is_exact_up_to = 12;  ///< rows, by every backend

/// The most right-hand sides of a system: places within one are counted in 32 bits.
inline constexpr int max_spd_rhs = std::numeric_limits<int>::max() / max_system_size;

/// The change of x by its rounding, in units of u ||x||_1, beyond which it has underflowed (core/systems.hpp).
inline constexpr double spd_underflow_loss = 8;

/// "auto", "gauss_jordan", "ldlt".
std::string_view spd_method_name(SpdMethod method);
std::optional<SpdMethod> parse_spd_method(std::string_view name);

/// Where factors go: A = L D L^T, L with a unit diagonal, as (count, n (n + 1) / 2) numbers, L below the diagonal and
/// D on it by rows, like Storage::packed_lower, with a stride as in SpdSolution. A null pointer means that the number
/// is not wanted; the factors and info always are.
template <class T>
struct SpdFactors {
  T* factors = nullptr;
  std::int32_t* info = nullptr;
  T* smallest_pivot = nullptr;          ///< as in SpdSolution
  double* log_determinant = nullptr;    ///< as in SpdSolution
  std::int64_t factors_stride = tight;  ///< numbers from one system to the next

  /// Numbers from one system to the next.
  [[nodiscard]] std::int64_t factors_step(int n) const {
    return factors_stride == tight ? std::int64_t{n} * (n + 1) / 2 : factors_stride;
  }
};

/// Factors and right-hand sides, as SpdSolver::factor left the ones and SpdBatch has the others.
template <class T>
struct SpdFactoredBatch {
  int n = 0;                                              ///< rows of A
  int nrhs = 1;                                           ///< at least 1
  std::int64_t count = 0;                                 ///< how many systems
  const T* factors = nullptr;                             ///< as SpdSolver::factor left them
  const std::int32_t* factors_info = nullptr;             ///< one for each; a single one where the factors' stride is 0
  const T* b = nullptr;                                   ///< (count, n, nrhs)
  std::int64_t factors_stride = tight, b_stride = tight;  ///< as in SpdBatch; 0: one factor, or b, for all

  /// The systems', and from one to the next the numbers of each array.
  [[nodiscard]] SpdShape shape() const { return {n, nrhs, Storage::packed_lower}; }
  [[nodiscard]] std::int64_t factors_step() const {
    return factors_stride == tight ? shape().matrix_size() : factors_stride;
  }
  [[nodiscard]] std::int64_t factors_info_step() const { return factors_stride == 0 ? 0 : 1; }
  [[nodiscard]] std::int64_t b_step() const { return b_stride == tight ? shape().rhs_size() : b_stride; }
};

/// Solves batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time.
///
/// Per system: `info` as core/systems.hpp defines it, and the normwise backward error
///     max over right-hand sides of  ||b - A x||_1 / (||A||_1 ||x||_1)            (solution; LAPACK's dpot02 without
///     /eps)
///     ||I - A X||_1 / (||A||_1 ||X||_1)                                          (inverse; dpot03 without /(n eps))
/// with the residual computed in twice the precision of T, 0 where the residual is 0. Dimensionless: compare it with
/// 30 * 2^-24 (float32) or 30 * 2^-53 (float64).
///
/// All other numbers as core/systems.hpp defines them.
///
/// Which numbers are asked for changes no bit of x, of info, or of the others.
///
/// A system that fails has NaN for every number and 0 for repaired (SpdValues); its neighbours' results are, bit for
/// bit, what they would be without it. The same system gives the same bits at any place in any batch
/// of its n.
///
/// Batches with sizes (SpdBatch): a status of -6 for a size that is not within [0, n], with NaN for all n rows of x. Of
/// all other systems x is 0 beyond their sizes, of an inverse beyond the leading rows and columns, and NaN only within.
class SpdSolver {
 public:
  virtual ~SpdSolver() = default;

  /// Throws Error (bad_input) for n outside [1, max_system_size], nrhs outside [0, max_spd_rhs], nrhs > 0 with
  /// determinant_only, count < 0, a stride that is neither `tight` nor at least a system (0 is allowed of a and b),
  /// info or any other array that is needed and null, x that overlaps a, x that overlaps b and is not b itself with the
  /// same stride, and info that overlaps sizes; count = 0 does nothing. x may be b: the solutions then take the place
  /// of the right-hand sides.
  virtual void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// Factors once what solve_factored() solves with many times. Of `batch`, nrhs and b are not looked at; of SpdOptions
  /// neither is anything: these are the factors without pivoting, of A as it is.
  ///
  /// info is what solve() says of A alone: -1, -2, k > 0; -4 where a number of L, and -5 where one of D, is out of the
  /// range of T, which takes elements near the limits of T or diagonals that differ as much. A system that fails has
  /// NaN for its factors and numbers. Throws as solve() does, and for a batch with sizes. The factors must not overlap
  /// A.
  virtual void factor(const SpdBatch<float>& batch, const SpdFactors<float>& factors) = 0;
  virtual void factor(const SpdBatch<double>& batch, const SpdFactors<double>& factors) = 0;

  /// x and info from factors of any backend's. x has the backward error that solve() by ldlt gives it, to within a
  /// small factor. info of a system whose factorization has failed is that status again; otherwise -3, -4 or -5 as
  /// solve() has them. Where it is not 0, x is NaN.
  ///
  /// Throws as solve() does, and for any other number than info that `solution` asks for. x may be b, with the same
  /// stride; it must not overlap the factors, nor info factors_info.
  virtual void solve_factored(const SpdFactoredBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve_factored(const SpdFactoredBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// What runs, for provenance: "cuda:0 auto", "cpu ldlt avx2", "reference eigen llt".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this was made, without the copies from and to the host; 0 of other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Throws Error (no_device) where the backend is cuda and the build or the machine has none, Error (usage) for a
/// pivot_floor outside [0, 1) or an instruction set that the processor does not have.
std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend, const SpdOptions& options = {});

}  // namespace smallbatch
#pragma GCC visibility pop
