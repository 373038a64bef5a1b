// The three implementations behind make_lattice_potential, each made in its own file.
#pragma once

#include <memory>

#include "physics/direct_sum_lanes.hpp"
#include "physics/lattice_potential.hpp"

namespace smallbatch {

std::unique_ptr<LatticePotential> make_lattice_potential_cuda(int device);
std::unique_ptr<LatticePotential> make_lattice_potential_cpu(unsigned threads, const DirectSumLanes& lanes);
std::unique_ptr<LatticePotential> make_lattice_potential_reference(unsigned threads);

}  // namespace smallbatch
