// The three implementations behind make_potential, each made in its own file.
#pragma once

#include <memory>

#include "physics/direct_sum_lanes.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

std::unique_ptr<Potential> make_cuda_potential(int device);
std::unique_ptr<Potential> make_cpu_potential(unsigned threads, const DirectSumLanes& lanes);
std::unique_ptr<Potential> make_reference_potential(unsigned threads);

}  // namespace smallbatch
