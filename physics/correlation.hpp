// Correlation of signals, for each channel and each integration:
//
//     V_ij = sum_t x_i(t) conj(x_j(t))      for all inputs i >= j, autos included.
//
// The sum runs over the samples t of the integration that are flagged neither for i nor for j. Their number is the
// weight of V_ij. (M. A. Clark, P. C. La Plante and L. J. Greenhill, Int. J. High Perform. Comput. Appl. 27, 178
// (2013), equation 4.)
//
// Autos are real: their imaginary parts are 0. Integers are summed exactly. Let V_ij of float32 signals be summed over
// w samples. Each of its components then has an error of at most
//
//     (min(w, 1024) + 32) 2^-23 sqrt(P_i P_j) + w 2^-124,    P_i = sum_t |x_i(t)|^2 where i is not flagged.
//
// Up to 1024 samples are summed in single precision, and these sums are added in double precision.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/signals.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Correlates batches that lie in host memory. An object owns its device memory and stream. Use an object from one
/// thread at a time. On one backend, the bits of a channel's visibilities depend only on that channel and on
/// `integrate`.
class Correlator {
 public:
  virtual ~Correlator() = default;

  /// Correlates a batch. Without channels or without times, it only sets the info of the channels.
  ///
  /// Throws Error (bad_input) if the inputs are not within 1 to max_inputs, if `integrate` is below 1, or if an
  /// integration has 2^31 samples or more. Throws as well if the type of the sums is not sum_type() of the batch. If
  /// sum_type() is complex_int32, complex_int64 is also accepted.
  virtual void correlate(const SignalBatch& signal, const VisibilityBatch& sums) = 0;

  /// Names what runs, for provenance: "cuda:0 correlation", "cpu correlation avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this object was made; 0 for other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Computes the means of `count` sums as complex float32. Each sum is divided by its weight in double precision and
/// rounded once. A mean is NaN if its weight is 0. `mean` may point to the memory of the sums.
void means_of(SumType type, const void* sum, const std::int32_t* weight, std::int64_t count, float* mean);

/// Makes the correlator of a backend. Throws as make_potential does.
std::unique_ptr<Correlator> make_correlator(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
