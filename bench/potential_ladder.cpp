#include "bench/potential_ladder.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "bench/potential_host.hpp"
#include "bench/potential_problem.hpp"
#include "bench/potential_production.hpp"
#include "bench/potential_steps.hpp"
#include "physics/charges/charge_sets.hpp"

namespace smallbatch {

namespace {

/// Limit of the relative L2 error for steps without a bound. Sums of 16384 terms in single precision stay below it.
constexpr double l2_limit = 1e-5;

using Problem = std::shared_ptr<const DevicePotentialProblem>;

Problem cubic_problem(std::int64_t edge, std::int64_t charges, bool with_field) {
  return std::make_shared<const DevicePotentialProblem>(LatticeShape{edge, edge, edge}, std::vector{charges},
                                                        with_field);
}

std::string cubic_title(std::int64_t edge, std::int64_t charges) {
  return std::to_string(edge) + "^3 lattice, " + std::to_string(charges) + " charges";
}

/// Returns a ladder without steps.
Ladder empty_ladder(const Problem& problem, std::string title) {
  const bool with_field = problem->result.field != nullptr;
  Ladder ladder;
  ladder.title = std::move(title);
  ladder.unit = "pairs";
  ladder.exponent = 12;
  ladder.work = problem->pairs();
  ladder.min_bytes = static_cast<double>(problem->points()) * sizeof(float);
  ladder.bound = Bound::special_function;
  ladder.shows_l2 = true;
  ladder.poison = [problem](cudaStream_t stream) { problem->poison(stream); };
  ladder.check = [problem, with_field] { return problem->judge(with_field); };
  return ladder;
}

Ladder production_ladder(const Problem& problem, std::string title) {
  Ladder ladder = empty_ladder(problem, std::move(title));
  ladder.steps.push_back(production_potential_step(problem, false));
  return ladder;
}

}  // namespace

Ladder potential_ladder(std::int64_t edge, std::int64_t charges) {
  const Problem problem = cubic_problem(edge, charges, false);
  Ladder ladder =
      empty_ladder(problem, "From a host to production: potential, " + cubic_title(edge, charges) + ", float32");
  ladder.note =
      "The special-function roofline is measured by a kernel that only computes reciprocal square roots. A pair needs "
      "one root. Steps that compute some roots by multiply-adds may exceed the roofline. Production and the cpu "
      "backend promise a bound. All other steps are right if the relative L2 error is below 1e-5. The host's rows run "
      "on one thread, and are timed by the host's clock.";
  ladder.steps = host_potential_steps(edge, charges, 1);
  std::vector<PotentialStep> between = potential_steps_by_points();
  for (const std::vector<PotentialStep>& more : {potential_steps_by_tiles(), potential_steps_by_scaled_tiles()})
    between.insert(between.end(), more.begin(), more.end());
  for (const PotentialStep& step : between) {
    Step row;
    row.name = step.name;
    row.idea = step.idea;
    row.l2_limit = l2_limit;
    row.launch = [problem, launch = step.launch](cudaStream_t stream) {
      launch(problem->single_charges, static_cast<int>(problem->charge_count()),
             static_cast<float>(DevicePotentialProblem::spacing), static_cast<int>(problem->shape.nx),
             problem->result.potential, stream);
    };
    ladder.steps.push_back(std::move(row));
  }
  ladder.steps.push_back(production_potential_step(problem, false));
  return ladder;
}

Ladder field_ladder(std::int64_t edge, std::int64_t charges) {
  const Problem problem = cubic_problem(edge, charges, true);
  Ladder ladder = empty_ladder(problem, "Potential and field, " + cubic_title(edge, charges) + ", float32");
  ladder.note = "\"Times row 0\" is what the field costs: the pairs are the same, and one launch gives both.";
  ladder.steps = {production_potential_step(problem, false), production_potential_step(problem, true)};
  return ladder;
}

Ladder production_potential_ladder(std::int64_t edge, std::int64_t charges) {
  return production_ladder(cubic_problem(edge, charges, false), cubic_title(edge, charges));
}

Ladder ragged_potential_ladder(std::int64_t count, std::int64_t edge, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> charges;
  for (std::int64_t p = 0; p < count; ++p) charges.push_back(random_charge_count(1, p, least, most));
  return production_ladder(
      std::make_shared<const DevicePotentialProblem>(LatticeShape{edge, edge, edge}, charges, false),
      std::to_string(count) + " molecules, " + std::to_string(edge) + "^3 lattice and " + std::to_string(least) +
          " to " + std::to_string(most) + " charges each, one launch");
}

}  // namespace smallbatch
