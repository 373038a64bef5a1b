// g and -g' of the GPU's interactions, one pair at a time. They run on the host and, if there is one, on a GPU. Truths
// are formulas in long double. Built if there is CUDA.
#include "physics/charges/cuda/interaction.cuh"

#include <gtest/gtest.h>

#include <numbers>
#include <vector>

#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"
#include "tests/backends.hpp"
#include "tests/larger_or_nan.hpp"

namespace smallbatch::testing {
namespace {

class PairActions : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairActions, ::testing::Values(BackendKind::cpu, BackendKind::cuda),
                         backend_test_name);

template <class T, InteractionKind kind>
struct ActionOfPair {
  const T *rho2, *per_length;
  Action<T>* found;
  __host__ __device__ void operator()(std::int64_t i) const {
    found[i] = action<kind>(root_of(rho2[i]), per_length[i]);
  }
};

template <class T, InteractionKind kind>
std::vector<Action<T>> actions(bool on_device, const std::vector<T>& rho2, const std::vector<T>& per_length) {
  std::vector<Action<T>> found(rho2.size());
  if (!on_device) {
    const ActionOfPair<T, kind> pair{rho2.data(), per_length.data(), found.data()};
    for (std::size_t i = 0; i < rho2.size(); ++i) pair(static_cast<std::int64_t>(i));
    return found;
  }
  const Stream stream;
  DeviceMemory of_rho2, of_length, of_found;
  const ActionOfPair<T, kind> pair{copy_to_device(of_rho2, rho2.data(), rho2.size(), stream),
                                   copy_to_device(of_length, per_length.data(), rho2.size(), stream),
                                   of_found.reserve<Action<T>>(rho2.size())};
  check(launch_for_each_index(static_cast<std::int64_t>(rho2.size()), pair, stream.get()));
  copy_to_host(found.data(), pair.found, found.size(), stream);
  stream.synchronize();
  return found;
}

constexpr long double pi = std::numbers::pi_v<long double>;

/// Returns -g' of a Gaussian charge. Near the charge it uses P(3/2, x^2), a series without cancellation.
long double gaussian_force(long double r, long double a) {
  const long double x = a * r, density = 2 * a / std::sqrt(pi) * std::exp(-x * x);
  if (x > 1) return (std::erf(x) / r - density) / r;
  long double sum = 0, term = 2 * x * x / 3;
  for (int k = 1; k < 40; term *= 2 * x * x / (2 * ++k + 1)) sum += term;
  return density * sum / r;
}

/// Largest errors of g m and of -g' m^2, in roundings of T.
template <class T>
struct Worst {
  long double g = 0, force = 0;
  void add(const Action<T>& found, long double of_g, long double of_force, long double m, long double allowed) {
    const long double rounding = std::numeric_limits<T>::epsilon() / 2;
    g = larger_or_nan(g, std::abs(static_cast<long double>(found.g) - of_g) * m / allowed / rounding);
    force =
        larger_or_nan(force, std::abs(static_cast<long double>(found.force) - of_force) * m * m / allowed / rounding);
  }
};

template <class T>
void expect_exact(bool on_device) {
  std::vector<T> rho2, per_length;
  for (int i = 0; i < 900; ++i)
    for (int k = 0; k < 9; ++k) {
      const T rho = static_cast<T>(std::pow(1.03, i - 450));
      rho2.push_back(rho * rho);
      per_length.push_back(static_cast<T>(std::pow(3.0, k - 4)));
    }
  const auto of_screened = actions<T, InteractionKind::screened>(on_device, rho2, per_length);
  const auto of_gaussian = actions<T, InteractionKind::gaussian>(on_device, rho2, per_length);
  Worst<T> screened, gaussian;
  for (std::size_t i = 0; i < rho2.size(); ++i) {
    const long double rho = std::sqrt(static_cast<long double>(rho2[i])), a = per_length[i], x = a * rho;
    const long double g = std::exp(-x) / rho;
    if (x < 80) screened.add(of_screened[i], g, g * (1 / rho + a), rho, std::exp(-x) * (1 + x) * (1 + x));
    const long double m = std::max(rho, 1.25L / (std::sqrt(2.0L) * a));
    gaussian.add(of_gaussian[i], std::erf(x) / rho, gaussian_force(rho, a), m, 1);
  }
  EXPECT_LT(screened.g, 5);
  EXPECT_LT(screened.force, 8);
  EXPECT_LT(gaussian.g, 6);
  EXPECT_LT(gaussian.force, 10);
}

TEST_P(PairActions, AreExactToAFewRoundings) {
  expect_exact<float>(backend_.kind == BackendKind::cuda);
  expect_exact<double>(backend_.kind == BackendKind::cuda);
}

TEST_P(PairActions, OnOnePlaceAndOfPoints) {
  const bool on_device = backend_.kind == BackendKind::cuda;
  const auto found = actions<double, InteractionKind::gaussian>(on_device, {0, 4, 4}, {0.5, 0x1p511, 0});
  EXPECT_NEAR(found[0].g, 1 / std::sqrt(std::numbers::pi), 1e-16);
  EXPECT_EQ(found[0].force, 0);
  EXPECT_EQ(found[1].g, 0.5);  // a point
  EXPECT_EQ(found[1].force, 0.25);
  EXPECT_EQ(found[2].g, 0);  // its width is much larger than every distance
  EXPECT_EQ(found[2].force, 0);
}

}  // namespace
}  // namespace smallbatch::testing
