// Launches for arrays on the device: refusals before anything runs, capture and replay, and calls from many threads.
// (The tests of all backends check the results, because the cuda solver uses these launches.) One file, because all
// tests create and release device arrays in the same way.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "core/device_cuda.hpp"
#include "solvers/cuda/kernels.cuh"
#include "solvers/spd_solver.cuh"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

/// Arrays on the host. All launches of these tests are refused, so no kernel reads them.
class SpdLaunch : public ::testing::Test {
 protected:
  cudaError_t launch() { return launch_spd_solve(batch_, solution_, options_, workspace_, nullptr); }

  alignas(256) std::byte space_[1024]{};
  std::byte* workspace_ = space_;
  std::vector<float> memory_ = std::vector<float>(4096, 1);
  std::vector<std::int32_t> info_ = std::vector<std::int32_t>(16, 77);
  SpdBatch<float> batch_{{4, 1, Storage::dense}, 3, memory_.data(), memory_.data() + 1024};
  SpdSolution<float> solution_{memory_.data() + 2048, info_.data()};
  SpdOptions options_;
};

TEST_F(SpdLaunch, RefusesSizesThatNoKernelIsFor) {
  for (const int n : {-1, 0, 257, std::numeric_limits<int>::max()}) {
    batch_.shape.n = n;
    EXPECT_EQ(launch(), cudaErrorInvalidValue) << n;
  }
}

TEST_F(SpdLaunch, RefusesCountsThatMakeNoSense) {
  batch_.shape.nrhs = -1;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.shape = {4, 1, Storage::dense, true};
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.shape = {4, 1, Storage::dense};
  batch_.count = -1;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  batch_.count = 0;
  EXPECT_EQ(launch(), cudaSuccess);
}

TEST_F(SpdLaunch, RefusesArraysThatAreNotThere) {
  const SpdBatch<float> batch = batch_;
  const SpdSolution<float> solution = solution_;
  const auto expect_refused = [&] {
    EXPECT_EQ(launch(), cudaErrorInvalidValue);
    batch_ = batch;
    solution_ = solution;
  };
  batch_.a = nullptr;
  expect_refused();
  batch_.b = nullptr;
  expect_refused();
  solution_.x = nullptr;
  expect_refused();
  solution_.info = nullptr;
  expect_refused();
}

TEST_F(SpdLaunch, RefusesStridesAndPlacesThatOverlap) {
  const SpdBatch<float> batch = batch_;
  const SpdSolution<float> solution = solution_;
  const auto expect_refused = [&] {
    EXPECT_EQ(launch(), cudaErrorInvalidValue);
    batch_ = batch;
    solution_ = solution;
  };
  batch_.a_stride = 15;
  expect_refused();
  batch_.b_stride = -2;
  expect_refused();
  solution_.x_stride = 0;
  expect_refused();
  solution_.x = memory_.data() + 40;  // x would overlap A
  expect_refused();
  solution_.x = const_cast<float*>(batch_.b);  // x would be written while b is read
  expect_refused();
}

TEST_F(SpdLaunch, RefusesFloorsThatAreNoFractions) {
  for (const double floor : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    options_.pivot_floor = floor;
    EXPECT_EQ(launch(), cudaErrorInvalidValue) << floor;
  }
}

TEST_F(SpdLaunch, RefusesAWorkspaceThatIsNotThereOrNotAligned) {
  workspace_ = nullptr;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
  workspace_ = space_ + 128;
  EXPECT_EQ(launch(), cudaErrorInvalidValue);
}

TEST_F(SpdLaunch, RefusesSizesThatNoKernelKnows) {
  const std::array<std::int32_t, 1> sizes{};  // not read, because the launch is refused
  batch_.shape.nrhs = 0;
  batch_.sizes = sizes.data();
  EXPECT_EQ(launch(), cudaErrorNotSupported);
}

TEST_F(SpdLaunch, NeedsNoMoreWorkspaceThanItSays) {
  for (const SpdShape& shape : {SpdShape{32, 1}, SpdShape{32, 0}, SpdShape{32, 0, Storage::dense, true}})
    for (const SpdMethod method : {SpdMethod::automatic, SpdMethod::gauss_jordan, SpdMethod::ldlt})
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 33}) {
        EXPECT_LT(spd_workspace_bytes<float>(shape, count, {method}), static_cast<std::size_t>(count) + 256);
        EXPECT_LT(spd_workspace_bytes<double>(shape, count, {method}), static_cast<std::size_t>(count) + 256);
      }
  EXPECT_EQ(spd_workspace_bytes<float>({32, 1}, 0, {}), 0U);
  EXPECT_EQ(spd_workspace_bytes<float>({65, 1}, 1000, {}), 0U);
  // Triangles that do not fit into shared memory need a workspace, for at most 256 systems at a time.
  EXPECT_LE(spd_workspace_bytes<double>({256, 1}, std::int64_t{1} << 33, {}), 256U * (280U << 10));
  EXPECT_LE(spd_factor_workspace_bytes<double>(256, std::int64_t{1} << 33), 256U * (280U << 10));
  EXPECT_EQ(spd_factor_workspace_bytes<double>(64, 1000), 0U);
}

TEST_F(SpdLaunch, FactorsThatNeedAWorkspaceAreRefusedWithoutOne) {
  constexpr int n = 256;
  if (spd_factor_workspace_bytes<double>(n, 1) == 0) GTEST_SKIP() << "the triangle fits into shared memory";
  std::vector<double> numbers(2 * n * n, 1);  // not read, because the launch is refused
  const SpdBatch<double> batch{{n, 0, Storage::dense}, 1, numbers.data(), nullptr};
  SpdFactors<double> factors;
  factors.factors = numbers.data() + n * n;
  factors.info = info_.data();
  EXPECT_EQ(launch_spd_factor(batch, factors, nullptr), cudaErrorNotSupported);
}

/// Numbers on the device, made from a vector and copied back to a vector.
template <class V>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count), data_(memory_.reserve<V>(std::max<std::size_t>(count, 1))) {}
  [[nodiscard]] V* data() const { return data_; }
  template <class Values>
  void upload(const Values& from) {
    check(cudaMemcpy(data_, from.data(), count_ * sizeof(V), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // cudaMemcpy may return before a small copy ends, and streams do not wait for it
  }
  template <class Values>
  void download(Values& to) const {
    check(cudaMemcpy(to.data(), data_, count_ * sizeof(V), cudaMemcpyDeviceToHost));
  }

 private:
  std::size_t count_;
  DeviceMemory memory_;
  V* data_;
};

/// A block's arrays on the device.
template <class T>
class DeviceBlock {
 public:
  DeviceBlock(const SpdBlock<T>& like, const SpdOptions& options)
      : options_(options),
        shape_(like.shape),
        count_(like.count),
        a_(like.a.size()),
        b_(like.b.size()),
        x_(like.x.size()),
        numbers_(4 * like.info.size()),
        log_determinant_(like.info.size()),
        info_(2 * like.info.size()),
        workspace_(spd_workspace_bytes<T>(shape_, count_, options)) {
    // Kernels must not rely on the contents of a new workspace.
    check(cudaMemset(workspace_.data(), 0x01, spd_workspace_bytes<T>(shape_, count_, options)));
    upload(like);
  }
  void upload(const SpdBlock<T>& from) {
    a_.upload(from.a);
    b_.upload(from.b);
    check(cudaDeviceSynchronize());  // streams that do not wait for the default stream must not start before the copies
  }
  void launch(cudaStream_t stream) const {
    const SpdSolution<T> solution{x_.data(),
                                  info_.data(),
                                  shape_.determinant_only ? nullptr : number(0),
                                  number(1),
                                  number(2),
                                  log_determinant_.data(),
                                  info_.data() + count_,
                                  number(3)};
    check(launch_spd_solve<T>({shape_, count_, a_.data(), b_.data()}, solution, options_, workspace_.data(), stream));
  }
  void download(SpdBlock<T>& to) const {
    x_.download(to.x);
    log_determinant_.download(to.log_determinant);
    std::vector<T> numbers(4 * to.info.size());
    std::vector<std::int32_t> info(2 * to.info.size());
    numbers_.download(numbers);
    info_.download(info);
    const std::size_t count = to.info.size();
    for (std::size_t k = 0; k < count; ++k) {
      to.info[k] = info[k];
      to.repaired[k] = info[count + k];
      if (!to.backward_error.empty()) to.backward_error[k] = numbers[k];
      to.rcond[k] = numbers[count + k];
      to.smallest_pivot[k] = numbers[2 * count + k];
      to.perturbation[k] = numbers[3 * count + k];
    }
  }

 private:
  [[nodiscard]] T* number(std::int64_t which) const { return numbers_.data() + which * count_; }

  SpdOptions options_;
  SpdShape shape_;
  std::int64_t count_;
  OnDevice<T> a_, b_, x_, numbers_;
  OnDevice<double> log_determinant_;
  OnDevice<std::int32_t> info_;
  OnDevice<std::byte> workspace_;
};

class SpdLaunchOnDevice : public SpdSolverTest {
 protected:
  /// Returns systems of many kinds: plain ones, and a few of each kind that a kernel leaves to another kernel.
  template <class T>
  static SpdBlock<T> mixed_systems(const SpdShape& shape, std::uint64_t seed) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 150, 100, seed);
    const int n = shape.n;
    for (std::int64_t k = 0; k < block.count; ++k) switch ((k + static_cast<std::int64_t>(seed)) % 11) {
        case 3:  // far from 1
          for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) set_symmetric(block, k, i, j, std::ldexp(element(block, k, i, j), 70));
          break;
        case 5:  // triangles that differ
          if (n > 1 && shape.storage == Storage::dense)
            element(block, k, n - 1, 0) *= 1 + std::numeric_limits<T>::epsilon();
          break;
        case 7:
          element(block, k, n - 1, n - 1) = -1;
          break;
        case 9:
          element(block, k, 0, 0) = std::numeric_limits<T>::quiet_NaN();
          break;
        default:
          break;
      }
    return block;
  }
  template <class T>
  static void expect_same(const SpdBlock<T>& block, const SpdBlock<T>& expected) {
    for (std::int64_t k = 0; k < block.count; ++k) ASSERT_TRUE(same_bits(block, k, expected, k)) << "system " << k;
  }
  template <class Check>
  void for_some_shapes(Check check) {
    for (const auto& [nrhs, determinant] : spd_questions)
      for (const Storage storage : {Storage::dense, Storage::packed_lower})
        for (const int n : {7, 32, 48}) {
          const SpdShape shape{n, nrhs, storage, determinant};
          SCOPED_TRACE(shape_name(shape));
          check(float{}, shape);
          check(double{}, shape);
          if (HasFatalFailure()) return;
        }
  }
};

TEST_P(SpdLaunchOnDevice, AGraphOfItIsReplayedOnOtherSystems) {
  for_some_shapes([this]<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = mixed_systems<T>(shape, 1);
    DeviceBlock<T> on_device(block, {GetParam().method});
    const Stream stream;
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
    on_device.launch(stream.get());
    check(cudaStreamEndCapture(stream.get(), &graph));
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    for (const std::uint64_t seed : {1, 2, 3}) {
      block = mixed_systems<T>(shape, seed);
      on_device.upload(block);
      check(cudaGraphLaunch(executable, stream.get()));
      stream.synchronize();
      SpdBlock<T> expected = block;
      on_device.download(block);
      solve(*solver_, expected);
      expect_same(block, expected);
    }
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
  });
}

TEST_P(SpdLaunchOnDevice, ThreadsAndStreamsDoNotDisturbEachOther) {
  for_some_shapes([this]<class T>(T, const SpdShape& shape) {
    constexpr std::uint64_t callers = 4;
    std::vector<SpdBlock<T>> blocks, expected;
    std::vector<DeviceBlock<T>> on_device;
    on_device.reserve(callers);
    for (std::uint64_t seed = 0; seed < callers; ++seed) {
      blocks.push_back(mixed_systems<T>(shape, seed));
      on_device.emplace_back(blocks.back(), SpdOptions{GetParam().method});
      expected.push_back(blocks.back());
      solve(*solver_, expected.back());
    }
    std::vector<std::thread> threads;
    for (std::uint64_t caller = 0; caller < callers; ++caller)
      threads.emplace_back([&, caller] {
        const Stream stream;
        for (int turn = 0; turn < 5; ++turn) on_device[caller].launch(stream.get());
        stream.synchronize();
        on_device[caller].download(blocks[caller]);
      });
    for (std::thread& thread : threads) thread.join();
    for (std::uint64_t caller = 0; caller < callers; ++caller) expect_same(blocks[caller], expected[caller]);
  });
}

TEST_P(SpdLaunchOnDevice, MatricesMayLieAnywhere) {
  const auto check_shape = [this]<class T>(T, const SpdShape& shape) {
    const SpdBlock<T> block = mixed_systems<T>(shape, 1);
    SpdBlock<T> expected = block;
    solve(*solver_, expected);
    const SpdOptions options{GetParam().method};
    OnDevice<T> b(block.b.size()), x(block.x.size()), error(block.count);
    OnDevice<std::int32_t> info(block.count);
    OnDevice<std::byte> workspace(spd_workspace_bytes<T>(shape, block.count, options));
    b.upload(block.b);
    // Depending on `begin` and `gap`, all matrices begin at multiples of 16 bytes, or none, or some.
    for (const std::int64_t begin : {0, 1})
      for (const std::int64_t gap : {0, 3, 4})
        for (const bool judged : {false, true}) {
          SCOPED_TRACE(::testing::Message() << "from " << begin << " on, " << gap << " apart, judged: " << judged);
          const std::int64_t step = shape.matrix_size() + gap;
          std::vector<T> apart(begin + block.count * step, std::numeric_limits<T>::quiet_NaN());
          for (std::int64_t k = 0; k < block.count; ++k)
            std::copy_n(block.a.data() + k * shape.matrix_size(), shape.matrix_size(), apart.data() + begin + k * step);
          OnDevice<T> a(apart.size());
          a.upload(apart);
          SpdBatch<T> batch{shape, block.count, a.data() + begin, b.data()};
          batch.a_stride = step;
          SpdSolution<T> solution;
          solution.x = x.data();
          solution.info = info.data();
          if (judged) solution.backward_error = error.data();
          const Stream stream;
          check(launch_spd_solve<T>(batch, solution, options, workspace.data(), stream.get()));
          stream.synchronize();
          SpdBlock<T> got = expected;
          x.download(got.x);
          info.download(got.info);
          if (judged) error.download(got.backward_error);
          ASSERT_NO_FATAL_FAILURE(expect_same(got, expected));
        }
  };
  for (const int n : {31, 33, 40, 44, 48, 55, 64}) {
    const SpdShape shape{n, 1};
    SCOPED_TRACE(shape_name(shape));
    check_shape(float{}, shape);
    check_shape(double{}, shape);
    if (HasFatalFailure()) return;
  }
}

class SpdFactoredLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(SpdFactoredLaunch, AGraphOfItSolvesOtherSystemsInPlace) {
  const auto check_shape = []<class T>(T, const SpdShape& shape) {
    SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 150, 100, 1);
    OnDevice<T> a(block.a.size()), b(block.b.size()), factors(block.count * shape.n * (shape.n + 1) / 2);
    OnDevice<std::int32_t> factors_info(block.info.size()), info(block.info.size());
    const Stream stream;
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
    check(launch_spd_factor<T>({shape, block.count, a.data(), nullptr}, {factors.data(), factors_info.data()},
                               stream.get()));
    check(
        launch_spd_solve_factored<T>({shape.n, shape.nrhs, block.count, factors.data(), factors_info.data(), b.data()},
                                     {b.data(), info.data()}, stream.get()));
    check(cudaStreamEndCapture(stream.get(), &graph));
    cudaGraphExec_t executable = nullptr;
    check(cudaGraphInstantiate(&executable, graph, 0));
    for (const std::uint64_t seed : {1, 2, 3}) {
      block = generated_block<T>(SpdFamily::random, shape, 150, 100, seed);
      a.upload(block.a);
      b.upload(block.b);
      check(cudaGraphLaunch(executable, stream.get()));
      stream.synchronize();
      b.download(block.x);
      info.download(block.info);
      expect_judged_right(block);
    }
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
  };
  for (const Storage storage : {Storage::dense, Storage::packed_lower})
    for (const int n : {7, 32, 48})
      for (const int nrhs : {1, 3}) {
        SCOPED_TRACE(shape_name({n, nrhs, storage}));
        check_shape(float{}, {n, nrhs, storage});
        check_shape(double{}, {n, nrhs, storage});
      }
}

TEST_F(SpdLaunch, RefusesFactorsThatMakeNoSense) {
  std::vector<std::int32_t> factors_info(16);
  const SpdFactors<float> factors{memory_.data() + 3000, factors_info.data()};
  SpdFactors<float> changed = factors;
  changed.factors = nullptr;
  EXPECT_EQ(launch_spd_factor(batch_, changed, nullptr), cudaErrorInvalidValue);
  changed.factors = memory_.data() + 40;  // the factors would overlap A
  EXPECT_EQ(launch_spd_factor(batch_, changed, nullptr), cudaErrorInvalidValue);
  const SpdFactoredBatch<float> factored{4, 1, 3, factors.factors, factors_info.data(), batch_.b};
  SpdFactoredBatch<float> other = factored;
  other.factors_info = nullptr;
  EXPECT_EQ(launch_spd_solve_factored(other, solution_, nullptr), cudaErrorInvalidValue);
  other = factored;
  other.nrhs = 0;
  EXPECT_EQ(launch_spd_solve_factored(other, solution_, nullptr), cudaErrorInvalidValue);
  solution_.rcond = memory_.data();
  EXPECT_EQ(launch_spd_solve_factored(factored, solution_, nullptr), cudaErrorInvalidValue);
}

/// Tests the kernel for matrices that do not fit into shared memory. On devices where they fit, the kernel is told that
/// they do not.
template <class T>
void expect_pivots_raised_alike_in_the_workspace() {
  const int n = 100;
  const SpdShape shape{n, 1, Storage::dense};
  SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, 300, 100, 5);
  for (std::int64_t k = 0; k < block.count; k += 2)  // the last row equals the first
    for (int j = n - 1; j >= 0; --j) set_symmetric(block, k, n - 1, j, element(block, k, j == n - 1 ? 0 : j, 0));
  OnDevice<T> a(block.a.size()), b(block.b.size()), x(block.x.size());
  OnDevice<std::int32_t> info(2 * block.info.size());
  const OnDevice<std::byte> workspace(pivot_repair_bytes(n, block.count));
  a.upload(block.a);
  b.upload(block.b);
  const SpdBatch<T> batch{shape, block.count, a.data(), b.data()};
  SpdSolution<T> solution{x.data(), info.data()};
  solution.repaired = info.data() + block.count;
  const auto solve = [&](std::byte* matrices) {
    check(launch_spd_solve(batch, solution, SpdOptions{}, nullptr, nullptr));
    check(launch_pivot_repair(batch, solution, 1e-2, matrices, nullptr));
    std::pair found{std::vector<T>(block.x.size()), std::vector<std::int32_t>(2 * block.info.size())};
    x.download(found.first);
    info.download(found.second);
    return found;
  };
  const auto expected = solve(pivot_repair_needs_workspace(n) ? workspace.data() : nullptr);
  const auto found = solve(workspace.data());
  EXPECT_GT(expected.second[block.count], 0);
  EXPECT_EQ(found.second, expected.second);
  EXPECT_EQ(std::memcmp(found.first.data(), expected.first.data(), sizeof(T) * found.first.size()), 0);
}
TEST(SpdPivotRepairByCuda, GivesTheSameBitsInTheWorkspace) {
  if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  expect_pivots_raised_alike_in_the_workspace<float>();
  expect_pivots_raised_alike_in_the_workspace<double>();
}

const std::vector<SolverChoice> cuda_choices{{BackendKind::cuda, SpdMethod::automatic},
                                             {BackendKind::cuda, SpdMethod::gauss_jordan},
                                             {BackendKind::cuda, SpdMethod::ldlt}};
INSTANTIATE_TEST_SUITE_P(Launch, SpdLaunchOnDevice, ::testing::ValuesIn(cuda_choices), solver_test_name);

}  // namespace
}  // namespace smallbatch::testing
