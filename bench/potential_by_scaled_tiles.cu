// V(p) = sum_i sign(q_i) / sqrt(|p - r_i|^2 / q_i^2). These are the tiles of potential_by_tiles.cu, with coordinates in
// units of the charge's magnitude. A root is then a term without its sign, and no root is multiplied by q. Roots of the
// special-function unit get the sign when they are added. Roots of software_rsqrt() get it from their seed. The points
// of a block lie in one plane, so they share dz^2/q^2.
//
// A block (32, 4) has 4 Y rows of one plane, with 32 X points of each. Charges are scaled on their way to shared
// memory. Each point has one sum in single precision.
#include <cstdint>

#include "bench/potential_steps.hpp"
#include "physics/charges/cuda/software_rsqrt.cuh"

namespace smallbatch {

namespace {

constexpr int lanes = 32, warps = 4, threads = lanes * warps;
constexpr int charges_in_shared_memory = 256;
constexpr int unroll = 4;

/// Lengths in units of |q|: the lattice's spacing, x and y of the charge, and its squared distance from the plane.
struct alignas(16) ScaledCharge {
  float spacing, x, y, dz2;
};

/// Sign of a charge, for both kinds of roots. `factor`, for the special-function unit: 1, -1, or 0 without a charge.
/// `magic`, for software: the constant of the seed.
struct alignas(8) Sign {
  float factor;
  int magic;
};

__device__ __forceinline__ ScaledCharge scaled(const float4& charge, float spacing, float z) {
  const float scale = 1 / fabsf(charge.w), dz = (z - charge.z) * scale;
  return {spacing * scale, charge.x * scale, charge.y * scale, dz * dz};
}

template <int X, int Y, int Period, int Degree>
__global__ void __launch_bounds__(threads)
    scaled_tiles(const float4* charges, int count, float spacing, int edge, float* potential) {
  __shared__ ScaledCharge shared_charges[charges_in_shared_memory];
  __shared__ Sign shared_signs[charges_in_shared_memory];
  const int column = blockIdx.x * lanes * X + threadIdx.x, row = (blockIdx.y * warps + threadIdx.y) * Y;
  float x[X], y[Y];  // registers, in units of the spacing
#pragma unroll
  for (int i = 0; i < X; ++i) x[i] = static_cast<float>(column + i * lanes);
#pragma unroll
  for (int j = 0; j < Y; ++j) y[j] = static_cast<float>(row + j);
  const float z = static_cast<float>(blockIdx.z) * spacing;

  float sum[Y][X] = {};  // registers
  for (int begin = 0; begin < count; begin += charges_in_shared_memory) {
    __syncthreads();  // all threads have read the previous charges
    for (int k = threadIdx.y * lanes + threadIdx.x; k < charges_in_shared_memory; k += threads) {
      const float4 charge = begin + k < count ? charges[begin + k] : float4{};
      shared_charges[k] = charge.w != 0 ? scaled(charge, spacing, z) : ScaledCharge{0, 1e18F, 1e18F, 1e36F};
      shared_signs[k] = {charge.w != 0 ? copysignf(1, charge.w) : 0, charge.w < 0 ? negative_rsqrt_magic : rsqrt_magic};
    }
    __syncthreads();  // the next charges are stored
#pragma unroll 1
    for (int first = 0; first < charges_in_shared_memory; first += unroll) {
#pragma unroll
      for (int k = 0; k < unroll; ++k) {
        const ScaledCharge charge = shared_charges[first + k];
        const Sign sign = shared_signs[first + k];
        float dx[X];
#pragma unroll
        for (int i = 0; i < X; ++i) dx[i] = fmaf(x[i], charge.spacing, -charge.x);
#pragma unroll
        for (int j = 0; j < Y; ++j) {
          const float dy = fmaf(y[j], charge.spacing, -charge.y), dyz2 = fmaf(dy, dy, charge.dz2);
#pragma unroll
          for (int i = 0; i < X; ++i) {
            const float r2 = fmaf(dx[i], dx[i], dyz2);
            if ((j * X + i) % Period == Period - 1) {
              const SoftwareRsqrt root = software_rsqrt<Degree>(r2, sign.magic);
              sum[j][i] = fmaf(root.seed, root.correction, sum[j][i]);
            } else {
              float root;
              asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(r2));
              sum[j][i] = fmaf(sign.factor, root, sum[j][i]);
            }
          }
        }
      }
    }
  }

#pragma unroll
  for (int j = 0; j < Y; ++j)
#pragma unroll
    for (int i = 0; i < X; ++i)
      if (row + j < edge && column + i * lanes < edge)
        potential[(static_cast<std::int64_t>(blockIdx.z) * edge + row + j) * edge + column + i * lanes] = sum[j][i];
}

template <int X, int Y, int Period, int Degree>
void launch(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream) {
  constexpr int columns = lanes * X, rows = warps * Y;
  const dim3 blocks(static_cast<unsigned>((edge + columns - 1) / columns),
                    static_cast<unsigned>((edge + rows - 1) / rows), static_cast<unsigned>(edge));
  scaled_tiles<X, Y, Period, Degree>
      <<<blocks, dim3(lanes, warps), 0, stream>>>(charges, count, spacing, edge, potential);
}

}  // namespace

std::vector<PotentialStep> potential_steps_by_scaled_tiles() {
  return {
      {"scaled_quarter_in_software", "coordinates in units of the charge: no multiplication by q, dz^2 once per block",
       launch<4, 4, 4, 4>},
      {"scaled_third_in_software", "the same, five of the 16 roots by multiply-adds", launch<4, 4, 3, 4>},
      {"scaled_third_in_software_cubic", "the same, degree 3", launch<4, 4, 3, 3>},
  };
}

}  // namespace smallbatch
