// Signals on the device, memory for their visibilities, and the referee that checks the visibilities of each step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Random samples of `channels` channels, one integration. Integers cover the whole range of int8.
class SignalsToCorrelate {
 public:
  SignalsToCorrelate(SampleType type, std::int64_t inputs, std::int64_t channels, std::int64_t times);

  void poison(cudaStream_t stream) const;
  /// Calls the production launch.
  void correlate(cudaStream_t stream) const;
  /// Judges the first, the middle and the last channel.
  [[nodiscard]] Judgement judge() const;
  [[nodiscard]] double multiply_adds() const {
    return static_cast<double>(batch.channels * baselines_of(batch.inputs)) * static_cast<double>(batch.times);
  }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(batch.samples() * bytes_of(batch.type) + batch.visibilities() * bytes_of(sums.type));
  }

  SignalBatch batch;
  VisibilityBatch sums;  ///< without weights, because no sample is flagged

 private:
  DeviceMemory memory_signal_, memory_visibility_, memory_info_, memory_workspace_;
  void* workspace_ = nullptr;
};

}  // namespace smallbatch
