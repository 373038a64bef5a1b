// The steps of a correlation on the GPU, in the order in which correlation.cu enqueues them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/signals.hpp"

namespace smallbatch {

/// Sums are of *slices*: an integration of a channel, or `slice` of its times. An index counts slices of an integration
/// fastest, then channels, then integrations.
struct CorrelationSlices {
  std::int64_t channels = 0, times = 0, integrate = 1, integrations = 0;
  std::int64_t slice = 1, slices = 1;  ///< times of one; slices of an integration
  int inputs = 0, groups = 1;  ///< times that are read at once, as a row of 8 inputs; sums begin and end with rows
  std::int64_t row_bytes = 0;  ///< of all inputs at one time; of `groups` times a multiple of 16

  [[nodiscard]] __host__ __device__ std::int64_t count() const { return integrations * channels * slices; }
};

/// The signal as the tensor cores want it: int8 or float32, rows of `to_inputs` inputs, `to_times` times of each
/// channel; zero where it is flagged, in inputs beyond the last and in times beyond the last.
cudaError_t launch_prepare_signal(const SignalBatch& signal, std::int64_t to_times, std::int64_t to_inputs, void* to,
                                  cudaStream_t stream);

/// sum_t x_i(t) conj(x_j(t)) of each slice: to (count, baselines), int32 or float32. `real_sums`: (count, inputs) of
/// workspace for more than 128 inputs of int8.
cudaError_t launch_slices(SampleType type, const void* signal, const CorrelationSlices& slices, void* sums,
                          std::int32_t* real_sums, cudaStream_t stream);

/// Of slices (count, baselines) the sums of integrations: in int64, or in double and rounded once.
cudaError_t launch_totals(const CorrelationSlices& slices, const void* of_slices, const VisibilityBatch& sums,
                          cudaStream_t stream);

/// Samples that count for each baseline; `mask` (integrations, channels, mask_words, inputs), needed where there are
/// flags.
std::int64_t mask_words(const SignalBatch& signal);
cudaError_t launch_weights(const SignalBatch& signal, std::uint32_t* mask, std::int32_t* weight, cudaStream_t stream);

/// Finds channels whose autos are not finite, sums those again in double precision, and says why.
cudaError_t launch_status(const SignalBatch& signal, const VisibilityBatch& sums, cudaStream_t stream);

}  // namespace smallbatch
