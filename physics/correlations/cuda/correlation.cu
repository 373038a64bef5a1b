// Enqueues the kernels of a correlation, and divides the workspace into parts.
#include "physics/correlation.cuh"

#include <algorithm>

#include "physics/correlations/cuda/kernels.cuh"

namespace smallbatch {

namespace {

/// Maximum number of times in one sum of products. For float32, physics/correlation.hpp promises this limit. For int8,
/// the limit keeps int32 sums from overflowing. Both limits are multiples of 8, so no slice ends between times that are
/// read at once.
constexpr std::int64_t most_times(SampleType type) { return type == SampleType::complex_float32 ? 1024 : 65280; }

/// Offsets of the parts of the workspace, in bytes.
struct Layout {
  bool is_prepared = false, has_slices = false;
  std::int64_t to_inputs = 0;
  CorrelationSlices slices;
  std::size_t signal = 0, sums = 0, reals = 0, mask = 0, end = 0;
};

std::size_t place(std::size_t& end, std::int64_t bytes) {
  const std::size_t begin = end;
  end += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
  return begin;
}

Layout layout_of(const SignalBatch& signal, const VisibilityBatch& sums) {
  Layout layout;
  const bool is_float = signal.type == SampleType::complex_float32;
  const std::int64_t bytes = is_float ? 8 : 2, in_chunk = 16 / bytes;
  CorrelationSlices& slices = layout.slices;
  // For 1, 2 and 4 inputs, several times are read at once if no sum ends between them. The choice depends on
  // `integrate`, not on the number of times. A shorter last integration is filled up with zeros. The bits of float32
  // sums are therefore the same with and without a shorter last integration.
  if (const std::int64_t groups = 8 / std::max<std::int64_t>(1, signal.inputs);
      (signal.inputs == 1 || signal.inputs == 2 || signal.inputs == 4) && signal.integrate % groups == 0)
    slices.groups = static_cast<int>(groups);
  slices.channels = signal.channels;
  slices.times = (signal.times + slices.groups - 1) / slices.groups * slices.groups;
  slices.integrate = std::min(signal.integrate, slices.times);
  slices.integrations = signal.integrations();
  slices.slice = std::min(slices.integrate, most_times(signal.type));
  slices.slices = (slices.integrate + slices.slice - 1) / slices.slice;
  slices.inputs = static_cast<int>(signal.inputs);
  const bool fills_chunks = signal.inputs % in_chunk == 0 || slices.groups > 1;
  layout.is_prepared = signal.type == SampleType::complex_int4 || signal.flag != nullptr ||
                       slices.times != signal.times || !fills_chunks;
  layout.to_inputs = fills_chunks ? signal.inputs : (signal.inputs / in_chunk + 1) * in_chunk;
  slices.row_bytes = layout.to_inputs * bytes;
  const bool widens = sums.type == SumType::complex_int64;
  layout.has_slices = slices.slices > 1 || widens;
  const std::int64_t baselines = baselines_of(signal.inputs);
  layout.signal = place(layout.end, layout.is_prepared ? signal.channels * slices.times * slices.row_bytes : 0);
  layout.sums = place(layout.end, layout.has_slices ? slices.count() * baselines * 8 : 0);
  layout.reals = place(layout.end, !is_float && signal.inputs > 128 ? slices.count() * signal.inputs * 4 : 0);
  layout.mask = place(layout.end, signal.flag != nullptr && sums.weight != nullptr
                                      ? slices.integrations * signal.channels * mask_words(signal) * signal.inputs * 4
                                      : 0);
  return layout;
}

}  // namespace

std::size_t correlation_workspace_bytes(const SignalBatch& signal, const VisibilityBatch& sums) {
  return signal.channels == 0 || signal.times == 0 ? 0 : layout_of(signal, sums).end;
}

cudaError_t correlate(const SignalBatch& signal, const VisibilityBatch& sums, void* workspace, cudaStream_t stream) {
  if (signal.channels == 0) return cudaSuccess;
  if (signal.times == 0) return launch_status(signal, sums, stream);
  const Layout layout = layout_of(signal, sums);
  char* const bytes = static_cast<char*>(workspace);
  const void* from = signal.signal;
  cudaError_t status = cudaSuccess;
  if (layout.is_prepared) {
    from = bytes + layout.signal;
    status = launch_prepare_signal(signal, layout.slices.times, layout.to_inputs, bytes + layout.signal, stream);
  }
  void* const slices = layout.has_slices ? bytes + layout.sums : sums.visibility;
  if (status == cudaSuccess)
    status = launch_slices(signal.type, from, layout.slices, slices,
                           reinterpret_cast<std::int32_t*>(bytes + layout.reals), stream);
  if (status == cudaSuccess && layout.has_slices) status = launch_totals(layout.slices, slices, sums, stream);
  if (status == cudaSuccess && sums.weight != nullptr)
    status = launch_weights(signal, reinterpret_cast<std::uint32_t*>(bytes + layout.mask), sums.weight, stream);
  return status == cudaSuccess ? launch_status(signal, sums, stream) : status;
}

}  // namespace smallbatch
