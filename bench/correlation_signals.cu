#include "bench/correlation_signals.hpp"

#include <algorithm>
#include <vector>

#include "core/grid_stride.cuh"
#include "physics/correlation.cuh"
#include "physics/correlations/referee.hpp"

namespace smallbatch {

namespace {

/// Stores random numbers: float32 from -1 to 1, or any int8.
template <class T>
struct StoreRandom {
  T* numbers;
  __device__ void operator()(std::int64_t i) const {
    std::uint64_t hash = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 32;
    if constexpr (sizeof(T) == 4)
      numbers[i] = static_cast<float>(static_cast<std::int32_t>(hash)) * 0x1p-31F;
    else
      numbers[i] = static_cast<T>(hash);
  }
};

}  // namespace

SignalsToCorrelate::SignalsToCorrelate(SampleType type, std::int64_t inputs, std::int64_t channels,
                                       std::int64_t times) {
  batch = {type, channels, times, inputs, times};
  const std::int64_t numbers = 2 * batch.samples();
  char* const signal = memory_signal_.reserve<char>(static_cast<std::size_t>(batch.samples() * bytes_of(type)));
  if (type == SampleType::complex_float32)
    check(launch_for_each_index(numbers, StoreRandom<float>{reinterpret_cast<float*>(signal)}, cudaStreamLegacy));
  else
    check(launch_for_each_index(numbers, StoreRandom<std::int8_t>{reinterpret_cast<std::int8_t*>(signal)},
                                cudaStreamLegacy));
  batch.signal = signal;
  sums.type = sum_type(type, times);
  sums.visibility =
      memory_visibility_.reserve<char>(static_cast<std::size_t>(batch.visibilities() * bytes_of(sums.type)));
  sums.info = memory_info_.reserve<std::int32_t>(static_cast<std::size_t>(channels));
  workspace_ = memory_workspace_.reserve<char>(correlation_workspace_bytes(batch, sums));
  check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
}

void SignalsToCorrelate::poison(cudaStream_t stream) const {
  check(cudaMemsetAsync(sums.visibility, 0xff, static_cast<std::size_t>(batch.visibilities() * bytes_of(sums.type)),
                        stream));
}

void SignalsToCorrelate::correlate(cudaStream_t stream) const {
  check(smallbatch::correlate(batch, sums, workspace_, stream));
}

Judgement SignalsToCorrelate::judge() const {
  const std::int64_t baselines = baselines_of(batch.inputs), samples = batch.times * batch.inputs;
  std::vector<char> signal(static_cast<std::size_t>(samples * bytes_of(batch.type)));
  std::vector<char> visibility(static_cast<std::size_t>(baselines * bytes_of(sums.type)));
  const std::vector<std::int32_t> weight(static_cast<std::size_t>(baselines), static_cast<std::int32_t>(batch.times));
  double worst = 0;
  for (const std::int64_t channel : {std::int64_t{0}, batch.channels / 2, batch.channels - 1}) {
    const auto copy = [&](std::vector<char>& to, const void* from) {
      check(cudaMemcpy(to.data(), static_cast<const char*>(from) + channel * static_cast<std::int64_t>(to.size()),
                       to.size(), cudaMemcpyDeviceToHost));
    };
    copy(signal, batch.signal);
    copy(visibility, sums.visibility);
    SignalBatch one = batch;
    one.channels = 1;
    one.signal = signal.data();
    CorrelationReferee referee(batch.type, batch.inputs);
    referee.add(one, 0, 0, batch.times);
    worst = std::max(worst, referee.compare({sums.type, visibility.data(), weight.data()}).worst);
  }
  return {worst};
}

}  // namespace smallbatch
