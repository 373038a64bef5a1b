// A x = b, or A^-1, for many small symmetric positive definite systems.
//
// Three implementations behind one interface: cuda (register-blocked Gauss-Jordan without pivoting; a system that it
// answers badly is solved again by L D L^T), cpu (L D L^T, SIMD across systems) and reference (Eigen's LLT in double precision). All give the same status for the same input.
//
// Source of the method: V. Volkov, "Unrolling parallel loops" (2011), Gauss-Jordan on one 32x32 system per thread
// block; the right-hand sides are carried along here.
#pragma once

#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/batch.hpp"

namespace smallbatch {

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
/// A system that fails has NaN for x and backward_error; its neighbours' results are, bit for bit, what they would be
/// without it. The same system gives the same bits at any place in any batch.
class SpdSolver {
 public:
  virtual ~SpdSolver() = default;

  /// Throws Error (bad_input) for n outside [1, max_system_size], nrhs < 0 or count < 0; count = 0 does nothing.
  virtual void solve(const SpdBatch<float>& batch, const SpdSolution<float>& solution) = 0;
  virtual void solve(const SpdBatch<double>& batch, const SpdSolution<double>& solution) = 0;

  /// What runs, for provenance: "cuda:0 gauss_jordan, ldlt where ...", "cpu ldlt avx2", "reference eigen llt".
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Throws Error (no_device) where the backend is cuda and the build or the machine has none.
std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend);

}  // namespace smallbatch
