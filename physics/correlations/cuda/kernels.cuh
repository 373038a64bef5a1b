// The steps of a correlation on the GPU, in the order in which correlation.cu enqueues them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/signals.hpp"

namespace smallbatch {

/// Division of the signal into *slices*. A slice has up to `slice` consecutive times of one integration of one channel,
/// and is summed by itself. In an index, the slices of an integration vary fastest, then channels, then integrations.
struct CorrelationSlices {
  std::int64_t channels = 0, times = 0, integrate = 1, integrations = 0;
  std::int64_t slice = 1, slices = 1;  ///< times of a slice; slices of an integration
  /// `groups` is the number of times that are read at once, as if they were one time of 8 inputs. No slice begins or
  /// ends between these times.
  int inputs = 0, groups = 1;
  std::int64_t row_bytes = 0;  ///< of all inputs at one time; row_bytes * groups is a multiple of 16

  [[nodiscard]] __host__ __device__ std::int64_t count() const { return integrations * channels * slices; }
};

/// Prepares the signal for the tensor cores. The result is int8 or float32, of shape (channels, to_times, to_inputs).
/// Flagged samples, additional inputs and additional times are zero.
cudaError_t launch_prepare_signal(const SignalBatch& signal, std::int64_t to_times, std::int64_t to_inputs, void* to,
                                  cudaStream_t stream);

/// Computes sum_t x_i(t) conj(x_j(t)) of each slice into (count, baselines), int32 or float32. For more than 128 inputs
/// of int8, `real_sums` is workspace of shape (count, inputs).
cudaError_t launch_slices(SampleType type, const void* signal, const CorrelationSlices& slices, void* sums,
                          std::int32_t* real_sums, cudaStream_t stream);

/// Adds up the sums of the slices (count, baselines) of each integration: integers in int64, floats in double with one
/// rounding at the end.
cudaError_t launch_totals(const CorrelationSlices& slices, const void* of_slices, const VisibilityBatch& sums,
                          cudaStream_t stream);

/// Number of words of the mask for each input, channel and integration.
std::int64_t mask_words(const SignalBatch& signal);
/// Counts the valid samples of each baseline. With flags, `mask` must have room for (integrations, channels,
/// mask_words, inputs).
cudaError_t launch_weights(const SignalBatch& signal, std::uint32_t* mask, std::int32_t* weight, cudaStream_t stream);

/// Finds channels with autos that are not finite, sums these channels again in double precision, and sets the status.
cudaError_t launch_status(const SignalBatch& signal, const VisibilityBatch& sums, cudaStream_t stream);

}  // namespace smallbatch
