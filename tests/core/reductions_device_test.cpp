// Reductions on the GPU have the bits of the host. Built only with CUDA; skipped without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "core/reductions.cuh"

namespace smallbatch {
namespace {

constexpr Reduction reductions[] = {Reduction::sum, Reduction::minimum, Reduction::maximum, Reduction::dot,
                                    Reduction::norm2};
constexpr Accumulation accumulations[] = {Accumulation::fast, Accumulation::float64, Accumulation::compensated};

template <class T>
class ReductionsCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = cuda_devices();
    if (list.devices.empty()) GTEST_SKIP() << "no GPU: " << list.why_none;
    stream_.emplace();
  }
  /// Fills two arrays with random numbers on both sides. On the device, they begin `shift` values after an aligned
  /// address.
  void fill(std::int64_t count, int shift = 0) {
    std::mt19937 engine(static_cast<unsigned>(count));
    std::normal_distribution<T> normal;
    x_.resize(static_cast<std::size_t>(count));
    y_.resize(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] = normal(engine);
      y_[i] = normal(engine);
    }
    upload(shift);
  }
  void upload(int shift = 0) {
    const auto copy = [&](DeviceMemory& memory, const std::vector<T>& values) {
      T* const to = memory.reserve<T>(values.size() + static_cast<std::size_t>(shift) + 1) + shift;
      check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
      check(cudaDeviceSynchronize());  // a small copy may end after the call, and streams do not wait for it
      return to;
    };
    device_x_ = copy(memory_x_, x_);
    device_y_ = copy(memory_y_, y_);
    result_ = memory_result_.reserve<double>(1);
    const std::size_t bytes = reduction_workspace_bytes(count());
    workspace_ = memory_workspace_.reserve<char>(bytes);
    check(cudaMemset(workspace_, 0, bytes));
    check(cudaDeviceSynchronize());
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(x_.size()); }
  cudaError_t launch(Reduction reduction, Accumulation accumulation, unsigned blocks = 0) {
    return launch_reduction(reduction, accumulation, device_x_, device_y_, count(), result_, workspace_, stream_->get(),
                            blocks);
  }
  std::uint64_t bits(Reduction reduction, Accumulation accumulation, unsigned blocks = 0) {
    double result = -1;
    check(cudaMemset(result_, 0xff, sizeof(double)));
    check(cudaDeviceSynchronize());
    check(launch(reduction, accumulation, blocks));
    stream_->synchronize();
    check(cudaMemcpy(&result, result_, sizeof(double), cudaMemcpyDeviceToHost));
    return std::bit_cast<std::uint64_t>(result);
  }
  [[nodiscard]] std::uint64_t bits_of_host(Reduction reduction, Accumulation accumulation) const {
    return std::bit_cast<std::uint64_t>(reduce(reduction, accumulation, x_.data(), y_.data(), count()));
  }

  std::vector<T> x_, y_;
  T *device_x_ = nullptr, *device_y_ = nullptr;
  double* result_ = nullptr;
  char* workspace_ = nullptr;
  DeviceMemory memory_x_, memory_y_, memory_result_, memory_workspace_;
  std::optional<Stream> stream_;  // only with a GPU
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReductionsCuda, Types);

TYPED_TEST(ReductionsCuda, BitsAreThoseOfTheHost) {
  for (const std::int64_t count : {0, 1, 3, 513, 1024, 4095, 4097, 100'003, 1 << 20, (1 << 25) + 1}) {
    this->fill(count);
    for (const Reduction reduction : reductions)
      for (const Accumulation accumulation : accumulations)
        EXPECT_EQ(this->bits(reduction, accumulation), this->bits_of_host(reduction, accumulation))
            << count << " values, reduction " << static_cast<int>(reduction) << ", accumulation "
            << static_cast<int>(accumulation);
  }
}

TYPED_TEST(ReductionsCuda, BlocksAndLaunchesDoNotMatter) {
  this->fill(777'777);
  for (const Accumulation accumulation : accumulations) {
    const std::uint64_t expected = this->bits_of_host(Reduction::dot, accumulation);
    for (const unsigned blocks : {1, 2, 7, 100, 1 << 20, 0, 0})
      EXPECT_EQ(this->bits(Reduction::dot, accumulation, blocks), expected);
  }
}

TYPED_TEST(ReductionsCuda, AlignmentDoesNotMatter) {
  for (const int shift : {1, 2, 3}) {
    this->fill(50'003, shift);
    for (const Reduction reduction : {Reduction::sum, Reduction::dot})
      EXPECT_EQ(this->bits(reduction, Accumulation::fast), this->bits_of_host(reduction, Accumulation::fast));
  }
}

TYPED_TEST(ReductionsCuda, WhatIsNotANumberOrInfiniteIsAsOnTheHost) {
  this->fill(9000);
  for (const TypeParam value :
       {std::numeric_limits<TypeParam>::quiet_NaN(), -std::numeric_limits<TypeParam>::quiet_NaN(),
        std::numeric_limits<TypeParam>::infinity(), std::numeric_limits<TypeParam>::max(),
        std::numeric_limits<TypeParam>::denorm_min(), TypeParam(-0.0)})
    for (const std::size_t at : {0UL, 4500UL, 8999UL}) {
      this->x_[at] = value;
      this->upload();
      for (const Reduction reduction : reductions)
        for (const Accumulation accumulation : accumulations)
          EXPECT_EQ(this->bits(reduction, accumulation), this->bits_of_host(reduction, accumulation)) << value;
    }
}

TYPED_TEST(ReductionsCuda, OneLaunchIsOneKernel) {
  this->fill(1 << 20);
  for (const Reduction reduction : reductions) {
    cudaGraph_t graph = nullptr;
    std::size_t nodes = 0;
    check(cudaStreamBeginCapture(this->stream_->get(), cudaStreamCaptureModeThreadLocal));
    check(this->launch(reduction, Accumulation::fast));
    check(cudaStreamEndCapture(this->stream_->get(), &graph));
    check(cudaGraphGetNodes(graph, nullptr, &nodes));
    check(cudaGraphDestroy(graph));
    EXPECT_EQ(nodes, 1U);
  }
}

TYPED_TEST(ReductionsCuda, ANegativeNumberOfValuesIsRefused) {
  EXPECT_EQ(launch_reduction<TypeParam>(Reduction::sum, Accumulation::fast, nullptr, nullptr, -1, nullptr, nullptr,
                                        this->stream_->get()),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace smallbatch
