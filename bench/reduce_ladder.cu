#include "bench/reduce_ladder.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "bench/reduce_steps.hpp"
#include "bench/whole_numbers.hpp"
#include "core/compare.hpp"
#include "core/device_cuda.hpp"
#include "core/grid_stride.cuh"
#include "core/reductions.cuh"

namespace smallbatch {

namespace {

/// The values, memory for the results of steps, and the expected sum.
class ValuesToSum {
 public:
  explicit ValuesToSum(std::int64_t values_there) : count(values_there) {
    constexpr std::int64_t least_part = 512, most_blocks_that_stay = 4096;  // limits of the steps by blocks
    const auto all = static_cast<std::size_t>(count);
    values = memory_values_.reserve<float>(all);
    overwritten = memory_overwritten_.reserve<float>(all);
    room_for_sums_ = static_cast<std::size_t>(count / least_part + most_blocks_that_stay);
    sums = memory_sums_.reserve<float>(room_for_sums_);
    result_ = memory_result_.reserve<double>(1);
    workspace_ = memory_workspace_.reserve<char>(reduction_workspace_bytes(count));
    check(cudaMemset(workspace_, 0, reduction_workspace_bytes(count)));
    const WholeNumbers numbers(count);
    check(launch_for_each_index(count, StoreNumbers{numbers, values}, cudaStreamLegacy));
    std::atomic<std::int64_t> sum{0};
    parallel_for(count, 1 << 20, 0, [&](std::int64_t first, std::int64_t last) {
      std::int64_t of_piece = 0;
      for_each_index(first, 1, last, [&](std::int64_t i) { of_piece += static_cast<std::int64_t>(numbers(i)); });
      sum += of_piece;
    });
    expected_ = static_cast<double>(sum);
    check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
  }

  void poison(cudaStream_t stream) const {
    check(cudaMemsetAsync(result_, 0xff, sizeof(double), stream));
    check(cudaMemsetAsync(sums, 0xff, room_for_sums_ * sizeof(float), stream));
  }
  /// Copies the values for a step that overwrites them.
  void copy_values(cudaStream_t stream) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    check(cudaMemcpyAsync(overwritten, values, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  /// Calls the production launch, which also adds the sums of the steps by blocks.
  void reduce(Accumulation accumulation, const float* from, std::int64_t numbers, cudaStream_t stream,
              unsigned blocks = 0) const {
    check(launch_reduction<float>(Reduction::sum, accumulation, from, nullptr, numbers, result_, workspace_, stream,
                                  blocks));
  }
  [[nodiscard]] Judgement judge() const {
    double found = 0;
    check(cudaMemcpy(&found, result_, sizeof(double), cudaMemcpyDeviceToHost));
    return {error_over_bound(found, expected_, 0)};
  }

  const std::int64_t count;
  float *values, *overwritten, *sums;  ///< `sums`: one for each block

 private:
  DeviceMemory memory_values_, memory_overwritten_, memory_sums_, memory_result_, memory_workspace_;
  std::size_t room_for_sums_;
  double* result_;
  void* workspace_;
  double expected_;
};

using Shared = std::shared_ptr<const ValuesToSum>;

Step vendor_step(const Shared& problem) {
  Step step = reduce_peer(problem->values, problem->count, problem->sums);
  step.finish = [problem](cudaStream_t stream) { problem->reduce(Accumulation::fast, problem->sums, 1, stream); };
  return step;
}

Step step_by_blocks(const Shared& problem, const ReduceStep& of) {
  Step step;
  step.name = of.name;
  step.idea = of.idea;
  if (of.in_place) step.prepare = [problem](cudaStream_t stream) { problem->copy_values(stream); };
  step.launch = [problem, of](cudaStream_t stream) {
    float* const values = of.in_place ? problem->overwritten : problem->values;
    const std::int64_t blocks = of.launch(values, problem->count, problem->sums, stream);
    problem->reduce(Accumulation::fast, problem->sums, blocks, stream);
  };
  return step;
}

Step production_step(const Shared& problem, std::string name, std::string idea, Accumulation accumulation,
                     unsigned blocks = 0) {
  Step step;
  step.name = std::move(name);
  step.idea = std::move(idea);
  step.launch = [problem, accumulation, blocks](cudaStream_t stream) {
    problem->reduce(accumulation, problem->values, problem->count, stream, blocks);
  };
  return step;
}

Step production_step(const Shared& problem) {
  return production_step(problem, "one_tree",
                         "production: the same tree for any number of blocks, leaves by 16-byte loads; the block that "
                         "finishes last joins them",
                         Accumulation::fast);
}

Ladder empty_ladder(const Shared& problem) {
  Ladder ladder;
  ladder.title = "sum, " + std::to_string(problem->count) + " values, float32";
  ladder.unit = "values";
  ladder.exponent = 9;
  ladder.work = static_cast<double>(problem->count);
  ladder.min_bytes = sizeof(float) * ladder.work;
  ladder.poison = [problem](cudaStream_t stream) { problem->poison(stream); };
  ladder.check = [problem] { return problem->judge(); };
  return ladder;
}

}  // namespace

Ladder reduce_ladder(std::int64_t count) {
  const Shared problem = std::make_shared<ValuesToSum>(count);
  Ladder ladder = empty_ladder(problem);
  ladder.title = "From naive to production: " + ladder.title;
  ladder.note =
      "Values are whole numbers with exact sums, so a step is right or wrong. Steps between the first and production "
      "have two kernels: their own stores a sum for each block, and production's adds these sums.";
  ladder.steps = {vendor_step(problem)};
  for (const ReduceStep& step : reduce_steps_by_blocks()) ladder.steps.push_back(step_by_blocks(problem, step));
  ladder.steps.push_back(production_step(
      problem, "one_tree_blocks_that_stay",
      "production, asked for 1024 blocks, each with several leaves one after the other", Accumulation::fast, 1024));
  ladder.steps.push_back(production_step(problem));
  ladder.steps.push_back(
      production_step(problem, "one_tree_float64", "production: added in double precision", Accumulation::float64));
  ladder.steps.push_back(production_step(problem, "one_tree_compensated", "production: rounding errors are added, too",
                                         Accumulation::compensated));
  return ladder;
}

Ladder reduce_comparison(std::int64_t count) {
  const Shared problem = std::make_shared<ValuesToSum>(count);
  Ladder ladder = empty_ladder(problem);
  ladder.steps = {vendor_step(problem), production_step(problem)};
  return ladder;
}

}  // namespace smallbatch
