// Layouts in device memory, with the same cases as on the host.
#include <cuda_runtime_api.h>

#include "core/device_cuda.hpp"
#include "solvers/layouts.cuh"
#include "tests/backends.hpp"
#include "tests/solvers/layout_cases.hpp"

namespace smallbatch::testing {
namespace {

/// Uploads memory, canonical numbers and pointers. Calls launch(array, canonical, stream), then downloads memory and
/// canonical numbers.
template <class M, class T, class Launch>
void on_device(const Layout& layout, std::vector<T>& memory, std::vector<T>& canonical, const Launch& launch) {
  const Stream stream;
  DeviceMemory memory_there, canonical_there, pointers_there;
  T* const user = memory_there.reserve<T>(memory.size());
  T* const other = canonical_there.reserve<T>(canonical.size());
  M** const at = pointers_there.reserve<M*>(layout.pointers.size() + 1);
  std::vector<M*> pointers(layout.pointers.size());
  const MatrixArray<M> array = layout.array<M>(user, pointers.data(), at);
  const auto copy = [&stream](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream.get()));
  };
  copy(user, memory.data(), memory.size() * sizeof(T), cudaMemcpyHostToDevice);
  copy(other, canonical.data(), canonical.size() * sizeof(T), cudaMemcpyHostToDevice);
  copy(at, pointers.data(), pointers.size() * sizeof(M*), cudaMemcpyHostToDevice);
  check(launch(array, other, stream.get()));
  copy(memory.data(), user, memory.size() * sizeof(T), cudaMemcpyDeviceToHost);
  copy(canonical.data(), other, canonical.size() * sizeof(T), cudaMemcpyDeviceToHost);
  stream.synchronize();
}

template <class T>
LayoutCopies<T> device_copies() {
  LayoutCopies<T> copies;
  copies.gather_matrices = [](int n, std::int64_t count, const Layout& layout, Triangle triangle,
                              std::vector<T>& memory, std::vector<T>& canonical) {
    on_device<const T>(layout, memory, canonical, [&](const auto& from, T* to, cudaStream_t stream) {
      return launch_gather_spd_matrices(n, count, from, triangle, to, stream);
    });
  };
  copies.scatter_inverses = [](int n, std::int64_t count, const Layout& layout, Triangle triangle,
                               std::vector<T>& memory, std::vector<T>& canonical) {
    on_device<T>(layout, memory, canonical, [&](const auto& to, const T* from, cudaStream_t stream) {
      return launch_scatter_spd_inverses(n, count, from, to, triangle, stream);
    });
  };
  copies.gather_rhs = [](int n, int nrhs, std::int64_t count, const Layout& layout, std::vector<T>& memory,
                         std::vector<T>& canonical) {
    on_device<const T>(layout, memory, canonical, [&](const auto& from, T* to, cudaStream_t stream) {
      return launch_gather_spd_rhs(n, nrhs, count, from, to, stream);
    });
  };
  copies.scatter_solutions = [](int n, int nrhs, std::int64_t count, const Layout& layout, std::vector<T>& memory,
                                std::vector<T>& canonical) {
    on_device<T>(layout, memory, canonical, [&](const auto& to, const T* from, cudaStream_t stream) {
      return launch_scatter_spd_solutions(n, nrhs, count, from, to, stream);
    });
  };
  return copies;
}

class LayoutsOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(LayoutsOnDevice, MatricesAreGathered) {
  expect_matrices_gathered(device_copies<float>());
  expect_matrices_gathered(device_copies<double>());
}

TEST_F(LayoutsOnDevice, RightHandSidesAreGatheredAndSolutionsScattered) {
  expect_right_hand_sides_gathered_and_solutions_scattered(device_copies<float>());
  expect_right_hand_sides_gathered_and_solutions_scattered(device_copies<double>());
}

TEST_F(LayoutsOnDevice, InversesAreScattered) {
  expect_inverses_scattered(device_copies<float>());
  expect_inverses_scattered(device_copies<double>());
}

TEST(LayoutLaunch, RefusesWhatMakesNoSense) {
  float memory[64] = {}, to[64] = {};
  const MatrixArray<const float> from{memory, nullptr, 16, 4, 1};
  EXPECT_EQ(launch_gather_spd_matrices(257, 1, from, Triangle::both, to, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_gather_spd_matrices<float>(4, 1, {}, Triangle::both, to, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_gather_spd_rhs<float>(4, 1, 1, from, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(launch_scatter_spd_solutions<float>(4, 2, 3, memory, {to, nullptr, 0, 2, 1}, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(launch_scatter_spd_inverses<float>(4, 3, memory, {to, nullptr, 9, 0, 0}, Triangle::packed_lower, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(launch_gather_spd_matrices(4, 0, from, Triangle::both, to, nullptr), cudaSuccess);
}

}  // namespace
}  // namespace smallbatch::testing
