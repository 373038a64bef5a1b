// The steps between the host and production for the potential of one cubic lattice, in single precision:
//     V(p) = sum_i q_i / |p - r_i|,   p = spacing (x, y, z) with 0 <= x, y, z < edge
// They follow J. E. Stone et al., J. Comput. Chem. 28, 2618 (2007), and V. Volkov, "Unrolling parallel loops" (2011).
// No step inspects its input, and none treats charges on lattice points specially.
#pragma once

#include <cuda_runtime.h>

#include <vector>

namespace smallbatch {

struct PotentialStep {
  const char* name;
  const char* idea;
  /// Arrays lie on the device: charges (count) have x, y, z relative to the lattice's origin, and q; potential (edge,
  /// edge, edge). The launch is asynchronous on `stream`.
  void (*launch)(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream);
};

/// Steps in which a thread has points of one lattice row; bench/potential_by_points.cu.
std::vector<PotentialStep> potential_steps_by_points();

/// Steps in which a thread has points of several rows, a tile in registers; bench/potential_by_tiles.cu.
std::vector<PotentialStep> potential_steps_by_tiles();

/// Steps with tiles and coordinates in units of the charge; bench/potential_by_scaled_tiles.cu.
std::vector<PotentialStep> potential_steps_by_scaled_tiles();

}  // namespace smallbatch
