// Prepares the signal for the tensor cores, and computes the weights.
#include <algorithm>

#include "core/grid_stride.cuh"
#include "physics/correlations/cuda/kernels.cuh"

namespace smallbatch {

namespace {

constexpr int threads = 256;

struct Int8Sample {
  std::int8_t re, im;
};

__device__ float2 sample_of(const SignalBatch& signal, std::int64_t index, float2) {
  return static_cast<const float2*>(signal.signal)[index];
}
__device__ Int8Sample sample_of(const SignalBatch& signal, std::int64_t index, Int8Sample) {
  if (signal.type == SampleType::complex_int8) return static_cast<const Int8Sample*>(signal.signal)[index];
  const int halves = static_cast<const std::int8_t*>(signal.signal)[index];
  return {static_cast<std::int8_t>(halves >> 4), static_cast<std::int8_t>(static_cast<std::int8_t>(halves << 4) >> 4)};
}

/// Prepares one sample of the signal.
template <class Sample>
struct PrepareSample {
  SignalBatch signal;
  std::int64_t to_times, to_inputs;
  Sample* to;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t input = k % to_inputs, time = k / to_inputs % to_times, channel = k / to_inputs / to_times;
    const std::int64_t index = (channel * signal.times + time) * signal.inputs + input;
    const bool counts =
        input < signal.inputs && time < signal.times && (signal.flag == nullptr || signal.flag[index] == 0);
    to[k] = counts ? sample_of(signal, index, Sample{}) : Sample{0, 0};
  }
};

/// Sets one word of the mask: one bit for each of 32 times, set if the input's sample counts.
struct MaskOfTimes {
  SignalBatch signal;
  std::int64_t words;
  std::uint32_t* mask;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t input = k % signal.inputs, word = k / signal.inputs % words;
    const std::int64_t channel = k / signal.inputs / words % signal.channels;
    const std::int64_t integration = k / signal.inputs / words / signal.channels;
    const std::int64_t begin = integration * signal.integrate + 32 * word;
    const std::int64_t end = min(min(begin + 32, (integration + 1) * signal.integrate), signal.times);
    std::uint32_t bits = 0;
    for (std::int64_t time = begin; time < end; ++time)
      if (signal.flag[(channel * signal.times + time) * signal.inputs + input] == 0) bits |= 1u << (time - begin);
    mask[k] = bits;
  }
};

/// Sets the weight if nothing is flagged: all samples of the integration count.
struct WholeWeight {
  SignalBatch signal;
  std::int32_t* weight;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t begin = k / (signal.channels * baselines_of(signal.inputs)) * signal.integrate;
    weight[k] = static_cast<std::int32_t>(min(signal.integrate, signal.times - begin));
  }
};

/// Counts the samples of each baseline that are flagged for neither input. A block of threads handles row i of an
/// integration and channel. Each thread handles some inputs j.
__global__ void __launch_bounds__(threads)
    masked_weight_kernel(SignalBatch signal, std::int64_t words, const std::uint32_t* mask, std::int32_t* weight) {
  const std::int64_t rows = signal.integrations() * signal.channels * signal.inputs;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t i = row % signal.inputs, sum = row / signal.inputs;
    const std::uint32_t* const of_sum = mask + sum * words * signal.inputs;
    for (std::int64_t j = threadIdx.x; j <= i; j += threads) {
      int count = 0;
      for (std::int64_t word = 0; word < words; ++word)
        count += __popc(of_sum[word * signal.inputs + i] & of_sum[word * signal.inputs + j]);
      weight[sum * baselines_of(signal.inputs) + baseline_of(i, j)] = count;
    }
  }
}

}  // namespace

cudaError_t launch_prepare_signal(const SignalBatch& signal, std::int64_t to_times, std::int64_t to_inputs, void* to,
                                  cudaStream_t stream) {
  const std::int64_t count = signal.channels * to_times * to_inputs;
  if (signal.type == SampleType::complex_float32)
    return launch_for_each_index(count, PrepareSample<float2>{signal, to_times, to_inputs, static_cast<float2*>(to)},
                                 stream);
  return launch_for_each_index(
      count, PrepareSample<Int8Sample>{signal, to_times, to_inputs, static_cast<Int8Sample*>(to)}, stream);
}

std::int64_t mask_words(const SignalBatch& signal) { return (std::min(signal.integrate, signal.times) + 31) / 32; }

cudaError_t launch_weights(const SignalBatch& signal, std::uint32_t* mask, std::int32_t* weight, cudaStream_t stream) {
  if (signal.flag == nullptr) return launch_for_each_index(signal.visibilities(), WholeWeight{signal, weight}, stream);
  const std::int64_t words = mask_words(signal), sums = signal.integrations() * signal.channels;
  if (const auto status = launch_for_each_index(sums * words * signal.inputs, MaskOfTimes{signal, words, mask}, stream);
      status != cudaSuccess)
    return status;
  masked_weight_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(sums * signal.inputs, 1 << 20)), threads, 0,
                         stream>>>(signal, words, mask, weight);
  return cudaGetLastError();
}

}  // namespace smallbatch
