// V(p) = sum_i q_i / |p - r_i| with a tile of X x Y points of a plane per thread. The points of a tile share each
// charge that is read. Points with the same x share dx, and points with the same y share dy^2 + dz^2. A pair then needs
// two multiply-adds and a reciprocal root. The special-function unit is the limit: it computes 16 roots per clock and
// multiprocessor. Later steps move a part of the roots to the arithmetic pipes.
//
// A block (32, 4) has 4 Y rows of one plane, with 32 X points of each. Neighbouring points of a thread are 32 points
// apart in x. Charges pass through shared memory.
#include <cstdint>

#include "bench/potential_steps.hpp"
#include "physics/charges/cuda/software_rsqrt.cuh"

namespace smallbatch {

namespace {

constexpr int lanes = 32, warps = 4, threads = lanes * warps;
constexpr int charges_in_shared_memory = 256;

/// How the terms of a point are added up.
enum class Sums {
  single,          ///< one sum in single precision
  totals_per_256,  ///< sums of 256 charges in single precision, added in double precision
  two_levels,      ///< sums of 32 charges in single precision, as 4 groups of 8, added in double precision
};

/// Adds q/sqrt(r2) to `sum`. The constant `turn` numbers the pairs. MixedRoot decides by `turn` how to compute the
/// root.
struct FullRoot {
  static __device__ __forceinline__ void add(float q, float r2, int /*turn*/, float& sum) { sum += q * rsqrtf(r2); }
};

/// Adds a root without the three instructions that rsqrtf spends on denormals.
struct HardwareRoot {
  static __device__ __forceinline__ void add(float q, float r2, int /*turn*/, float& sum) {
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(r2));
    sum = fmaf(q, root, sum);
  }
};

/// Computes every `Period`-th root by software_rsqrt(), and all others by the special-function unit.
template <int Period, int Degree>
struct MixedRoot {
  static __device__ __forceinline__ void add(float q, float r2, int turn, float& sum) {
    if (turn % Period != Period - 1) return HardwareRoot::add(q, r2, turn, sum);
    const SoftwareRsqrt root = software_rsqrt<Degree>(r2);
    sum = fmaf(q * root.seed, root.correction, sum);
  }
};

/// Coordinates of a thread's points.
template <int X, int Y>
struct Tile {
  float x[X], y[Y], z;
};

/// Adds the terms of `Count` charges, `Unroll` at a time. MixedRoot computes the roots of some points by
/// software_rsqrt(). Without Rotate, these are the same points for every charge. With Rotate, they change from charge
/// to charge.
template <int Count, int Unroll, bool Rotate, class Root, int X, int Y>
__device__ __forceinline__ void add_charges(const float4* charges, const Tile<X, Y>& tile, float (&sum)[Y][X]) {
  static_assert(Count % Unroll == 0);
#pragma unroll 1
  for (int begin = 0; begin < Count; begin += Unroll) {
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      const float4 charge = charges[begin + k];
      const float dz = tile.z - charge.z, dz2 = dz * dz;
      float dx2[X];
#pragma unroll
      for (int i = 0; i < X; ++i) dx2[i] = (tile.x[i] - charge.x) * (tile.x[i] - charge.x);
#pragma unroll
      for (int j = 0; j < Y; ++j) {
        const float dy = tile.y[j] - charge.y, dyz2 = dy * dy + dz2;
#pragma unroll
        for (int i = 0; i < X; ++i) Root::add(charge.w, dx2[i] + dyz2, j * X + i + (Rotate ? k : 0), sum[j][i]);
      }
    }
  }
}

/// Adds `sum` to `total`, element by element, and sets `sum` to 0.
template <class Total, int X, int Y>
__device__ __forceinline__ void carry(float (&sum)[Y][X], Total (&total)[Y][X]) {
#pragma unroll
  for (int j = 0; j < Y; ++j)
#pragma unroll
    for (int i = 0; i < X; ++i) {
      total[j][i] += sum[j][i];
      sum[j][i] = 0;
    }
}

template <int X, int Y, class Root, int Unroll, Sums sums, bool Rotate>
__global__ void __launch_bounds__(threads)
    tiles(const float4* charges, int count, float spacing, int edge, float* potential) {
  __shared__ float4 shared_charges[charges_in_shared_memory];
  const int column = blockIdx.x * lanes * X + threadIdx.x, row = (blockIdx.y * warps + threadIdx.y) * Y;
  Tile<X, Y> tile;
#pragma unroll
  for (int i = 0; i < X; ++i) tile.x[i] = static_cast<float>(column + i * lanes) * spacing;
#pragma unroll
  for (int j = 0; j < Y; ++j) tile.y[j] = static_cast<float>(row + j) * spacing;
  tile.z = static_cast<float>(blockIdx.z) * spacing;

  float sum[Y][X] = {};     // registers
  double total[Y][X] = {};  // registers; unused if there are no totals
  for (int begin = 0; begin < count; begin += charges_in_shared_memory) {
    __syncthreads();  // all threads have read the previous charges
    for (int k = threadIdx.y * lanes + threadIdx.x; k < charges_in_shared_memory; k += threads)
      // Beyond the last charge, a charge of 0 is stored that is far from all points.
      shared_charges[k] = begin + k < count ? charges[begin + k] : float4{-1e15F, -1e15F, -1e15F, 0};
    __syncthreads();  // the next charges are stored
    if constexpr (sums == Sums::two_levels) {
      constexpr int per_group = 8, per_partial_sum = 32;
#pragma unroll 1
      for (int part = 0; part < charges_in_shared_memory; part += per_partial_sum) {
        float partial[Y][X] = {};  // registers
#pragma unroll 1
        for (int group = part; group < part + per_partial_sum; group += per_group) {
          add_charges<per_group, Unroll, Rotate, Root>(shared_charges + group, tile, sum);
          carry(sum, partial);
        }
        carry(partial, total);
      }
    } else {
      add_charges<charges_in_shared_memory, Unroll, Rotate, Root>(shared_charges, tile, sum);
      if constexpr (sums == Sums::totals_per_256) carry(sum, total);
    }
  }

#pragma unroll
  for (int j = 0; j < Y; ++j)
#pragma unroll
    for (int i = 0; i < X; ++i)
      if (row + j < edge && column + i * lanes < edge)
        potential[(static_cast<std::int64_t>(blockIdx.z) * edge + row + j) * edge + column + i * lanes] =
            sums == Sums::single ? sum[j][i] : static_cast<float>(total[j][i]);
}

template <int X, int Y, class Root, int Unroll, Sums sums = Sums::single, bool Rotate = false>
void launch(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream) {
  constexpr int columns = lanes * X, rows = warps * Y;
  const dim3 blocks(static_cast<unsigned>((edge + columns - 1) / columns),
                    static_cast<unsigned>((edge + rows - 1) / rows), static_cast<unsigned>(edge));
  tiles<X, Y, Root, Unroll, sums, Rotate>
      <<<blocks, dim3(lanes, warps), 0, stream>>>(charges, count, spacing, edge, potential);
}

}  // namespace

std::vector<PotentialStep> potential_steps_by_tiles() {
  using Quarter3 = MixedRoot<4, 3>;
  using Quarter4 = MixedRoot<4, 4>;
  return {
      {"tile_4x2", "a tile of 4 x 2 points per thread: dx serves two rows, dy^2 + dz^2 four columns",
       launch<4, 2, FullRoot, 2>},
      {"tile_4x4", "4 x 4 points", launch<4, 4, FullRoot, 2>},
      {"tile_8x2", "8 x 2 points", launch<8, 2, FullRoot, 2>},
      {"tile_4x2_hardware_root", "rsqrt.approx.ftz in place of rsqrtf, which looks after denormals",
       launch<4, 2, HardwareRoot, 2>},
      {"tile_4x4_hardware_root", "the same on 4 x 4 points", launch<4, 4, HardwareRoot, 2>},
      {"tile_8x2_hardware_root", "the same on 8 x 2 points", launch<8, 2, HardwareRoot, 2>},
      {"eighth_in_software", "4 x 4 points, two of them with a root of seed and cubic; four charges at a time",
       launch<4, 4, MixedRoot<8, 3>, 4>},
      {"quarter_in_software", "four of the 16 points", launch<4, 4, Quarter3, 4>},
      {"third_in_software", "five of the 16 points", launch<4, 4, MixedRoot<3, 3>, 4>},
      {"quarter_in_software_4x2", "two of 4 x 2 points", launch<4, 2, Quarter3, 4>},
      {"quarter_in_software_8x2", "four of 8 x 2 points", launch<8, 2, Quarter3, 4>},
      {"quarter_in_software_quartic", "four of 4 x 4 points, degree 4: as exact as the hardware's root",
       launch<4, 4, Quarter4, 4>},
      {"quarter_in_software_rotating",
       "the same, but these points change with every charge, so all points have the same mix of roots",
       launch<4, 4, Quarter4, 4, Sums::single, true>},
      {"totals_per_256", "degree 4, points fixed; sums over 256 charges are added in double precision",
       launch<4, 4, Quarter4, 4, Sums::totals_per_256>},
      {"two_levels_of_partial_sums",
       "sums over 8 charges; four sums are added in single precision, and the results in double precision",
       launch<4, 4, Quarter4, 4, Sums::two_levels>},
  };
}

}  // namespace smallbatch
