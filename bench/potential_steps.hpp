// The steps between a host and production for the potential of one cubic lattice, in single precision:
//     V(p) = sum_i q_i / |p - r_i|,   p = spacing (x, y, z) with 0 <= x, y, z < edge
// After J. E. Stone et al., J. Comput. Chem. 28, 2618 (2007), and V. Volkov, "Unrolling parallel loops" (2011). No
// step inspects its input, and a charge on a lattice point is not looked after.
#pragma once

#include <cuda_runtime.h>

#include <vector>

namespace smallbatch {

struct PotentialStep {
  const char* name;
  const char* idea;
  /// charges (count): x, y, z relative to the lattice's origin and q; potential (edge, edge, edge); on the device.
  /// Asynchronous on `stream`.
  void (*launch)(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream);
};

/// A thread has points of one row of the lattice; bench/potential_by_points.cu.
std::vector<PotentialStep> potential_steps_by_points();

/// A thread has points of several rows, a tile in registers; bench/potential_by_tiles.cu.
std::vector<PotentialStep> potential_steps_by_tiles();

/// Such tiles, every charge's magnitude in its coordinates; bench/potential_by_scaled_tiles.cu.
std::vector<PotentialStep> potential_steps_by_scaled_tiles();

}  // namespace smallbatch
