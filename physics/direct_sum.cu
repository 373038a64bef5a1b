// V(p) = f sum_i q_i / |s_i - p| on lattices: three kernels, each over all problems of a batch at once.
//
// prepare: a thread per charge shifts it to its lattice's origin in double precision, judges it, and notes it in a list
//   when a lattice point lies so near that the sum below cannot be trusted there (near_charges.hpp).
// sum: a thread sums 4 x 2 points of one xy-plane, in registers: dx^2 serves two points and dy^2 + dz^2 four, so that
//   a pair costs the root, a multiply-add and an addition, with a seventh of the rest; the special-function unit is the
//   limit. A thread's points are a quarter of nx apart in x and half of ny apart in y, so neighbouring threads store
//   neighbouring points and a lattice of any shape wastes little. A block's 128 threads read the charges through shared
//   memory, 256 at a time; all lanes read the same charge, a broadcast. Terms and partial sums of 32 charges are in T;
//   totals are double (float), or compensated (double).
// repair: a block per noted charge sums the points near it again, in double precision over all charges of the problem,
//   with displacements from the original coordinates, and applies the singularity policy. Two charges near one point
//   make two blocks write the same bits there: every sum has one fixed order.
#include "core/grid_stride.hpp"
#include "physics/direct_sum.cuh"
#include "physics/near_charges.hpp"
#include "physics/partial_sums.hpp"

namespace smallbatch {

namespace {

constexpr int points_in_x = 4, points_in_y = 2;  // of one thread
constexpr int sum_threads = 128;
constexpr int charges_in_shared_memory = 256;
constexpr int repair_threads = 256;
constexpr int warp_size = 32;
constexpr std::uint32_t not_finite = 1, out_of_range = 2;

/// Where a problem's lattice lies.
struct Placement {
  double origin[3], spacing[3];
  std::int64_t points[3];
  double singular_distance;
};

__device__ Placement placement(const LatticeBatch& lattice, std::int64_t problem) {
  Placement place;
  for (int axis = 0; axis < 3; ++axis) {
    place.origin[axis] = lattice.origin[3 * problem + axis];
    place.spacing[axis] = lattice.spacing[3 * problem + axis];
  }
  place.points[0] = lattice.shape.nx;
  place.points[1] = lattice.shape.ny;
  place.points[2] = lattice.shape.nz;
  place.singular_distance =
      singular_distance_in_spacings * fmin(fmin(place.spacing[0], place.spacing[1]), place.spacing[2]);
  return place;
}

/// The problem with offset[problem] <= charge < offset[problem + 1].
__device__ std::int64_t problem_of(const ChargeBatch& charges, std::int64_t charge) {
  std::int64_t low = 0, high = charges.count;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (charges.offset[middle] <= charge ? low : high) = middle;
  }
  return low;
}

/// position - origin along one axis, as the exact sum shifted + low.
struct ShiftedCoordinate {
  double shifted, low;
};
__device__ ShiftedCoordinate shift(double position, double origin) {
  const double shifted = position - origin, minus_origin = shifted - position;
  return {shifted, (position - (shifted - minus_origin)) - (origin + minus_origin)};
}

/// Lattice coordinate `index` minus the charge's, rounded only where the difference is already small.
__device__ double displacement(std::int64_t index, double spacing, ShiftedCoordinate charge) {
  return fma(static_cast<double>(index), spacing, -charge.shifted) - charge.low;
}

__device__ bool on_lattice_point(const Placement& place, const ShiftedCoordinate (&s)[3]) {
  double r2 = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t index = nearest_index(s[axis].shifted, place.spacing[axis], place.points[axis]);
    const double d = displacement(index, place.spacing[axis], s[axis]);
    r2 += d * d;
  }
  return r2 < place.singular_distance * place.singular_distance;
}

/// The lattice points, a box of them, that a charge makes untrustworthy.
template <class T>
__device__ void near_box(const Placement& place, const ShiftedCoordinate (&s)[3], IndexRange (&box)[3]) {
  const double norm = sqrt(s[0].shifted * s[0].shifted + s[1].shifted * s[1].shifted + s[2].shifted * s[2].shifted);
  const double radius = near_radius<T>(norm, place.singular_distance);
  for (int axis = 0; axis < 3; ++axis)
    box[axis] = near_indices(s[axis].shifted, place.spacing[axis], place.points[axis], radius);
}

/// A charge that adds nothing anywhere: zero, and where no lattice point is, so that 1/r is finite.
template <class T>
__device__ ShiftedCharge<T> no_charge() {
  constexpr T far = static_cast<T>(-4 * largest_input<T>);
  return {far, far, far, T{0}};
}

/// One charge: status, shifted copy, and whether it is noted for repair.
template <class T>
__device__ void prepare_charge(const ChargeBatch& charges, const LatticeBatch& lattice,
                               const DirectSumScratch<T>& scratch, std::int64_t index) {
  const std::int64_t charge = charges.offset[0] + index;
  const std::int64_t problem = problem_of(charges, charge);
  const Placement place = placement(lattice, problem);
  const double q = charges.charge[charge];

  ShiftedCoordinate s[3];
  bool finite = isfinite(q), in_range = fabs(q) <= largest_input<T>;
  for (int axis = 0; axis < 3; ++axis) {
    const double position = charges.position[3 * charge + axis];
    s[axis] = shift(position, place.origin[axis]);
    finite = finite && isfinite(position);
    in_range = in_range && fabs(s[axis].shifted) <= largest_input<T> &&
               static_cast<double>(place.points[axis] - 1) * place.spacing[axis] <= largest_input<T>;
  }
  if (!finite || !in_range) {
    atomicOr(&scratch.status[problem].faults, finite ? out_of_range : not_finite);
    return;  // the problem's values are NaN: its charges are not read
  }
  if (q == 0) {
    scratch.charges[index] = no_charge<T>();
    return;
  }
  scratch.charges[index] = {static_cast<T>(s[0].shifted), static_cast<T>(s[1].shifted), static_cast<T>(s[2].shifted),
                            static_cast<T>(q)};
  if (on_lattice_point(place, s)) atomicAdd(&scratch.status[problem].on_points, 1);
  IndexRange box[3];
  near_box<T>(place, s, box);
  if (!box[0].empty() && !box[1].empty() && !box[2].empty())
    scratch.near_charges[atomicAdd(scratch.near_count, 1ULL)] = charge;
}

template <class T>
__global__ void prepare_kernel(ChargeBatch charges, LatticeBatch lattice, DirectSumScratch<T> scratch,
                               std::int64_t charge_count) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for_each_index(first, step, charge_count,
                 [&](std::int64_t index) { prepare_charge<T>(charges, lattice, scratch, index); });
}

/// 1/sqrt(x). For float the hardware's approximation (2^-22.9 relative) with denormals flushed, on purpose: rsqrtf
/// spends three more instructions on denormals, which only points that are repaired can meet.
__device__ float inverse_sqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ double inverse_sqrt(double x) { return rsqrt(x); }

/// The sum of the partial sums of one point.
template <class T>
class Total;
template <>
class Total<float> {
 public:
  __device__ void add(float partial) { sum_ += static_cast<double>(partial); }
  [[nodiscard]] __device__ double value() const { return sum_; }

 private:
  double sum_ = 0;
};
template <>
class Total<double> {
 public:
  __device__ void add(double partial) {  // Knuth's two-sum keeps what the addition loses
    const double sum = sum_ + partial, gained = sum - sum_;
    lost_ += (sum_ - (sum - gained)) + (partial - gained);
    sum_ = sum;
  }
  [[nodiscard]] __device__ double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/// How the points of a lattice are dealt to threads: cell (cx, cy, plane) has the points x = cx + i * x, y = cy + j *
/// y, i < 4, j < 2, where these are below nx and ny.
struct Cells {
  std::int64_t x, y, blocks_per_problem, blocks;
};

Cells cells_of(const LatticeBatch& lattice, std::int64_t problems) {
  Cells cells{};
  cells.x = (lattice.shape.nx + points_in_x - 1) / points_in_x;
  cells.y = (lattice.shape.ny + points_in_y - 1) / points_in_y;
  cells.blocks_per_problem = (cells.x * cells.y * lattice.plane_count + sum_threads - 1) / sum_threads;
  cells.blocks = cells.blocks_per_problem * problems;
  return cells;
}

/// Adds the terms of one group of charges in shared memory to the partial sums.
template <class T>
__device__ void add_group(const ShiftedCharge<T>* charges, const T (&x)[points_in_x], const T (&y)[points_in_y], T z,
                          T (&partial)[points_in_y][points_in_x]) {
  T sum[points_in_y][points_in_x] = {};
#pragma unroll
  for (int k = 0; k < charges_per_group; ++k) {
    const ShiftedCharge<T> charge = charges[k];
    const T dz = z - charge.z, dz2 = dz * dz;
    T dx2[points_in_x];
#pragma unroll
    for (int i = 0; i < points_in_x; ++i) dx2[i] = (x[i] - charge.x) * (x[i] - charge.x);
#pragma unroll
    for (int j = 0; j < points_in_y; ++j) {
      const T dy = y[j] - charge.y, dyz2 = dy * dy + dz2;
#pragma unroll
      for (int i = 0; i < points_in_x; ++i) sum[j][i] += charge.q * inverse_sqrt(dx2[i] + dyz2);
    }
  }
#pragma unroll
  for (int j = 0; j < points_in_y; ++j)
#pragma unroll
    for (int i = 0; i < points_in_x; ++i) partial[j][i] += sum[j][i];
}

template <class T>
__device__ void sum_points(const ChargeBatch& charges, const LatticeBatch& lattice, const Cells& cells, double factor,
                           const PotentialResult<T>& result, const DirectSumScratch<T>& scratch, std::int64_t block) {
  __shared__ ShiftedCharge<T> shared_charges[charges_in_shared_memory];

  const std::int64_t problem = block / cells.blocks_per_problem;
  const std::int64_t cell = block % cells.blocks_per_problem * sum_threads + threadIdx.x;
  const std::int64_t cell_x = cell % cells.x, cell_y = cell / cells.x % cells.y, plane = cell / (cells.x * cells.y);
  const ProblemStatus status = scratch.status[problem];
  if (block % cells.blocks_per_problem == 0 && threadIdx.x == 0)
    result.info[problem] = (status.faults & not_finite) != 0     ? info_charges_not_finite
                           : (status.faults & out_of_range) != 0 ? info_charges_out_of_range
                                                                 : status.on_points;

  T x[points_in_x], y[points_in_y];
  const double* spacing = lattice.spacing + 3 * problem;
#pragma unroll
  for (int i = 0; i < points_in_x; ++i) x[i] = static_cast<T>(static_cast<double>(cell_x + i * cells.x) * spacing[0]);
#pragma unroll
  for (int j = 0; j < points_in_y; ++j) y[j] = static_cast<T>(static_cast<double>(cell_y + j * cells.y) * spacing[1]);
  const T z = static_cast<T>(static_cast<double>(lattice.first_plane + plane) * spacing[2]);

  Total<T> total[points_in_y][points_in_x];
  const std::int64_t first = charges.offset[problem] - charges.offset[0];
  const std::int64_t last = status.faults == 0 ? charges.offset[problem + 1] - charges.offset[0] : first;
  for (std::int64_t begin = first; begin < last; begin += charges_in_shared_memory) {
    const int loaded = static_cast<int>(min(static_cast<std::int64_t>(charges_in_shared_memory), last - begin));
    const int padded = (loaded + charges_per_group - 1) / charges_per_group * charges_per_group;
    __syncthreads();  // the charges before these have been read by all
    for (int i = threadIdx.x; i < padded; i += sum_threads)
      shared_charges[i] = i < loaded ? scratch.charges[begin + i] : no_charge<T>();
    __syncthreads();  // these are there

    for (int part = 0; part < padded; part += charges_per_partial_sum) {
      T partial[points_in_y][points_in_x] = {};
      const int end = min(part + charges_per_partial_sum, padded);
      for (int group = part; group < end; group += charges_per_group)
        add_group(shared_charges + group, x, y, z, partial);
#pragma unroll
      for (int j = 0; j < points_in_y; ++j)
#pragma unroll
        for (int i = 0; i < points_in_x; ++i) total[j][i].add(partial[j][i]);
    }
  }

  if (plane >= lattice.plane_count) return;
  T* const potential = result.potential + (problem * lattice.plane_count + plane) * lattice.shape.ny * lattice.shape.nx;
#pragma unroll
  for (int j = 0; j < points_in_y; ++j) {
    const std::int64_t row = cell_y + j * cells.y;
    if (row >= lattice.shape.ny) continue;
#pragma unroll
    for (int i = 0; i < points_in_x; ++i) {
      const std::int64_t column = cell_x + i * cells.x;
      if (column >= lattice.shape.nx) continue;
      potential[row * lattice.shape.nx + column] =
          status.faults == 0 ? static_cast<T>(factor * total[j][i].value()) : static_cast<T>(NAN);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(sum_threads)
    sum_kernel(ChargeBatch charges, LatticeBatch lattice, Cells cells, double factor, PotentialResult<T> result,
               DirectSumScratch<T> scratch) {
  for (std::int64_t block = blockIdx.x; block < cells.blocks; block += gridDim.x)
    sum_points(charges, lattice, cells, factor, result, scratch, block);
}

/// What repair sums at one point.
struct PointSums {
  double others = 0;     // q/r of the charges off the point
  double net = 0;        // q of those on it
  double magnitude = 0;  // |q| of those on it
  __device__ void add(const PointSums& more) {
    others += more.others;
    net += more.net;
    magnitude += more.magnitude;
  }
};

/// The sum over the block's threads, valid in thread 0.
__device__ PointSums sum_over_block(PointSums sums) {
  __shared__ PointSums warp_sums[repair_threads / warp_size];
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    PointSums other;
    other.others = __shfl_down_sync(0xffffffffU, sums.others, distance);
    other.net = __shfl_down_sync(0xffffffffU, sums.net, distance);
    other.magnitude = __shfl_down_sync(0xffffffffU, sums.magnitude, distance);
    sums.add(other);
  }
  __syncthreads();  // thread 0 has read the point before this one
  if (threadIdx.x % warp_size == 0) warp_sums[threadIdx.x / warp_size] = sums;
  __syncthreads();  // every warp's sum is there
  if (threadIdx.x == 0)
    for (int warp = 1; warp < repair_threads / warp_size; ++warp) sums.add(warp_sums[warp]);
  return sums;
}

template <class T>
__device__ void repair_point(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                             const PotentialResult<T>& result, const Placement& place, std::int64_t problem,
                             const std::int64_t (&index)[3]) {
  PointSums sums;
  const double singular_distance_squared = place.singular_distance * place.singular_distance;
  for (std::int64_t i = charges.offset[problem] + threadIdx.x; i < charges.offset[problem + 1]; i += repair_threads) {
    double r2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const ShiftedCoordinate s = shift(charges.position[3 * i + axis], place.origin[axis]);
      const double d = displacement(index[axis], place.spacing[axis], s);
      r2 += d * d;
    }
    const double q = charges.charge[i];
    if (r2 < singular_distance_squared) {
      sums.net += q;
      sums.magnitude += fabs(q);
    } else {
      sums.others += q * rsqrt(r2);
    }
  }
  sums = sum_over_block(sums);
  if (threadIdx.x != 0) return;
  const std::int64_t plane = problem * lattice.plane_count + index[2] - lattice.first_plane;
  result.potential[(plane * lattice.shape.ny + index[1]) * lattice.shape.nx + index[0]] =
      static_cast<T>(apply_singularity(options.singular, options.unit_factor * sums.others, sums.net, sums.magnitude));
}

template <class T>
__global__ void __launch_bounds__(repair_threads)
    repair_kernel(ChargeBatch charges, LatticeBatch lattice, PotentialOptions options, PotentialResult<T> result,
                  DirectSumScratch<T> scratch) {
  const auto near_count = static_cast<std::int64_t>(*scratch.near_count);
  for (std::int64_t entry = blockIdx.x; entry < near_count; entry += gridDim.x) {
    const std::int64_t charge = scratch.near_charges[entry];
    const std::int64_t problem = problem_of(charges, charge);
    if (scratch.status[problem].faults != 0) continue;
    const Placement place = placement(lattice, problem);
    ShiftedCoordinate s[3];
    for (int axis = 0; axis < 3; ++axis) s[axis] = shift(charges.position[3 * charge + axis], place.origin[axis]);
    IndexRange box[3];
    near_box<T>(place, s, box);
    const std::int64_t first_plane = max(box[2].first, lattice.first_plane);
    const std::int64_t last_plane = min(box[2].last, lattice.first_plane + lattice.plane_count - 1);
    for (std::int64_t z = first_plane; z <= last_plane; ++z)
      for (std::int64_t y = box[1].first; y <= box[1].last; ++y)
        for (std::int64_t x = box[0].first; x <= box[0].last; ++x)
          repair_point(charges, lattice, options, result, place, problem, {x, y, z});
  }
}

/// Blocks for `items`, `per_block` each, within what a launch takes; the kernels stride over the rest.
unsigned grid_size(std::int64_t items, std::int64_t per_block, std::int64_t most) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

}  // namespace

template <class T>
cudaError_t direct_sum(const ChargeBatch& charges, std::int64_t charge_count, const LatticeBatch& lattice,
                       const PotentialOptions& options, const PotentialResult<T>& result,
                       const DirectSumScratch<T>& scratch, cudaStream_t stream) {
  if (charges.count == 0) return cudaSuccess;
  constexpr std::int64_t most_blocks = 0x7fffffff;
  constexpr int prepare_threads = 256;
  constexpr std::int64_t most_repair_blocks = 4096;
  const auto bytes = static_cast<std::size_t>(charges.count) * sizeof(ProblemStatus);
  if (const cudaError_t status = cudaMemsetAsync(scratch.status, 0, bytes, stream); status != cudaSuccess)
    return status;
  if (charge_count > 0) {
    if (const cudaError_t status = cudaMemsetAsync(scratch.near_count, 0, sizeof(*scratch.near_count), stream);
        status != cudaSuccess)
      return status;
    prepare_kernel<T><<<grid_size(charge_count, prepare_threads, most_blocks), prepare_threads, 0, stream>>>(
        charges, lattice, scratch, charge_count);
  }
  const Cells cells = cells_of(lattice, charges.count);
  sum_kernel<T><<<grid_size(cells.blocks, 1, most_blocks), sum_threads, 0, stream>>>(
      charges, lattice, cells, options.unit_factor, result, scratch);
  if (charge_count > 0)
    repair_kernel<T><<<grid_size(charge_count, 1, most_repair_blocks), repair_threads, 0, stream>>>(
        charges, lattice, options, result, scratch);
  return cudaGetLastError();
}

template cudaError_t direct_sum<float>(const ChargeBatch&, std::int64_t, const LatticeBatch&, const PotentialOptions&,
                                       const PotentialResult<float>&, const DirectSumScratch<float>&, cudaStream_t);
template cudaError_t direct_sum<double>(const ChargeBatch&, std::int64_t, const LatticeBatch&, const PotentialOptions&,
                                        const PotentialResult<double>&, const DirectSumScratch<double>&, cudaStream_t);

}  // namespace smallbatch
