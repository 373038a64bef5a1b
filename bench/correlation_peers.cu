#include <cublas_v2.h>

#include <stdexcept>
#include <string>

#include "bench/correlation_steps.hpp"
#include "core/grid_stride.cuh"

namespace smallbatch {

namespace {

using Signals = std::shared_ptr<const SignalsToCorrelate>;

void check_vendor(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS failed (status " + std::to_string(status) +
                             "). Its documentation says what that means");
}

struct Complex {
  float re, im;
};
struct Integers {
  std::int32_t re, im;
};

/// Transposes (channel, time, part) to (channel, part, time). Parts are the real and imaginary parts of all inputs.
struct Transpose {
  const std::int8_t* from;
  std::int8_t* to;
  std::int64_t times, parts;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t part = k % parts, time = k / parts % times, channel = k / parts / times;
    to[(channel * parts + part) * times + time] = from[k];
  }
};

/// Finds the inputs i and j of a baseline.
__device__ void find_inputs(std::int64_t baseline, std::int64_t& i, std::int64_t& j) {
  i = static_cast<std::int64_t>((sqrt(8.0 * static_cast<double>(baseline) + 1) - 1) / 2);
  if (baseline_of(i, 0) > baseline) --i;
  if (baseline_of(i + 1, 0) <= baseline) ++i;
  j = baseline - baseline_of(i, 0);
}

/// Gathers the visibilities of all baselines from products, which are whole matrices stored by columns.
struct GatherComplex {
  const Complex* product;
  Complex* visibility;
  std::int64_t inputs;
  __device__ void operator()(std::int64_t k) const {
    std::int64_t i, j;
    find_inputs(k % baselines_of(inputs), i, j);
    visibility[k] = product[(k / baselines_of(inputs) * inputs + j) * inputs + i];
    if (i == j) visibility[k].im = 0;
  }
};
struct GatherIntegers {
  const std::int32_t* product;
  Integers* visibility;
  std::int64_t inputs;
  __device__ void operator()(std::int64_t k) const {
    std::int64_t i, j;
    find_inputs(k % baselines_of(inputs), i, j);
    const std::int32_t* const of = product + k / baselines_of(inputs) * 4 * inputs * inputs;
    const auto at = [&](std::int64_t row, std::int64_t column) { return of[column * 2 * inputs + row]; };
    visibility[k] = {at(2 * i, 2 * j) + at(2 * i + 1, 2 * j + 1), at(2 * i + 1, 2 * j) - at(2 * i, 2 * j + 1)};
  }
};

/// A cuBLAS handle, and arrays for its operands and results.
class Vendor {
 public:
  explicit Vendor(Signals of) : signals(std::move(of)) {
    check_vendor(cublasCreate(&handle));
    const SignalBatch& batch = signals->batch;
    const auto entries = static_cast<std::size_t>(batch.channels * batch.inputs * batch.inputs);
    if (batch.type == SampleType::complex_float32) {
      product = memory_product_.reserve<Complex>(entries);
      return;
    }
    product = memory_product_.reserve<std::int32_t>(4 * entries);
    transposed = memory_transposed_.reserve<std::int8_t>(static_cast<std::size_t>(2 * batch.samples()));
    const Transpose transpose{static_cast<const std::int8_t*>(batch.signal), transposed, batch.times, 2 * batch.inputs};
    check(launch_for_each_index(2 * batch.samples(), transpose, cudaStreamLegacy));
    check(cudaDeviceSynchronize());
  }
  ~Vendor() { cublasDestroy(handle); }
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  const Signals signals;
  cublasHandle_t handle = nullptr;
  void* product = nullptr;
  std::int8_t* transposed = nullptr;

 private:
  DeviceMemory memory_product_, memory_transposed_;
};

void multiply_complex(const Vendor& vendor, cudaStream_t stream) {
  const SignalBatch& batch = vendor.signals->batch;
  const auto n = static_cast<int>(batch.inputs), times = static_cast<int>(batch.times);
  const auto x = static_cast<const cuComplex*>(batch.signal);
  const cuComplex one{1, 0}, zero{0, 0};
  check_vendor(cublasSetStream(vendor.handle, stream));
  check_vendor(cublasCgemmStridedBatched(vendor.handle, CUBLAS_OP_N, CUBLAS_OP_C, n, n, times, &one, x, n,
                                         std::int64_t{n} * times, x, n, std::int64_t{n} * times, &zero,
                                         static_cast<cuComplex*>(vendor.product), n, std::int64_t{n} * n,
                                         static_cast<int>(batch.channels)));
}

void update_each(const Vendor& vendor, cudaStream_t stream) {
  const SignalBatch& batch = vendor.signals->batch;
  const auto n = static_cast<int>(batch.inputs), times = static_cast<int>(batch.times);
  const float one = 1, zero = 0;
  check_vendor(cublasSetStream(vendor.handle, stream));
  for (std::int64_t c = 0; c < batch.channels; ++c)
    check_vendor(cublasCherk(vendor.handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, times, &one,
                             static_cast<const cuComplex*>(batch.signal) + c * n * times, n, &zero,
                             static_cast<cuComplex*>(vendor.product) + c * n * n, n));
}

void multiply_integers(const Vendor& vendor, cudaStream_t stream) {
  const SignalBatch& batch = vendor.signals->batch;
  const auto n = static_cast<int>(2 * batch.inputs), times = static_cast<int>(batch.times);
  const std::int32_t one = 1, zero = 0;
  check_vendor(cublasSetStream(vendor.handle, stream));
  check_vendor(cublasGemmStridedBatchedEx(
      vendor.handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, times, &one, vendor.transposed, CUDA_R_8I, times,
      std::int64_t{n} * times, vendor.transposed, CUDA_R_8I, times, std::int64_t{n} * times, &zero, vendor.product,
      CUDA_R_32I, n, std::int64_t{n} * n, static_cast<int>(batch.channels), CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
}

void gather(const Vendor& vendor, cudaStream_t stream) {
  const SignalBatch& batch = vendor.signals->batch;
  void* const to = vendor.signals->sums.visibility;
  if (batch.type == SampleType::complex_float32)
    check(launch_for_each_index(
        batch.visibilities(),
        GatherComplex{static_cast<const Complex*>(vendor.product), static_cast<Complex*>(to), batch.inputs}, stream));
  else
    check(launch_for_each_index(
        batch.visibilities(),
        GatherIntegers{static_cast<const std::int32_t*>(vendor.product), static_cast<Integers*>(to), batch.inputs},
        stream));
}

Step vendor_step(const std::shared_ptr<const Vendor>& vendor, std::string name, std::string idea,
                 void (*launch)(const Vendor&, cudaStream_t)) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.vendor = true;
  step.launch = [vendor, launch](cudaStream_t stream) { launch(*vendor, stream); };
  step.finish = [vendor](cudaStream_t stream) { gather(*vendor, stream); };
  return step;
}

}  // namespace

std::vector<Step> correlation_peers(const Signals& signals) {
  const auto vendor = std::make_shared<const Vendor>(signals);
  if (signals->batch.type != SampleType::complex_float32)
    return {vendor_step(vendor, "cublas_gemm_int8",
                        "the vendor's library: a real matrix of twice the size, both triangles, from a transposed copy",
                        multiply_integers)};
  return {
      vendor_step(vendor, "cublas_cgemm_batched", "the vendor's library: both triangles, all channels in one call",
                  multiply_complex),
      vendor_step(vendor, "cublas_cherk", "the vendor's library: one triangle, a call for each channel", update_each)};
}

}  // namespace smallbatch
