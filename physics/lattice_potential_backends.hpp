// The three implementations behind make_lattice_potential, each made in its own file.
#pragma once

#include <memory>

#include "physics/direct_sum_lanes.hpp"
#include "physics/lattice_potential.hpp"

namespace smallbatch {

std::unique_ptr<LatticePotential> make_cuda_lattice_potential(int device);
std::unique_ptr<LatticePotential> make_cpu_lattice_potential(unsigned threads, const DirectSumLanes& lanes);
std::unique_ptr<LatticePotential> make_reference_lattice_potential(unsigned threads);

}  // namespace smallbatch
