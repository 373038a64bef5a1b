#include "bench/pair_ladder.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/pair_problem.hpp"
#include "bench/pair_steps.hpp"
#include "physics/charges/pair_energy_backends.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

namespace {

using Problem = std::shared_ptr<const DevicePairProblem>;

/// Returns the step of the cpu backend, on a part of the rows.
Step host_step(std::int64_t rows, std::int64_t columns, std::int64_t rows_of_part) {
  const auto part = std::make_shared<const PairProblem>(rows_of_part, columns);
  const DirectSumKernels lanes = usable_direct_sum_kernels().front();
  const std::shared_ptr<PairEnergy> backend = make_cpu_pair_energy(1, lanes);
  const auto energy = std::make_shared<double>();
  Step step;
  step.name = std::string("cpu_") + lanes.name;
  step.idea = "the cpu backend, on one thread and " + std::to_string(rows_of_part) + " of the rows";
  step.host = true;
  step.part = static_cast<double>(rows_of_part) / static_cast<double>(rows);
  step.prepare = [energy](cudaStream_t) { *energy = std::numeric_limits<double>::quiet_NaN(); };
  step.launch = [part, backend, energy](cudaStream_t) {
    std::int32_t info = 0;
    backend->evaluate(part->charges(), {}, {energy.get(), &info});
  };
  step.check = [part, energy] { return part->judge(*energy); };
  return step;
}

/// Returns a step that calls the production launch.
Step production_step(const Problem& problem, ScalarType precision) {
  const bool single = precision == ScalarType::float32;
  Step step;
  step.name = single ? "pair_energies" : "pair_energies_float64";
  step.idea = single ? "production: squared distances on the tensor cores, in double precision; near pairs summed "
                       "again; any groups, status, the same bits on every launch"
                     : "production in double precision throughout";
  step.launch = [problem, precision](cudaStream_t stream) {
    check(pair_energies(problem->device_charges, problem->rows + problem->columns, {Singular::infinite, precision},
                        {problem->energy, problem->info}, problem->workspace, stream));
  };
  return step;
}

}  // namespace

Ladder pair_ladder(std::int64_t rows, std::int64_t columns) {
  const Problem problem = std::make_shared<const DevicePairProblem>(rows, columns);
  Ladder ladder;
  ladder.title = "From a host to production: energy of two groups, " + std::to_string(rows) + " x " +
                 std::to_string(columns) + " charges, float32";
  ladder.note =
      "The special-function roofline is measured by a kernel that only computes reciprocal square roots. A pair needs "
      "one root. Steps that compute some roots by multiply-adds may exceed the roofline. All steps are judged by the "
      "bound of the production code. For these charges every step keeps the bound, but only production promises it. "
      "Atomic additions come in the order in which warps end. The host's row is timed by the host's clock.";
  ladder.unit = "pairs";
  ladder.exponent = 12;
  ladder.work = problem->pairs();
  ladder.min_bytes = static_cast<double>(rows + columns) * sizeof(float4);
  ladder.bound = Bound::special_function;
  ladder.poison = [problem](cudaStream_t stream) { problem->poison(stream); };
  ladder.check = [problem] { return problem->judge_energy(); };
  ladder.steps.push_back(host_step(rows, columns, std::max<std::int64_t>(1, rows / 128)));
  std::vector<PairStep> steps = pair_steps_by_rows();
  for (const PairStep& more : pair_steps_by_tensor_cores()) steps.push_back(more);
  for (const PairStep& between : steps) {
    Step step;
    step.name = between.name;
    step.idea = between.idea;
    step.launch = [problem, launch = between.launch](cudaStream_t stream) {
      launch(problem->a, static_cast<int>(problem->rows), problem->b, static_cast<int>(problem->columns),
             problem->partial, problem->energy, stream);
    };
    ladder.steps.push_back(std::move(step));
  }
  ladder.steps.push_back(production_step(problem, ScalarType::float64));
  ladder.steps.push_back(production_step(problem, ScalarType::float32));
  return ladder;
}

}  // namespace smallbatch
