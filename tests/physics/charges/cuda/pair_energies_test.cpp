// Launches for device pointers: invalid arguments. Built if there is CUDA; skipped without a GPU.
#include "physics/pair_energies.cuh"

#include <gtest/gtest.h>

#include <functional>

#include "core/device_cuda.hpp"
#include "tests/physics/pair_energy_cases.hpp"

namespace smallbatch::testing {
namespace {

class PairEnergyLaunches : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PairEnergyLaunches, ::testing::Values(BackendKind::cuda), backend_test_name);

/// A problem on the device, with room for its energies.
struct DeviceProblem {
  explicit DeviceProblem(const Problem& problem) : charge_count(static_cast<std::int64_t>(problem.charge.size())) {
    const std::vector<std::int64_t> offset{0, charge_count};
    charges = {1, copy(offset_, offset), copy(position_, problem.position), copy(charge_, problem.charge)};
    result = {energy_.reserve<double>(1), info_.reserve<std::int32_t>(1)};
    workspace = workspace_.reserve<char>(pair_energies_workspace_bytes(1, charge_count));
  }
  [[nodiscard]] cudaError_t launch() const {
    return pair_energies(charges, charge_count, options, result, workspace, stream_.get());
  }
  [[nodiscard]] double energy() const {
    stream_.synchronize();
    double value = 0;
    check(cudaMemcpy(&value, result.energy, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
  }

  ChargeBatch charges;
  std::int64_t charge_count;
  PairEnergyOptions options;
  PairEnergyResult result;
  void* workspace = nullptr;

 private:
  template <class Number>
  static const Number* copy(DeviceMemory& memory, const std::vector<Number>& from) {
    auto* const to = memory.reserve<Number>(from.size());
    check(cudaMemcpy(to, from.data(), from.size() * sizeof(Number), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // a small copy may end after the call, and streams do not wait for it
    return to;
  }
  Stream stream_;
  DeviceMemory offset_, position_, charge_, energy_, info_, workspace_;
};

TEST_P(PairEnergyLaunches, RefuseWhatTheyCanSeeToBeWrong) {
  const auto expect_refused = [](const char* what, const std::function<void(DeviceProblem&)>& change) {
    DeviceProblem device(some_charges(995, 40, false));
    check(cudaMemset(device.result.energy, 0, sizeof(double)));
    const double* const energy = device.result.energy;
    change(device);
    EXPECT_EQ(device.launch(), cudaErrorInvalidValue) << what;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << what;
    device.result.energy = const_cast<double*>(energy);
    EXPECT_EQ(device.energy(), 0) << what;  // nothing was launched
  };
  expect_refused("a count below 0", [](auto& d) { d.charges.count = -1; });
  expect_refused("charges below 0", [](auto& d) { d.charge_count = -1; });
  expect_refused("no offsets", [](auto& d) { d.charges.offset = nullptr; });
  expect_refused("no positions", [](auto& d) { d.charges.position = nullptr; });
  expect_refused("no charges", [](auto& d) { d.charges.charge = nullptr; });
  expect_refused("no energy", [](auto& d) { d.result.energy = nullptr; });
  expect_refused("no info", [](auto& d) { d.result.info = nullptr; });
  expect_refused("no workspace", [](auto& d) { d.workspace = nullptr; });
  expect_refused("a softening below 0", [](auto& d) { d.options.softening = -1; });
  expect_refused("a screening length below 0", [](auto& d) { d.options.screening_length = -1; });
  expect_refused("widths and a softening", [](auto& d) {
    d.charges.width = d.charges.charge;
    d.options.softening = 1;
  });
  expect_refused("a cut-off that is a NaN", [](auto& d) { d.options.cutoff = NAN; });
}

TEST_P(PairEnergyLaunches, GiveWhatTheOtherBackendsGive) {
  for (const std::int64_t count : {0, 2, 300, 9000}) {
    const Problem problem = some_charges(996, count, false);
    const DeviceProblem device(problem);
    ASSERT_EQ(device.launch(), cudaSuccess);
    PairEnergyBlock block = block_of({problem}, false, false);
    make_pair_energy({BackendKind::cpu})->evaluate(block.charges(), {}, block.result());
    const double bound = 2 * static_cast<double>(pair_truth(problem, {}).bound);
    EXPECT_LE(error_over_bound(device.energy(), block.energy[0], bound), 1) << count;
  }
}

}  // namespace
}  // namespace smallbatch::testing
