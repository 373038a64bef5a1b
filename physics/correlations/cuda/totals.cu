// Adds the sums of slices to sums of integrations, and sets the status of each channel.
#include <algorithm>
#include <cmath>

#include "core/grid_stride.cuh"
#include "physics/correlations/cuda/kernels.cuh"

namespace smallbatch {

namespace {

constexpr int threads = 256;

struct Int32Pair {
  std::int32_t re, im;
};
struct Int64Pair {
  std::int64_t re, im;
};

struct FloatPair {
  float re, im;
};

/// Adds the slices of one visibility.
template <class Pair, class Total, class Out>
struct AddSlices {
  CorrelationSlices slices;
  const Pair* of_slices;
  Out* sums;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t baselines = baselines_of(slices.inputs);
    const Pair* const first = of_slices + k / baselines * slices.slices * baselines + k % baselines;
    Total re = 0, im = 0;
    for (std::int64_t s = 0; s < slices.slices; ++s) {
      re += first[s * baselines].re;
      im += first[s * baselines].im;
    }
    sums[k].re = static_cast<decltype(Out::re)>(re);
    sums[k].im = static_cast<decltype(Out::im)>(im);
  }
};

// Bits in `info` for findings about a channel, until StatusOfFindings turns them into its status.
constexpr std::int32_t is_suspect = 1, has_bad_sample = 2, leaves_range = 4;

/// Checks an auto of an integration and channel. If all autos of a channel are finite, all samples of the channel and
/// their products are finite too.
struct FindSuspects {
  SignalBatch signal;
  const FloatPair* visibility;
  std::int32_t* info;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t input = k % signal.inputs, sum = k / signal.inputs;
    if (!isfinite(visibility[sum * baselines_of(signal.inputs) + baseline_of(input, input)].re))
      atomicOr(info + sum % signal.channels, is_suspect);
  }
};

__device__ bool is_bad(const SignalBatch& signal, std::int64_t index) {
  if (signal.flag != nullptr && signal.flag[index] != 0) return false;
  const FloatPair x = static_cast<const FloatPair*>(signal.signal)[index];
  return !(isfinite(x.re) && isfinite(x.im));
}

/// Repairs a suspect channel; a block of threads handles one integration. Visibilities of inputs with a bad sample
/// become NaN. Other baselines that are not finite are summed in double precision.
__global__ void __launch_bounds__(threads)
    suspects_kernel(SignalBatch signal, FloatPair* visibility, std::int32_t* info) {
  __shared__ std::uint8_t bad[max_inputs];
  const std::int64_t sums = signal.integrations() * signal.channels;
  for (std::int64_t sum = blockIdx.x; sum < sums; sum += gridDim.x) {
    // Other blocks may add findings about the channel, but none removes the suspicion.
    if ((static_cast<volatile std::int32_t*>(info)[sum % signal.channels] & is_suspect) == 0) continue;
    FloatPair* const v = visibility + sum * baselines_of(signal.inputs);
    const std::int64_t channel = sum % signal.channels, begin = sum / signal.channels * signal.integrate;
    const std::int64_t end = min(begin + signal.integrate, signal.times);
    const std::int64_t first = channel * signal.times * signal.inputs;
    std::int32_t found = 0;
    for (std::int64_t i = threadIdx.x; i < signal.inputs; i += threads) {
      bad[i] = 0;
      for (std::int64_t t = begin; t < end && bad[i] == 0; ++t)
        if (is_bad(signal, first + t * signal.inputs + i)) bad[i] = 1;
      if (bad[i] != 0) found = has_bad_sample;
    }
    __syncthreads();  // all inputs have been checked
    const auto sample = [&](std::int64_t t, std::int64_t i) {
      const std::int64_t index = first + t * signal.inputs + i;
      const bool counts = signal.flag == nullptr || signal.flag[index] == 0;
      return counts ? static_cast<const FloatPair*>(signal.signal)[index] : FloatPair{0, 0};
    };
    for (std::int64_t i = 0; i < signal.inputs; ++i)
      for (std::int64_t j = threadIdx.x; j <= i; j += threads) {
        FloatPair& to = v[baseline_of(i, j)];
        if (bad[i] != 0 || bad[j] != 0) {
          to = {NAN, NAN};
          continue;
        }
        if (isfinite(to.re) && isfinite(to.im)) continue;
        double re = 0, im = 0;
        for (std::int64_t t = begin; t < end; ++t) {
          const FloatPair x = sample(t, i), y = sample(t, j);
          re += static_cast<double>(x.re) * y.re + static_cast<double>(x.im) * y.im;
          im += static_cast<double>(x.im) * y.re - static_cast<double>(x.re) * y.im;
        }
        to = {static_cast<float>(re), static_cast<float>(im)};
        if (!(isfinite(to.re) && isfinite(to.im))) found |= leaves_range;
      }
    if (found != 0) atomicOr(info + channel, found);
    __syncthreads();  // no thread needs `bad` any longer
  }
}

/// Computes a channel's status from the findings.
struct StatusOfFindings {
  std::int32_t* info;

  __device__ void operator()(std::int64_t channel) const {
    const std::int32_t found = info[channel];
    info[channel] = (found & has_bad_sample) != 0 ? info_signal_not_finite
                    : (found & leaves_range) != 0 ? info_visibility_out_of_range
                                                  : 0;
  }
};

}  // namespace

cudaError_t launch_totals(const CorrelationSlices& slices, const void* of_slices, const VisibilityBatch& sums,
                          cudaStream_t stream) {
  const std::int64_t count = slices.integrations * slices.channels * baselines_of(slices.inputs);
  const auto add = [&]<class Pair, class Total, class Out>(Pair, Total, Out) {
    return launch_for_each_index(
        count,
        AddSlices<Pair, Total, Out>{slices, static_cast<const Pair*>(of_slices), static_cast<Out*>(sums.visibility)},
        stream);
  };
  if (sums.type == SumType::complex_float32) return add(FloatPair{}, double{}, FloatPair{});
  if (sums.type == SumType::complex_int32) return add(Int32Pair{}, std::int64_t{}, Int32Pair{});
  return add(Int32Pair{}, std::int64_t{}, Int64Pair{});
}

cudaError_t launch_status(const SignalBatch& signal, const VisibilityBatch& sums, cudaStream_t stream) {
  const auto channels = static_cast<std::size_t>(signal.channels);
  if (const auto status = cudaMemsetAsync(sums.info, 0, channels * sizeof(std::int32_t), stream); status != cudaSuccess)
    return status;
  if (signal.type != SampleType::complex_float32 || signal.times == 0) return cudaSuccess;
  const std::int64_t count = signal.integrations() * signal.channels;
  const auto visibility = static_cast<FloatPair*>(sums.visibility);
  if (const auto status =
          launch_for_each_index(count * signal.inputs, FindSuspects{signal, visibility, sums.info}, stream);
      status != cudaSuccess)
    return status;
  constexpr std::int64_t blocks = 1024;
  suspects_kernel<<<static_cast<unsigned>(std::min(count, blocks)), threads, 0, stream>>>(signal, visibility,
                                                                                          sums.info);
  if (const auto status = cudaGetLastError(); status != cudaSuccess) return status;
  return launch_for_each_index(signal.channels, StatusOfFindings{sums.info}, stream);
}

}  // namespace smallbatch
