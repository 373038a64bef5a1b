// A x = b, A^-1 or ln det A for many small symmetric positive definite systems.
//
// Three implementations behind one interface: cuda (systems in the registers of a few lanes), cpu (SIMD across systems)
// and reference (Eigen's LLT in double precision). All give the same status for the same input.
//
// Sources: V. Volkov, "Unrolling parallel loops" (2011), for Gauss-Jordan on one 32x32 system per thread block; the
// right-hand sides are carried along here. N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapters 10
// (L D L^T), 12 (refinement) and 14.4 (why Gauss-Jordan is less accurate). J. H. Goodnight, "A tutorial on the SWEEP
// operator" (1979), for the inverse in place and the relative floor of pivots.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/backend.hpp"
#include "core/batch.hpp"

namespace smallbatch {

enum class SpdMethod {
  automatic,     ///< L D L^T for solutions; for inverses the sweep on cuda, and L D L^T where its backward error is above
                 ///< `spd_resolve_above`
  gauss_jordan,  ///< elimination above and below the pivots, right-hand sides carried along; its error grows with the
                 ///< condition number
  ldlt,          ///< A = L D L^T and two triangular solves: backward stable
  mixed          ///< L D L^T in single precision, refined with residuals in double precision until the backward error
                 ///< is at the roundoff of T; a system that does not get there is solved again by ldlt. Not on cuda,
                 ///< which takes ldlt
};

/// A solution whose backward error exceeds this many units of roundoff (this times n for an inverse) is not good
/// enough for `automatic` and `mixed`. LAPACK's test programs accept 30.
inline constexpr double spd_resolve_above = 8;

struct SpdOptions {
  SpdMethod method = SpdMethod::automatic;
  /// A pivot d_k < pivot_floor * a_kk is replaced by pivot_floor * a_kk and counted in `repaired`, if a_kk > 0; x then
  /// solves a nearby system and its backward error is that for A as given. 0: no repair. Within [0, 1).
  double pivot_floor = 0;
};

/// "auto", "gauss_jordan", "ldlt", "mixed".
std::string_view spd_method_name(SpdMethod method);
std::optional<SpdMethod> parse_spd_method(std::string_view name);

/// Solves batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time.
///
/// Per system: `info` as core/batch.hpp defines it, and the normwise backward error
///     max over right-hand sides of  ||b - A x||_1 / (||A||_1 ||x||_1)            (solution; LAPACK's dpot02 without
///     /eps)
///     ||I - A X||_1 / (||A||_1 ||X||_1)                                          (inverse; dpot03 without /(n eps))
/// with the residual computed in double precision, 0 where the residual is 0. Dimensionless: compare it with
/// 30 * 2^-24 (float32) or 30 * 2^-53 (float64).
///
/// rcond, smallest_pivot, log_determinant and repaired as core/batch.hpp defines them.
///
/// A system that fails has NaN for every number and 0 for repaired; its neighbours' results are, bit for bit, what they
/// would be without it. The same system gives the same bits at any place in any batch.
class SpdSolver {
 public:
  virtual ~SpdSolver() = default;

  /// Throws Error (bad_input) for n outside [1, max_system_size], nrhs < 0, nrhs > 0 with determinant_only, count < 0
  /// or a stride shorter than a system; count = 0 does nothing.
  virtual void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// What runs, for provenance: "cuda:0 auto", "cpu ldlt avx2", "reference eigen llt".
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Throws Error (no_device) where the backend is cuda and the build or the machine has none, Error (usage) for a
/// pivot_floor outside [0, 1).
std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend, const SpdOptions& options = {});

}  // namespace smallbatch
