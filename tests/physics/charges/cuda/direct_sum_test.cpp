// Launches for device pointers: invalid arguments, and sizes that the host does not know. Built if there is CUDA;
// skipped without a GPU.
#include "physics/direct_sum.cuh"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/device_cuda.hpp"
#include "tests/backends.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {
namespace {

/// A batch on the device, with room for all results.
template <class T>
class DeviceBatch {
 public:
  explicit DeviceBatch(const Batch& batch) {
    const ChargeBatch from = batch.charges();
    const std::int64_t count = from.count;
    charges = {count,
               copy(offset_, batch.offset),
               copy(position_, batch.position),
               copy(charge_, batch.charge),
               copy(group_, batch.group),
               from.width == nullptr ? nullptr : copy(width_, batch.width)};
    sizes.charges = batch.offset.back() - batch.offset.front();
    std::int64_t values = sizes.charges, summaries = count;
    targets = batch.targets();
    if (targets.kind == TargetKind::lattice) {
      targets.lattice.origin = copy(origin_, batch.origin);
      targets.lattice.spacing = copy(spacing_, batch.spacing);
      sizes.smallest_spacing = *std::min_element(batch.spacing.begin(), batch.spacing.end());
      values = count * batch.where.shape.points();
      summaries = count * batch.where.shape.nz;
    } else if (targets.kind == TargetKind::points) {
      targets.points = {copy(point_offset_, batch.point_offset), copy(point_, batch.point)};
      values = sizes.points = batch.point_offset.back() - batch.point_offset.front();
    }
    values_ = static_cast<std::size_t>(values);
    result.potential = potential_.reserve<T>(values_);
    result.info = info_.reserve<std::int32_t>(static_cast<std::size_t>(count));
    result.field = field_.reserve<T>(3 * values_);
    result.summary = summary_.reserve<PotentialSummary>(static_cast<std::size_t>(summaries));
    result.energy = energy_.reserve<double>(static_cast<std::size_t>(count));
    workspace = workspace_.reserve<char>(direct_sum_workspace_bytes(charges, targets, sizes, result));
  }

  [[nodiscard]] cudaError_t launch(const PotentialOptions& options = {}) const {
    return direct_sum(charges, targets, sizes, options, result, workspace, stream_.get());
  }
  /// Copies the results from the device.
  [[nodiscard]] Answer<T> answer() const {
    stream_.synchronize();
    Answer<T> answer;
    answer.potential.resize(values_);
    answer.field.resize(3 * values_);
    answer.info.resize(static_cast<std::size_t>(charges.count));
    fetch(answer.potential, result.potential);
    fetch(answer.field, result.field);
    fetch(answer.info, result.info);
    return answer;
  }

  ChargeBatch charges;
  TargetBatch targets;
  DirectSumSizes sizes;
  PotentialResult<T> result;
  void* workspace = nullptr;

 private:
  template <class Number>
  static const Number* copy(DeviceMemory& memory, const std::vector<Number>& from) {
    auto* const to = memory.reserve<Number>(from.size());
    check(cudaMemcpy(to, from.data(), from.size() * sizeof(Number), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // a small copy may end after the call, and streams do not wait for it
    return to;
  }
  template <class Number>
  static void fetch(std::vector<Number>& to, const Number* from) {
    check(cudaMemcpy(to.data(), from, to.size() * sizeof(Number), cudaMemcpyDeviceToHost));
  }

  std::size_t values_ = 0;
  Stream stream_;
  DeviceMemory offset_, position_, charge_, group_, width_, origin_, spacing_, point_offset_, point_;
  DeviceMemory potential_, info_, field_, summary_, energy_, workspace_;
};

class DirectSum : public BackendTest {
 protected:
  static Problem problem() {
    Problem problem = random_problem(701, 40, 3);
    add_random_points(problem, 702, 30, 3);
    problem.group.assign(40, 1);
    return problem;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, DirectSum, ::testing::Values(BackendKind::cuda), backend_test_name);

TEST_P(DirectSum, RefusesWhatItCanSeeToBeWrong) {
  const Batch on_lattices({4, 3, 2}, {problem(), problem()}), on_points(at_points, {problem()}),
      on_charges(at_charges, {problem()});
  using Change = std::function<void(DeviceBatch<float>&)>;
  const auto expect_refused = [](const Batch& batch, const char* what, const Change& change) {
    DeviceBatch<float> device(batch);
    check(cudaMemset(device.result.info, 0x55, sizeof(std::int32_t)));
    std::int32_t* const info = device.result.info;
    change(device);
    EXPECT_EQ(device.launch(), cudaErrorInvalidValue) << what;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << what;
    std::int32_t found = 0;
    check(cudaMemcpy(&found, info, sizeof(found), cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, 0x55555555) << what;  // nothing was launched
  };
  const auto everywhere = [&](const char* what, const Change& change) {
    for (const Batch* batch : {&on_lattices, &on_points, &on_charges}) expect_refused(*batch, what, change);
  };
  everywhere("a count below 0", [](auto& d) { d.charges.count = -1; });
  everywhere("charges below 0", [](auto& d) { d.sizes.charges = -1; });
  everywhere("points below 0", [](auto& d) { d.sizes.points = -1; });
  everywhere("no offsets", [](auto& d) { d.charges.offset = nullptr; });
  everywhere("no positions", [](auto& d) { d.charges.position = nullptr; });
  everywhere("no charges", [](auto& d) { d.charges.charge = nullptr; });
  everywhere("no groups", [](auto& d) { d.charges.group = nullptr; });
  everywhere("no potential", [](auto& d) { d.result.potential = nullptr; });
  everywhere("no info", [](auto& d) { d.result.info = nullptr; });
  everywhere("no workspace", [](auto& d) { d.workspace = nullptr; });
  expect_refused(on_points, "no offsets of points", [](auto& d) { d.targets.points.offset = nullptr; });
  expect_refused(on_points, "no points", [](auto& d) { d.targets.points.position = nullptr; });
  const auto on_lattice = [&](const char* what, const Change& change) { expect_refused(on_lattices, what, change); };
  on_lattice("no origin", [](auto& d) { d.targets.lattice.origin = nullptr; });
  on_lattice("no spacing", [](auto& d) { d.targets.lattice.spacing = nullptr; });
  on_lattice("no planes", [](auto& d) { d.targets.lattice.plane_count = 0; });
  on_lattice("planes below 0", [](auto& d) { d.targets.lattice.plane_count = -1; });
  on_lattice("a first plane below 0", [](auto& d) { d.targets.lattice.first_plane = -1; });
  on_lattice("planes beyond the last", [](auto& d) { d.targets.lattice.first_plane = 1; });
  on_lattice("no points", [](auto& d) { d.targets.lattice.shape.nx = 0; });
  on_lattice("points below 0", [](auto& d) { d.targets.lattice.shape.ny = -3; });
  on_lattice("too many points", [](auto& d) { d.targets.lattice.shape = {1LL << 40, 1LL << 30, 2}; });
  on_lattice("a spacing below 0", [](auto& d) { d.sizes.smallest_spacing = -1; });
  on_lattice("a spacing that is a NaN", [](auto& d) { d.sizes.smallest_spacing = NAN; });
}

TEST_P(DirectSum, RefusesOptionsThatMakeNoSense) {
  const Batch batch({4, 3, 2}, {problem()});
  const DeviceBatch<double> device(batch);
  for (const double bad : {-1.0, 1e-163, 1e-200, 1e200, infinity, static_cast<double>(NAN)})
    EXPECT_EQ(device.launch({Singular::infinite, 1, bad, 0}), cudaErrorInvalidValue) << bad;
  for (const double bad : {-1.0, infinity, static_cast<double>(NAN)})
    EXPECT_EQ(device.launch({Singular::infinite, 1, 0, bad}), cudaErrorInvalidValue) << bad;
  for (const double bad : {infinity, static_cast<double>(NAN)})
    EXPECT_EQ(device.launch({Singular::infinite, bad}), cudaErrorInvalidValue) << bad;
  for (const double bad : {-1.0, 1e-163, 1e200, infinity, static_cast<double>(NAN)})
    EXPECT_EQ(device.launch({Singular::infinite, 1, 0, 0, bad}), cudaErrorInvalidValue) << bad;
  EXPECT_EQ(device.launch({Singular::infinite, 1, 1e-150, 0}), cudaSuccess);
  EXPECT_EQ(device.launch(), cudaSuccess);
  Problem gaussian = problem();
  gaussian.width.assign(gaussian.charge.size(), 1);
  const Batch of_gaussians({4, 3, 2}, {gaussian});
  const DeviceBatch<double> gaussians(of_gaussians);
  EXPECT_EQ(gaussians.launch({Singular::infinite, 1, 0.5}), cudaErrorInvalidValue);
  EXPECT_EQ(gaussians.launch({Singular::infinite, 1, 0, 0, 0.5}), cudaErrorInvalidValue);
  EXPECT_EQ(gaussians.launch(), cudaSuccess);
}

TEST_P(DirectSum, OfNothingNeedsNoPointers) {
  EXPECT_EQ(direct_sum<float>({}, TargetBatch{}, {}, {}, {}, nullptr, nullptr), cudaSuccess);
  const Batch batch(at_points, {Problem{}});
  DeviceBatch<float> device(batch);
  device.charges.position = device.charges.charge = device.targets.points.position = nullptr;
  device.result = {nullptr, device.result.info};
  device.workspace = nullptr;
  EXPECT_EQ(device.launch(), cudaSuccess);
}

TEST_P(DirectSum, AnUnknownSpacingChangesNothing) {
  Problem tiny = problem(), small = problem();
  for (Problem* p : {&tiny, &small})
    for (double& x : p->position) x *= p == &tiny ? 1e-90 : 1e-21;
  tiny.origin = small.origin = {0, 0, 0};
  tiny.spacing = {1e-90, 1e-90, 1e-90};
  small.spacing = {1e-21, 1e-21, 1e-21};
  const Batch batch({4, 3, 2}, {problem(), tiny, small, problem()});
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    DeviceBatch<T> device(batch);
    ASSERT_EQ(device.launch({Singular::skip, 14.4}), cudaSuccess);
    const Answer<T> known = device.answer();
    EXPECT_EQ(known.info[0], 0);
    EXPECT_EQ(known.info[2], sizeof(T) == 4 ? info_values_out_of_range : 0);
    device.sizes.smallest_spacing = 0;
    ASSERT_EQ(device.launch({Singular::skip, 14.4}), cudaSuccess);
    const Answer<T> unknown = device.answer();
    EXPECT_EQ(unknown.info, known.info);
    EXPECT_TRUE(same_bits(unknown.potential, known.potential));
    EXPECT_TRUE(same_bits(unknown.field, known.field));
  });
}

}  // namespace
}  // namespace smallbatch::testing
