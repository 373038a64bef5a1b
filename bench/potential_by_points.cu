// V(p) = sum_i q_i / |p - r_i| with 1, 4 or 8 points of a lattice row per thread. These points share each charge that
// the thread reads, and dy^2 + dz^2. A pair then needs a difference, two multiply-adds and a reciprocal root.
//
// A block (32, 4) has 4 rows of one plane, with 32 Points points of each. Each point has one sum in single precision.
#include <cstdint>

#include "bench/potential_steps.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

constexpr int lanes = 32, rows = 4, threads = lanes * rows;
constexpr int charges_in_constant_memory = 4096;  // 64 KiB, the whole constant memory
constexpr int charges_in_shared_memory = 256;

/// How the points of a row are distributed. Each thread has neighbouring points, or every 32nd point of a run.
enum class Deal { neighbours, warp_apart };

__constant__ float4 constant_charges[charges_in_constant_memory];

/// Points of a thread, with their sums.
template <int Points, Deal deal>
class RowOfPoints {
 public:
  __device__ explicit RowOfPoints(float spacing)
      : first_(deal == Deal::warp_apart ? blockIdx.x * lanes * Points + threadIdx.x
                                        : (blockIdx.x * lanes + threadIdx.x) * Points),
        row_(blockIdx.y * rows + threadIdx.y),
        y_(static_cast<float>(row_) * spacing),
        z_(static_cast<float>(blockIdx.z) * spacing) {
#pragma unroll
    for (int i = 0; i < Points; ++i) x_[i] = static_cast<float>(column(i)) * spacing;
  }

  __device__ __forceinline__ void add(const float4& charge) {
    const float dy = y_ - charge.y, dz = z_ - charge.z, dyz2 = dy * dy + dz * dz;
#pragma unroll
    for (int i = 0; i < Points; ++i) {
      const float dx = x_[i] - charge.x;
      sum_[i] += charge.w * rsqrtf(dx * dx + dyz2);
    }
  }

  /// Stores the sums, or adds them to the stored values.
  __device__ void store(int edge, bool first_charges, float* potential) const {
    if (row_ >= edge) return;
    float* const to = potential + (static_cast<std::int64_t>(blockIdx.z) * edge + row_) * edge;
#pragma unroll
    for (int i = 0; i < Points; ++i)
      if (column(i) < edge) to[column(i)] = first_charges ? sum_[i] : to[column(i)] + sum_[i];
  }

 private:
  [[nodiscard]] __device__ int column(int i) const { return first_ + i * (deal == Deal::warp_apart ? lanes : 1); }

  int first_, row_;
  float y_, z_;
  float x_[Points];         // registers
  float sum_[Points] = {};  // registers
};

/// Sums the charges that are in constant memory. All lanes read the same charge at a time.
template <int Points, Deal deal>
__global__ void __launch_bounds__(threads)
    from_constant_memory(int count, float spacing, int edge, bool first_charges, float* potential) {
  RowOfPoints<Points, deal> points(spacing);
#pragma unroll 4
  for (int k = 0; k < count; ++k) points.add(constant_charges[k]);
  points.store(edge, first_charges, potential);
}

/// Sums all charges, which pass through shared memory.
template <int Points, Deal deal>
__global__ void __launch_bounds__(threads)
    from_shared_memory(const float4* charges, int count, float spacing, int edge, float* potential) {
  __shared__ float4 shared_charges[charges_in_shared_memory];
  RowOfPoints<Points, deal> points(spacing);
  for (int begin = 0; begin < count; begin += charges_in_shared_memory) {
    const int loaded = min(charges_in_shared_memory, count - begin);
    __syncthreads();  // all threads have read the previous charges
    for (int k = threadIdx.y * lanes + threadIdx.x; k < loaded; k += threads) shared_charges[k] = charges[begin + k];
    __syncthreads();  // the next charges are stored
#pragma unroll 4
    for (int k = 0; k < loaded; ++k) points.add(shared_charges[k]);
  }
  points.store(edge, true, potential);
}

template <int Points>
dim3 blocks_of(int edge) {
  constexpr int columns = lanes * Points;
  return dim3(static_cast<unsigned>((edge + columns - 1) / columns), static_cast<unsigned>((edge + rows - 1) / rows),
              static_cast<unsigned>(edge));
}

template <int Points, Deal deal>
void launch_constant(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream) {
  for (int begin = 0; begin < count; begin += charges_in_constant_memory) {
    const int batch = count - begin < charges_in_constant_memory ? count - begin : charges_in_constant_memory;
    check(cudaMemcpyToSymbolAsync(constant_charges, charges + begin, static_cast<std::size_t>(batch) * sizeof(float4),
                                  0, cudaMemcpyDeviceToDevice, stream));
    from_constant_memory<Points, deal>
        <<<blocks_of<Points>(edge), dim3(lanes, rows), 0, stream>>>(batch, spacing, edge, begin == 0, potential);
  }
}

template <int Points, Deal deal>
void launch_shared(const float4* charges, int count, float spacing, int edge, float* potential, cudaStream_t stream) {
  from_shared_memory<Points, deal>
      <<<blocks_of<Points>(edge), dim3(lanes, rows), 0, stream>>>(charges, count, spacing, edge, potential);
}

}  // namespace

std::vector<PotentialStep> potential_steps_by_points() {
  return {
      {"one_point_constant", "a thread per point; charges in constant memory, 4096 per launch, sums added up",
       launch_constant<1, Deal::neighbours>},
      {"one_point_shared", "charges through shared memory, all in one launch", launch_shared<1, Deal::neighbours>},
      {"four_points_constant", "four neighbours in x share what is read of a charge, and dy^2 + dz^2",
       launch_constant<4, Deal::neighbours>},
      {"four_points_shared", "the same, charges through shared memory", launch_shared<4, Deal::neighbours>},
      {"eight_points_constant", "eight neighbours in x", launch_constant<8, Deal::neighbours>},
      {"eight_points_shared", "the same, charges through shared memory", launch_shared<8, Deal::neighbours>},
      {"four_points_constant_coalesced", "the points of a thread lie a warp apart, so that stores are coalesced",
       launch_constant<4, Deal::warp_apart>},
      {"four_points_shared_coalesced", "the same, charges through shared memory", launch_shared<4, Deal::warp_apart>},
      {"eight_points_constant_coalesced", "eight points, a warp apart", launch_constant<8, Deal::warp_apart>},
      {"eight_points_shared_coalesced", "the same, charges through shared memory", launch_shared<8, Deal::warp_apart>},
  };
}

}  // namespace smallbatch
