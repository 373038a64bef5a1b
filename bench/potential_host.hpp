// The host's steps for potentials: what a user would write instead of the cpu backend, then that backend.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/ladder.hpp"
#include "core/potentials.hpp"

namespace smallbatch {

/// V at the points of some planes of a lattice, an Eigen array expression over all charges for each point, on one
/// thread. x, y, z relative to the lattice's origin. bench/eigen_rsqrt_baseline.cpp, compiled for the machine that it
/// is built on.
template <class T>
struct HostCharges {
  std::int64_t count = 0;
  const T *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
};
void potential_by_eigen(const HostCharges<float>& charges, const LatticeBatch& planes, float* potential);
void potential_by_eigen(const HostCharges<double>& charges, const LatticeBatch& planes, double* potential);

/// Eigen's row and the cpu backend's fastest instruction set, both on one thread, on `planes` planes from the middle of
/// the cubic lattice: the first rows of a ladder for all of it, with the same charges.
std::vector<Step> host_potential_steps(std::int64_t edge, std::int64_t charges, std::int64_t planes);

/// The ladder of these planes: Eigen, the cpu backend by instruction set, then by threads.
template <class T>
Ladder host_potential_ladder(std::int64_t edge, std::int64_t charges, std::int64_t planes);

}  // namespace smallbatch
