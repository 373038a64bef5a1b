// Correlation of signals, for each channel and each integration:
//     V_ij = sum_t x_i(t) conj(x_j(t))      for all inputs i >= j, autos included,
// over the samples t of the integration that are flagged for neither i nor j; their number is the weight of V_ij. (M.
// A. Clark, P. C. La Plante and L. J. Greenhill, Int. J. High Perform. Comput. Appl. 27, 178 (2013), equation 4.)
//
// Autos are real: their imaginary parts are 0. Integers are summed exactly. Of float32 signals each component of V_ij,
// summed over w samples, has an error of at most
//     (min(w, 1024) + 32) 2^-23 sqrt(P_i P_j) + w 2^-124,    P_i = sum_t |x_i(t)|^2 where i is not flagged
// (sums of at most 1024 samples in single precision, those of more in double).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/backend.hpp"
#include "core/signals.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Correlates batches that lie in host memory. An object owns its device memory and stream; use it from one thread at a
/// time. The bits of a channel's visibilities depend on that channel and `integrate` alone, on one backend.
class Correlator {
 public:
  virtual ~Correlator() = default;

  /// Throws Error (bad_input) for inputs outside 1 to max_inputs, an integrate below 1, an integration of 2^31 samples,
  /// a type of sums that is not sum_type() of the batch (or the wider integers). No channels or no times do nothing but
  /// set the info of channels.
  virtual void correlate(const SignalBatch& signal, const VisibilityBatch& sums) = 0;

  /// What runs, for provenance: "cuda:0 correlation", "cpu correlation avx2", "reference eigen".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Seconds that a GPU has computed since this was made; 0 of other backends.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// The means of `count` sums, complex float32: each sum over its weight in double precision, rounded once; NaN where
/// the weight is 0. They may take the place of the sums.
void means_of(SumType type, const void* sum, const std::int32_t* weight, std::int64_t count, float* mean);

/// Throws as make_potential does.
std::unique_ptr<Correlator> make_correlator(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
