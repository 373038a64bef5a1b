// Sums over all pairs of two arrays on the device. Built if there is CUDA; skipped without a GPU. Truth: sums on the
// host, equal to the last bit if nothing is rounded.
#include "physics/pair_sum.cuh"

#include <gtest/gtest.h>

#include <numeric>

#include "core/device_cuda.hpp"
#include "tests/backends.hpp"
#include "tests/physics/pair_functions.hpp"

namespace smallbatch::testing {
namespace {

class PairSumLaunch : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairSumLaunch, ::testing::Values(BackendKind::cuda), backend_test_name);

struct Product {
  constexpr float operator()(float x, float y) const { return x * y; }
};

template <class A, class B, class Pair>
double sum_on_device(const std::vector<A>& a, const std::vector<B>& b, const Pair& pair) {
  const auto rows = static_cast<std::int64_t>(a.size()), columns = static_cast<std::int64_t>(b.size());
  DeviceMemory of_rows, of_columns, workspace, result;
  const Stream stream;
  A* const device_a = of_rows.reserve<A>(a.size());
  B* const device_b = of_columns.reserve<B>(b.size());
  check(cudaMemcpy(device_a, a.data(), a.size() * sizeof(A), cudaMemcpyHostToDevice));
  check(cudaMemcpy(device_b, b.data(), b.size() * sizeof(B), cudaMemcpyHostToDevice));
  check(cudaDeviceSynchronize());  // small copies may end after the call, and the stream does not wait for them
  double* const sum = result.reserve<double>(1);
  check(pair_sum(device_a, rows, device_b, columns, pair,
                 workspace.reserve<char>(pair_sum_workspace_bytes(rows, columns)), sum, stream.get()));
  stream.synchronize();
  double value = 0;
  check(cudaMemcpy(&value, sum, sizeof(value), cudaMemcpyDeviceToHost));
  return value;
}

TEST_P(PairSumLaunch, AddsInTheHostsOrder) {
  for (const std::size_t rows : {1, 512, 513, 3000})
    for (const std::size_t columns : {1, 17, 1024, 1025, 5000}) {
      std::vector<float> a(rows), b(columns);
      for (std::size_t i = 0; i < rows; ++i) a[i] = 1.0F / static_cast<float>(i + 3);
      for (std::size_t j = 0; j < columns; ++j) b[j] = 0.1F * static_cast<float>(j % 97) - 3;
      const double on_host = pair_sum_on_host(a.data(), static_cast<std::int64_t>(rows), b.data(),
                                              static_cast<std::int64_t>(columns), Product{});
      // Compilers may round a product and a sum once or twice. Results agree to a few bits of a term, not to the last
      // bit.
      EXPECT_NEAR(sum_on_device(a, b, Product{}), on_host, 1e-6 * static_cast<double>(rows * columns));
      std::vector<float> whole(columns);
      for (std::size_t j = 0; j < columns; ++j) whole[j] = static_cast<float>(j % 97) - 48;
      std::vector<float> ones(rows, 1);
      EXPECT_EQ(sum_on_device(ones, whole, Product{}),
                pair_sum_on_host(ones.data(), static_cast<std::int64_t>(rows), whole.data(),
                                 static_cast<std::int64_t>(columns), Product{}));
    }
}

TEST_P(PairSumLaunch, LennardJonesIsTheHosts) {
  const std::vector<Atom> a = atoms(1, 700), b = atoms(2, 1300);
  const double on_host = pair_sum_on_host(a.data(), 700, b.data(), 1300, LennardJones{});
  const double on_device = sum_on_device(a, b, LennardJones{});
  EXPECT_NEAR(on_device, on_host, 1e-5 * std::abs(on_host));
  EXPECT_EQ(sum_on_device(a, b, LennardJones{}), on_device);
}

}  // namespace
}  // namespace smallbatch::testing
