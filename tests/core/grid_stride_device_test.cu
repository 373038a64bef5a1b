// One functor gives equal results as a kernel of any grid size, as a plain loop and on several threads. Built only with
// CUDA; skipped without a GPU.
#include <gtest/gtest.h>

#include <vector>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"

namespace smallbatch {
namespace {

/// Records how often each index is visited, and the result of its arithmetic.
struct Walk {
  const float* x;
  float* y;
  int* visits;
  constexpr void operator()(std::int64_t i) const {
    y[i] = 0.5F * x[i] + static_cast<float>(i % 1000);
    ++visits[i];
  }
};

struct Answer {
  std::vector<float> y;
  std::vector<int> visits;
  bool operator==(const Answer&) const = default;
};

class GridStrideCuda : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    const DeviceList list = cuda_devices();
    if (list.devices.empty()) GTEST_SKIP() << "no GPU: " << list.why_none;
    for (std::int64_t i = 0; i < GetParam(); ++i) x_.push_back(static_cast<float>(i % 77));
  }
  [[nodiscard]] Answer on_host(unsigned threads) const {
    Answer answer{std::vector<float>(x_.size()), std::vector<int>(x_.size())};
    const Walk walk{x_.data(), answer.y.data(), answer.visits.data()};
    if (threads == 1)
      for_each_index(GetParam(), walk);
    else
      for_each_index_on_threads(GetParam(), 100, threads, walk);
    return answer;
  }
  [[nodiscard]] Answer on_device(Grid grid) const {
    DeviceMemory memory_x, memory_y, memory_visits;
    auto* x = memory_x.reserve<float>(x_.size() + 1);
    auto* y = memory_y.reserve<float>(x_.size() + 1);
    auto* visits = memory_visits.reserve<int>(x_.size() + 1);
    check(cudaMemcpy(x, x_.data(), x_.size() * sizeof(float), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // a small copy may end after the call, and streams do not wait for it
    check(cudaMemset(y, 0xff, x_.size() * sizeof(float)));
    check(cudaMemset(visits, 0, x_.size() * sizeof(int)));
    check(cudaDeviceSynchronize());
    const Stream stream;
    check(launch_for_each_index(GetParam(), Walk{x, y, visits}, stream.get(), grid));
    stream.synchronize();
    Answer answer{std::vector<float>(x_.size()), std::vector<int>(x_.size())};
    check(cudaMemcpy(answer.y.data(), y, x_.size() * sizeof(float), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(answer.visits.data(), visits, x_.size() * sizeof(int), cudaMemcpyDeviceToHost));
    return answer;
  }
  std::vector<float> x_;
};

TEST_P(GridStrideCuda, EverySideDoesTheSame) {
  const Answer expected = on_host(1);
  EXPECT_EQ(expected.visits, std::vector<int>(x_.size(), 1));
  EXPECT_EQ(on_host(3), expected);
  for (const Grid grid : {Grid{}, one_thread, Grid{1, 32}, Grid{5, 96}, Grid{1000, 256}})
    EXPECT_EQ(on_device(grid), expected) << grid.blocks << " blocks of " << grid.threads;
}

INSTANTIATE_TEST_SUITE_P(Counts, GridStrideCuda, ::testing::Values(0, 1, 255, 257, 100'003));

}  // namespace
}  // namespace smallbatch
