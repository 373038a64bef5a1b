// The production call, which is the last step of the ladders (bench/ladder.hpp) of potentials.
#pragma once

#include <memory>
#include <string>

#include "bench/potential_problem.hpp"

namespace smallbatch {

/// Returns the step for potentials alone, or for potential and field in one launch.
Step production_potential_step(const std::shared_ptr<const DevicePotentialProblem>& problem, bool with_field);

}  // namespace smallbatch
