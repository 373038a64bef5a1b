// The production call, as the last step of the potential's ladders.
#pragma once

#include <memory>
#include <string>

#include "bench/potential_problem.hpp"

namespace smallbatch {

/// Potentials alone, or with the field in the same launch.
Step production_potential_step(const std::shared_ptr<const DevicePotentialProblem>& problem, bool with_field);

}  // namespace smallbatch
