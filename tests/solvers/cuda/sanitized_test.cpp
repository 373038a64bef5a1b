// Every kernel of this room, on batches small enough that each tool of compute-sanitizer ends in minutes. All tools run
// in scripts/gpu. The script tests/solvers/sanitized_test.py checks that no kernel is left out. One file, because all
// kernels are launched by the same few requests.
//
// In some kernels, warps stride over a batch. These kernels are launched with a third of the warps that a batch needs
// if each warp has one task. Each warp thus has up to three tasks, and a later task finds in shared memory what earlier
// tasks have left there. This includes warps that work on two tasks at once.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/compare.hpp"
#include "core/device_cuda.hpp"
#include "solvers/cuda/kernels.cuh"
#include "solvers/layouts.cuh"
#include "solvers/spd_solver.cuh"
#include "tests/solvers/spd_solver_fixture.hpp"

namespace smallbatch::testing {
namespace {

std::string name_of(const void* kernel) {
  const char* name = nullptr;
  check(cudaFuncGetName(&name, kernel));
  return name;
}

/// Adds the name of a kernel to the file that SMALLBATCH_LAUNCHED_KERNELS names.
void note_launch(const void* kernel) {
  static std::set<std::string> noted;
  const std::string name = name_of(kernel);
  const char* const file = std::getenv("SMALLBATCH_LAUNCHED_KERNELS");
  if (noted.insert(name).second && file != nullptr) std::ofstream(file, std::ios::app) << name << '\n';
}

/// Which launches run. Under some tools a launch takes seconds. If SMALLBATCH_KERNELS_ONCE names a folder, launches run
/// only if they have a kernel that was never launched. The folder has a file for each launched kernel, so all
/// processes with the same folder share this record.
enum class Launches { all, with_new_kernels };
const char* const kernels_taken = std::getenv("SMALLBATCH_KERNELS_ONCE");
const Launches wanted_launches = kernels_taken == nullptr ? Launches::all : Launches::with_new_kernels;

/// Returns whether at least one of the kernels was never launched with matrices in that storage. Afterwards all of them
/// count as launched.
bool is_one_new(const std::vector<const void*>& kernels, Storage storage) {
  bool is_new = false;
  for (const void* kernel : kernels) {
    const std::string taken = std::string(kernels_taken) + "/" +
                              std::to_string(std::hash<std::string>{}(name_of(kernel))) + "_" +
                              std::to_string(static_cast<int>(storage));
    if (std::FILE* const file = std::fopen(taken.c_str(), "wx"); file != nullptr) {
      is_new = true;
      std::fclose(file);
    }
  }
  return is_new;
}

/// The part of a grid's blocks that is launched.
enum class GridPart { all, third };
/// Returns which blocks are launched for systems of n rows. Beyond 64 rows, a block has one system, and all blocks are
/// launched. For smaller systems, a third of the blocks is launched.
GridPart grid_part_for(int n) { return n > 64 ? GridPart::all : GridPart::third; }

/// Runs the kernels that `launch` enqueues for matrices in that storage. Returns false if the call is left out.
template <class Launch>
bool run(GridPart grid_part, Storage storage, Launches launches, const Launch& launch) {
  const Stream stream;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  const cudaError_t launched = launch(stream.get());
  check(cudaStreamEndCapture(stream.get(), &graph));
  check(launched);
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<const void*> kernels;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeCount;
    check(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams kernel{};
    check(cudaGraphKernelNodeGetParams(node, &kernel));
    kernels.push_back(kernel.func);
    if (grid_part == GridPart::third) kernel.gridDim.x = (kernel.gridDim.x + 2) / 3;
    check(cudaGraphKernelNodeSetParams(node, &kernel));
  }
  if (launches == Launches::with_new_kernels && !is_one_new(kernels, storage)) {
    check(cudaGraphDestroy(graph));
    return false;
  }
  for (const void* kernel : kernels) note_launch(kernel);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  return true;
}

/// Numbers on the device. They are not initialized unless they are uploaded.
template <class V>
class DeviceCopy {
 public:
  /// `offset` is the distance of the first number from an address that is a multiple of 256 bytes.
  explicit DeviceCopy(std::size_t count, std::size_t offset = 0)
      : count_(count), data_(memory_.reserve<V>(count + offset + 1) + offset) {}
  template <class Values>
  DeviceCopy(const Values& from, std::size_t offset) : DeviceCopy(from.size(), offset) {
    check(cudaMemcpy(data_, from.data(), count_ * sizeof(V), cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());  // cudaMemcpy may return before a small copy ends, and streams do not wait for it
  }
  [[nodiscard]] V* data() const { return data_; }
  template <class Values>
  void download(Values& to) const {
    check(cudaMemcpy(to.data(), data_, count_ * sizeof(V), cudaMemcpyDeviceToHost));
  }

 private:
  std::size_t count_;
  DeviceMemory memory_;
  V* data_;
};

/// Numbers that a call computes besides x.
enum class Numbers { none, backward_error, all };
/// Whether the arrays of a call begin at multiples of 16 bytes.
enum class Place { aligned, not_aligned };

std::size_t offset_of(Place place) { return place == Place::aligned ? 0 : 1; }

/// Solves the block on the device. Returns false if the call is left out.
template <class T>
bool solve_on_device(SpdBlock<T>& block, const SpdOptions& options, Numbers wanted, Place place, Launches launches) {
  const auto count = static_cast<std::size_t>(block.count);
  const DeviceCopy<T> a(block.a, offset_of(place)), b(block.b, offset_of(place)), x(block.x.size(), offset_of(place));
  const DeviceCopy<std::int32_t> info(count), repaired(count), sizes(block.sizes, 0);
  const DeviceCopy<T> backward_error(count), rcond(count), smallest_pivot(count), perturbation(count);
  const DeviceCopy<double> log_determinant(count);
  const DeviceCopy<std::byte> workspace(spd_workspace_bytes<T>(block.shape, block.count, options));
  SpdSolution<T> solution;
  solution.x = block.shape.determinant_only ? nullptr : x.data();
  solution.info = info.data();
  if (wanted != Numbers::none && !block.shape.determinant_only) solution.backward_error = backward_error.data();
  if (wanted == Numbers::all) {
    solution.rcond = rcond.data();
    solution.smallest_pivot = smallest_pivot.data();
    solution.log_determinant = log_determinant.data();
    solution.repaired = repaired.data();
    solution.perturbation = perturbation.data();
  }
  const bool was_run = run(grid_part_for(block.shape.n), block.shape.storage, launches, [&](cudaStream_t stream) {
    return launch_spd_solve<T>(
        {block.shape, block.count, a.data(), b.data(), tight, tight, block.shape.has_sizes ? sizes.data() : nullptr},
        solution, options, workspace.data(), stream);
  });
  if (!was_run) return false;
  if (solution.x != nullptr) x.download(block.x);
  info.download(block.info);
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    auto& values = block.*number.in_block;
    const V* const from = solution.*number.in_solution;
    values.resize(from == nullptr ? 0 : count);
    if (from != nullptr) check(cudaMemcpy(values.data(), from, count * sizeof(V), cudaMemcpyDeviceToHost));
  });
  return true;
}

template <class T>
void expect_right(const SpdBlock<T>& block, double pivot_floor = 0) {
  std::vector<std::int64_t> systems(static_cast<std::size_t>(block.count));
  std::iota(systems.begin(), systems.end(), 0);
  std::vector<double> errors(systems.size());
  spd_errors_over_bounds<T>(block, pivot_floor, systems, errors);
  for (std::size_t k = 0; k < errors.size(); ++k) EXPECT_LE(errors[k], 1) << "system " << k;
}

/// Expects that the referee agrees with x and with the numbers of the pivots.
template <class T>
void expect_solved_by_factors(const SpdBlock<T>& block, std::int64_t k) {
  const SpdJudgement judgement = judge(block, k);
  EXPECT_TRUE(same_status(block.info[k], judgement, scalar_type_of<T>, block.shape.n)) << "system " << k;
  if (block.info[k] != 0) {
    EXPECT_TRUE(std::isnan(block.x[k * block.shape.solution_size()])) << "system " << k;
    EXPECT_TRUE(std::isnan(block.smallest_pivot[k])) << "system " << k;
    return;
  }
  EXPECT_LE(judgement.residual_ratio, spd_ratio_limit) << "system " << k;
  EXPECT_LE(judgement.forward_ratio, spd_ratio_limit) << "system " << k;
  for (const double error :
       {error_over_bound(block.smallest_pivot[k], judgement.smallest_pivot, judgement.bounds.smallest_pivot),
        error_over_bound(block.log_determinant[k], judgement.log_determinant, judgement.bounds.log_determinant)})
    EXPECT_LE(error, 1) << "system " << k;
}

/// Special systems in a batch. Only a pivot floor solves the singular ones, and Gauss-Jordan elimination is inaccurate
/// for ill-conditioned ones.
enum class SpecialSystems { none, ill_conditioned, singular };

/// Returns enough systems for the tasks of several warps; the last task has fewer systems. A task has up to 32 systems
/// with one lane each, 8 systems of up to 32 rows, or 4 larger systems. (For x alone, batches of fewer than 8 systems
/// have other kernels.) Most systems are plain. At least one system is of each kind that a kernel treats specially.
template <class T>
SpdBlock<T> systems_of(const SpdShape& shape, SpecialSystems special) {
  const int n = shape.n;
  const std::int64_t count = n <= 16 ? 83 : n <= 32 ? 19 : 9;
  const bool is_float = sizeof(T) == sizeof(float);
  SpdBlock<T> block = generated_block<T>(SpdFamily::random, shape, count, 100);
  const SpdBlock<T> ill = generated_block<T>(SpdFamily::random, shape, count, is_float ? 1e6 : 1e14);
  for (std::int64_t k = 0; k < count; ++k) switch (k % 8) {
      case 1:
        if (special == SpecialSystems::ill_conditioned)
          std::copy_n(ill.a.begin() + k * shape.matrix_size(), shape.matrix_size(),
                      block.a.begin() + k * shape.matrix_size());
        if (special == SpecialSystems::singular && n > 1) {  // its last two rows are equal
          for (int j = 0; j < n - 1; ++j) set_symmetric(block, k, n - 1, j, element(block, k, n - 2, j));
          element(block, k, n - 1, n - 1) = element(block, k, n - 2, n - 2);
        }
        break;
      case 2:  // far from 1
        for (int i = 0; i < n; ++i)
          for (int j = 0; j <= i; ++j)
            set_symmetric(block, k, i, j, std::ldexp(element(block, k, i, j), is_float ? 70 : 200));
        break;
      case 3:  // triangles that differ by rounding
        if (shape.storage == Storage::dense) element(block, k, n - 1, 0) *= 1 + std::numeric_limits<T>::epsilon();
        break;
      case 4:  // triangles that differ by more
        if (shape.storage == Storage::dense) element(block, k, n - 1, 0) += 1;
        break;
      case 5:
        element(block, k, n - 1, n - 1) = -1;
        break;
      case 6:
        element(block, k, n - 1, 0) = std::numeric_limits<T>::quiet_NaN();
        break;
      default:
        break;
    }
  poison_upper(block, std::numeric_limits<T>::quiet_NaN());
  return block;
}

std::vector<int> sizes() {
  std::vector<int> some;
  for (const int n : {7,  8,  12, 15, 16, 19, 20, 23, 24, 28, 31, 32, 33,  34,  35,  36,  39, 40,
                      44, 47, 48, 51, 52, 55, 56, 63, 64, 65, 96, 97, 128, 129, 200, 249, 256})
    if (n <= max_system_size) some.push_back(n);
  return some;
}

class Sanitized : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  }

  /// Calls check(T{}, shape) for both types and all storages.
  template <class Check>
  static void for_all(int nrhs, bool determinant_only, const Check& check) {
    for (const Storage storage : all_storages) {
      const SpdShape shape{GetParam(), nrhs, storage, determinant_only};
      SCOPED_TRACE(shape_name(shape));
      check(float{}, shape);
      check(double{}, shape);
    }
  }
  /// Solves systems with all numbers, and expects that the referee agrees with them. Then solves the systems with fewer
  /// numbers, and with arrays that are not aligned, and expects the same bits.
  static void expect_solved(int nrhs, const SpdOptions& options, SpecialSystems special, bool determinant_only = false,
                            bool sizes_differ = false) {
    for_all(nrhs, determinant_only, [&]<class T>(T, const SpdShape& shape) {
      SpdBlock<T> all = systems_of<T>(shape, special);
      if (sizes_differ) {
        all.shape.has_sizes = true;
        all.sizes.resize(static_cast<std::size_t>(all.count));
        for (std::size_t k = 0; k < all.sizes.size(); ++k)
          all.sizes[k] = std::max(0, shape.n - static_cast<std::int32_t>(k % 4));
      }
      SpdBlock<T> some = all;
      bool is_solved = solve_on_device(all, options, Numbers::all, Place::aligned, wanted_launches);
      if (is_solved) expect_right(all, options.pivot_floor);
      for (const auto& [wanted, place] : {std::pair{Numbers::none, Place::aligned},
                                          {Numbers::backward_error, Place::aligned},
                                          {Numbers::backward_error, Place::not_aligned}}) {
        // Special kernels for x and its error alone exist in two cases: dense matrices with one right-hand side, or one
        // of these sizes.
        if (wanted != Numbers::none && place == Place::aligned &&
            (shape.nrhs != 1 || shape.storage != Storage::dense) && shape.n != 32 && shape.n != 39 && shape.n != 64)
          continue;
        SCOPED_TRACE(wanted == Numbers::none ? "x alone" : "with backward errors");
        SCOPED_TRACE(place == Place::aligned ? "aligned" : "not aligned");
        if (!solve_on_device(some, options, wanted, place, wanted_launches)) continue;
        if (!is_solved) is_solved = solve_on_device(all, options, Numbers::all, Place::aligned, Launches::all);
        for (std::int64_t k = 0; k < all.count; ++k) EXPECT_TRUE(same_bits(some, k, all, k)) << "system " << k;
      }
    });
  }
};

TEST_P(Sanitized, Solutions) { expect_solved(1, {SpdMethod::automatic}, SpecialSystems::ill_conditioned); }
TEST_P(Sanitized, ManyRightHandSides) { expect_solved(4, {SpdMethod::automatic}, SpecialSystems::ill_conditioned); }
TEST_P(Sanitized, GaussJordan) { expect_solved(1, {SpdMethod::gauss_jordan}, SpecialSystems::none); }
TEST_P(Sanitized, GaussJordanWithManyRightHandSides) {
  expect_solved(4, {SpdMethod::gauss_jordan}, SpecialSystems::none);
}
TEST_P(Sanitized, Inverses) { expect_solved(0, {SpdMethod::automatic}, SpecialSystems::ill_conditioned); }
TEST_P(Sanitized, InversesByFactors) { expect_solved(0, {SpdMethod::ldlt}, SpecialSystems::ill_conditioned); }
TEST_P(Sanitized, InversesByGaussJordan) { expect_solved(0, {SpdMethod::gauss_jordan}, SpecialSystems::none); }
TEST_P(Sanitized, Determinants) { expect_solved(0, {SpdMethod::automatic}, SpecialSystems::ill_conditioned, true); }
TEST_P(Sanitized, SolutionsOfDifferentSizes) {
  // Larger systems are gathered on the host.
  if (GetParam() <= 64) expect_solved(1, {SpdMethod::automatic}, SpecialSystems::ill_conditioned, false, true);
}
TEST_P(Sanitized, RaisedPivots) {
  constexpr double pivot_floor = 1e-2;
  expect_solved(1, {SpdMethod::automatic, pivot_floor}, SpecialSystems::singular);
  expect_solved(0, {SpdMethod::automatic, pivot_floor}, SpecialSystems::singular);
  expect_solved(0, {SpdMethod::automatic, pivot_floor}, SpecialSystems::singular, true);
}
TEST_P(Sanitized, Factors) {
  for (const int nrhs : {1, 4})
    for_all(nrhs, false, [nrhs]<class T>(T, const SpdShape& shape) {
      const Place place = nrhs == 1 ? Place::aligned : Place::not_aligned;
      SpdBlock<T> block = systems_of<T>(shape, SpecialSystems::ill_conditioned);
      const auto count = static_cast<std::size_t>(block.count), n = static_cast<std::size_t>(shape.n);
      const DeviceCopy<T> a(block.a, offset_of(place)), b(block.b, offset_of(place)), smallest_pivot(count),
          factors(count * n * (n + 1) / 2, offset_of(place));
      const DeviceCopy<double> log_determinant(count);
      const DeviceCopy<std::int32_t> factors_info(count), info(count);
      const DeviceCopy<std::byte> workspace(spd_factor_workspace_bytes<T>(shape.n, block.count));
      run(GridPart::all, shape.storage, Launches::all, [&](cudaStream_t stream) {  // a warp has one task
        return launch_spd_factor<T>(
            {shape, block.count, a.data(), nullptr},
            {factors.data(), factors_info.data(), smallest_pivot.data(), log_determinant.data()}, stream,
            workspace.data());
      });
      run(grid_part_for(shape.n), shape.storage, Launches::all, [&](cudaStream_t stream) {  // in place
        return launch_spd_solve_factored<T>({shape.n, nrhs, block.count, factors.data(), factors_info.data(), b.data()},
                                            {b.data(), info.data()}, stream, workspace.data());
      });
      b.download(block.x);
      info.download(block.info);
      smallest_pivot.download(block.smallest_pivot);
      log_determinant.download(block.log_determinant);
      for (std::int64_t k = 0; k < block.count; ++k) expect_solved_by_factors(block, k);
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Sanitized, ::testing::ValuesIn(sizes()),
                         [](const auto& size) { return std::to_string(size.param); });

/// Sizes for which a lane has a whole system. There is a separate kernel for every size.
class SanitizedLanes : public Sanitized {};
TEST_P(SanitizedLanes, Solutions) { expect_solved(1, {SpdMethod::automatic}, SpecialSystems::ill_conditioned); }
TEST_P(SanitizedLanes, ManyRightHandSides) {
  expect_solved(3, {SpdMethod::automatic}, SpecialSystems::ill_conditioned);
}
TEST_P(SanitizedLanes, Determinants) {
  expect_solved(0, {SpdMethod::automatic}, SpecialSystems::ill_conditioned, true);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SanitizedLanes, ::testing::Range(1, 17),
                         [](const auto& size) { return std::to_string(size.param); });

/// Sizes with special kernels for several right-hand sides, in both precisions. Some tests have more right-hand sides
/// than these kernels take at once.
class SanitizedColumns : public Sanitized {};
TEST_P(SanitizedColumns, Solutions) {
  for (const int nrhs : {3, 17, 20, 36}) expect_solved(nrhs, {SpdMethod::automatic}, SpecialSystems::ill_conditioned);
}
INSTANTIATE_TEST_SUITE_P(Sizes, SanitizedColumns, ::testing::Values(32));

/// Tests the kernel for matrices that do not fit into a block's shared memory. On devices where they fit, the kernel is
/// told that they do not. The bits must be the same.
template <class T>
void expect_pivots_raised_in_the_workspace() {
  const SpdOptions options{SpdMethod::automatic, 1e-2};
  const SpdShape shape{97, 1, Storage::dense};
  SpdBlock<T> found = systems_of<T>(shape, SpecialSystems::singular), expected = found;
  solve_on_device(expected, options, Numbers::none, Place::aligned, Launches::all);
  const DeviceCopy<T> a(found.a, 0), b(found.b, 0), x(found.x.size());
  const DeviceCopy<std::int32_t> info(found.info.size());
  const DeviceCopy<std::byte> workspace(spd_workspace_bytes<T>(shape, found.count, {})),
      matrices(pivot_repair_bytes(shape.n, found.count));
  const SpdBatch<T> batch{shape, found.count, a.data(), b.data()};
  const SpdSolution<T> solution{x.data(), info.data()};
  run(GridPart::all, shape.storage, Launches::all, [&](cudaStream_t stream) {
    const cudaError_t status = launch_spd_solve<T>(batch, solution, {}, workspace.data(), stream);
    return status != cudaSuccess
               ? status
               : launch_pivot_repair<T>(batch, solution, options.pivot_floor, matrices.data(), stream);
  });
  x.download(found.x);
  info.download(found.info);
  for (std::int64_t k = 0; k < found.count; ++k) EXPECT_TRUE(same_bits(found, k, expected, k)) << "system " << k;
}
TEST(SanitizedRepair, InTheWorkspace) {
  if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  expect_pivots_raised_in_the_workspace<float>();
  expect_pivots_raised_in_the_workspace<double>();
}

constexpr int copied_rows = 5, copied_columns = 3;
constexpr std::int64_t copied_systems = 141;

/// Gathers right-hand sides into canonical order, scatters them like solutions, and expects the same numbers.
template <class T>
void expect_there_and_back(const char* layout, const std::function<MatrixArray<const T>(const T*)>& theirs_at,
                           const std::function<MatrixArray<T>(T*)>& again_at) {
  SCOPED_TRACE(layout);
  std::vector<T> numbers(static_cast<std::size_t>(copied_systems * copied_rows * copied_columns));
  std::iota(numbers.begin(), numbers.end(), T(1));
  const DeviceCopy<T> theirs(numbers, 0), canonical(numbers.size()), again(numbers.size());
  run(GridPart::third, Storage::dense, Launches::all, [&](cudaStream_t stream) {
    return launch_gather_spd_rhs<T>(copied_rows, copied_columns, copied_systems, theirs_at(theirs.data()),
                                    canonical.data(), stream);
  });
  run(GridPart::third, Storage::dense, Launches::all, [&](cudaStream_t stream) {
    return launch_scatter_spd_solutions<T>(copied_rows, copied_columns, copied_systems, canonical.data(),
                                           again_at(again.data()), stream);
  });
  std::vector<T> got(numbers.size());
  canonical.download(got);
  EXPECT_TRUE(std::is_permutation(got.begin(), got.end(), numbers.begin()));
  again.download(got);
  EXPECT_EQ(got, numbers);
}

template <class T>
void expect_layouts_copied() {
  constexpr std::int64_t n = copied_rows, m = copied_columns;
  const auto by_columns = [](auto* data) {
    return MatrixArray<std::remove_pointer_t<decltype(data)>>{data, nullptr, n * m, 1, n};
  };
  const auto batch_last = [](auto* data) {
    return MatrixArray<std::remove_pointer_t<decltype(data)>>{data, nullptr, 1, m * copied_systems, copied_systems};
  };
  expect_there_and_back<T>("by columns", by_columns, by_columns);
  expect_there_and_back<T>("batch last", batch_last, batch_last);
}

TEST(SanitizedLayouts, ComeBackAsTheyWere) {
  if (const std::string why = why_absent(BackendKind::cuda); !why.empty()) GTEST_SKIP() << why;
  expect_layouts_copied<float>();
  expect_layouts_copied<double>();
}

}  // namespace
}  // namespace smallbatch::testing
