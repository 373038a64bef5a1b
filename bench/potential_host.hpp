// Steps on the host for potentials: code that a user could write instead of the cpu backend, then that backend.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/ladder.hpp"
#include "core/potentials.hpp"

namespace smallbatch {

/// Charges for potential_by_eigen(); x, y and z are relative to the lattice's origin.
template <class T>
struct HostCharges {
  std::int64_t count = 0;
  const T *x = nullptr, *y = nullptr, *z = nullptr, *q = nullptr;
};
/// Computes V at the points of `planes`, on one thread. For each point it evaluates an Eigen array expression over all
/// charges. The function is in bench/eigen_rsqrt_baseline.cpp, which is compiled for the machine that builds.
void potential_by_eigen(const HostCharges<float>& charges, const LatticeBatch& planes, float* potential);
void potential_by_eigen(const HostCharges<double>& charges, const LatticeBatch& planes, double* potential);

/// First rows of a ladder for a cubic lattice: Eigen, and the fastest instruction set of the cpu backend. Both run on
/// one thread, on `planes` planes from the middle of the lattice, with all charges.
std::vector<Step> host_potential_steps(std::int64_t edge, std::int64_t charges, std::int64_t planes);

/// Ladder for `planes` planes of the lattice: Eigen, then the cpu backend by instruction set and by number of threads.
template <class T>
Ladder host_potential_ladder(std::int64_t edge, std::int64_t charges, std::int64_t planes);

}  // namespace smallbatch
