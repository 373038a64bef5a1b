// V and E at points, and at the charges themselves. Three kernels each handle all problems of a batch.
//
// Check: sets bits in `info` for faults in the charges and points of each problem.
//
// point_kernel: a thread keeps four points in registers, and all four use each charge that it reads from shared memory.
// The smallest r^2 of a point tells whether a sum in T is accurate enough (summed_in_double.hpp). If not, a warp sums
// the point again in double precision, from the original coordinates, and applies the singularity policy. If the points
// are the charges, the sum at a charge leaves out this charge, which its index identifies. Indices are compared only
// while a block's own charges are in shared memory.
//
// Finish: turns these bits into the statuses of core/potentials.hpp.
#include <algorithm>

#include "core/gpu_plans.cuh"
#include "core/grid_stride.cuh"
#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/cuda/pieces.cuh"

namespace smallbatch {

namespace {

constexpr int points_per_thread = 4, point_threads = 128, points_per_block = points_per_thread * point_threads;
constexpr int charges_staged = 256;
static_assert(charges_staged % charges_per_sum == 0);
constexpr unsigned fault_mark = 0x80000000U;  // in info, until Finish has run

/// Returns the faults of a position. Its range is checked only if the problem has an origin.
template <class T>
__device__ unsigned faults_of(const double* position, const double* origin) {
  unsigned faults = 0;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    if (!isfinite(position[axis])) faults |= not_finite;
    if (origin != nullptr && !(fabs(position[axis] - origin[axis]) <= largest_input<T>)) faults |= out_of_range;
  }
  return (faults & not_finite) != 0 ? not_finite : faults;
}

/// Checks charge `index` of the batch, or point index - charge_count if `index` is charge_count or more.
template <class T>
struct Check {
  ChargeBatch charges;
  PointBatch points;
  std::int64_t charge_count;
  std::int32_t* info;
  __device__ void operator()(std::int64_t index) const {
    const bool is_charge = index < charge_count;
    const std::int64_t* offset = is_charge ? charges.offset : points.offset;
    const std::int64_t place = offset[0] + (is_charge ? index : index - charge_count);
    const std::int64_t problem = problem_at([&](std::int64_t p) { return offset[p]; }, charges.count, place);
    const bool has_origin =
        points.offset[problem] < points.offset[problem + 1] &&
        charges.offset[problem] < charges.offset[problem + 1];  // without an origin, the range is not checked
    const double* origin = has_origin ? points.position + 3 * points.offset[problem] : nullptr;
    unsigned faults = faults_of<T>((is_charge ? charges.position : points.position) + 3 * place, origin);
    if (is_charge) {
      const double q = charges.charge[place];
      if (!isfinite(q)) faults = not_finite;
      if (has_origin && !(fabs(q) <= largest_input<T>)&&faults == 0) faults = out_of_range;
    }
    if (faults != 0) atomicOr(reinterpret_cast<unsigned*>(info + problem), fault_mark | faults);
  }
};

/// Finishes the status of one problem.
struct Finish {
  std::int32_t* info;
  __device__ void operator()(std::int64_t problem) const {
    if (info[problem] < 0) info[problem] = info_of_faults(static_cast<unsigned>(info[problem]));
  }
};

/// A charge as the inner loop reads it: relative to the origin, in the precision of the sum.
template <class T>
struct alignas(16) ShiftedCharge {
  T x, y, z, q;
};

template <class T, int Values>
struct PointMemory {
  ShiftedCharge<T> charge[charges_staged];
  T total[Values][points_per_thread][point_threads];
  unsigned again[points_per_block / warp_lanes];  // one bit per point: it is summed again
  double farthest;  // distance of the farthest charge in shared memory from the origin; infinite if T cannot hold a
                    // charge's terms
};

/// Square of the largest distance that is summed in T.
template <class T>
inline constexpr T farthest2 = static_cast<T>(largest_input<T>* largest_input<T>);

/// Adds the terms of one charge. If `self`, this charge is the point itself and adds nothing. `smallest` is the
/// smallest r^2 of the point so far.
template <class T, bool Field, bool Cutoff>
__device__ __forceinline__ void add_charge(const ShiftedCharge<T>& charge, T x, T y, T z, bool self,
                                           const Truncation<T>& truncation, T (&sum)[Field ? 4 : 1], T& smallest) {
  const T dx = x - charge.x, dy = y - charge.y, dz = z - charge.z;
  T r2 = fma(dx, dx, fma(dy, dy, multiply(dz, dz))), q = charge.q;
  if (self) {
    q = 0;
    r2 = farthest2<T>;
  }
  smallest = min(smallest, r2);
  const Term<T> term = term_of<Cutoff>(r2 + truncation.softening2, truncation);
  sum[0] = fma(q, term.g, sum[0]);
  if constexpr (Field) {
    const T slope = multiply(q, term.slope);
    sum[1] = fma(dx, slope, sum[1]);
    sum[2] = fma(dy, slope, sum[2]);
    sum[3] = fma(dz, slope, sum[3]);
  }
}

/// Sums point `index` of the problem again. The lanes of a warp share the charges. Returns whether a charge lies on the
/// point.
template <class T>
__device__ __forceinline__ bool sum_again(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                                          std::int64_t problem, std::int64_t index, const PotentialOptions& options,
                                          const PotentialResult<T>& result) {
  const std::int64_t place = points.offset[problem] + index;
  const double* p = points.position + 3 * place;
  TargetSums sums;
#pragma unroll 1
  for (std::int64_t i = charges.offset[problem] + threadIdx.x % warp_lanes; i < charges.offset[problem + 1];
       i += warp_lanes) {
    if (at_charges && i == place) continue;
    const double d[3] = {p[0] - charges.position[3 * i], p[1] - charges.position[3 * i + 1],
                         p[2] - charges.position[3 * i + 2]};
    sums.add_charge(charges.charge[i], d, singular_distance_of_points * singular_distance_of_points, options);
  }
  sums = sum_over_warp(sums);
  if (threadIdx.x % warp_lanes == 0) store_exact(result, place - points.offset[0], sums, options);
  return sums.magnitude > 0;
}

/// Least number of blocks that share a multiprocessor. It limits the registers of a thread. A larger number would make
/// the compiler spill registers.
template <class T>
inline constexpr int point_blocks = is_single<T> ? 6 : 4;

template <class T, bool Field, bool Cutoff>
__global__ void __launch_bounds__(point_threads,
                                  resident_blocks(point_blocks<T>, Field && !is_single<T> ? 2 : point_blocks<T>))
    point_kernel(ChargeBatch charges, PointBatch points, bool at_charges, PotentialOptions options,
                 Truncation<T> truncation, PotentialResult<T> result) {
  constexpr int values = Field ? 4 : 1;
  using M = PointMemory<T, values>;
  extern __shared__ char shared_memory[];
  M& memory = *reinterpret_cast<M*>(shared_memory);
  const auto first_of = [&](std::int64_t p) { return points.offset[p] - points.offset[0]; };
  const Piece piece = piece_of(first_of, charges.count, points_per_block, blockIdx.x);
  if (piece.first >= piece.last) return;
  const std::int64_t problem = piece.problem;
  const std::int64_t first = piece.first - first_of(problem);  // counted from the problem's first point
  const std::int64_t count = points.offset[problem + 1] - points.offset[problem];
  const double* origin = points.position + 3 * points.offset[problem];
  const bool faulty = result.info[problem] < 0;

  for (int i = threadIdx.x; i < points_per_block / warp_lanes; i += point_threads) memory.again[i] = 0;
  T x[points_per_thread], y[points_per_thread], z[points_per_thread];
  bool beyond[points_per_thread];  // T cannot hold the point's terms
#pragma unroll
  for (int p = 0; p < points_per_thread; ++p) {
    const std::int64_t index = min(first + p * point_threads + static_cast<std::int64_t>(threadIdx.x), count - 1);
    const double* position = origin + 3 * index;
    x[p] = static_cast<T>(position[0] - origin[0]);
    y[p] = static_cast<T>(position[1] - origin[1]);
    z[p] = static_cast<T>(position[2] - origin[2]);
    const double extent =
        fmax(fabs(position[0] - origin[0]), fmax(fabs(position[1] - origin[1]), fabs(position[2] - origin[2])));
    beyond[p] = is_single<T> && leaves_single_range(options, Field, extent, 0);
#pragma unroll
    for (int v = 0; v < values; ++v) memory.total[v][p][threadIdx.x] = 0;
  }
  T sum[points_per_thread][values] = {};

  const std::int64_t last = faulty ? charges.offset[problem] : charges.offset[problem + 1];
#pragma unroll 1
  for (std::int64_t begin = charges.offset[problem]; begin < last; begin += charges_staged) {
    __syncthreads();  // all threads have read the previous charges, and the marks are clear
    double farthest = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < charges_staged; i += point_threads) {
      constexpr T nowhere = far_from_all<T>;
      ShiftedCharge<T> staged{nowhere, nowhere, nowhere, T{0}};
      if (begin + i < last) {
        const double* position = charges.position + 3 * (begin + i);
        const double q = charges.charge[begin + i];
        const double s[3] = {position[0] - origin[0], position[1] - origin[1], position[2] - origin[2]};
        if (q != 0) {
          staged = {static_cast<T>(s[0]), static_cast<T>(s[1]), static_cast<T>(s[2]), static_cast<T>(q)};
          const double norm = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
          farthest =
              fmax(farthest, is_single<T> && leaves_single_range(options, Field, norm, fabs(q)) ? HUGE_VAL : norm);
        }
      }
      memory.charge[i] = staged;
    }
    // All threads use the distance of the farthest staged charge. Every block that stages these charges therefore has
    // the same radius.
    if (threadIdx.x == 0) memory.farthest = 0;
    __syncthreads();  // the new charges are there
    atomicMax(reinterpret_cast<unsigned long long*>(&memory.farthest), __double_as_longlong(farthest));
    __syncthreads();  // the farthest charge is known
    const double radius = 1.05 * near_radius<T>(memory.farthest, singular_distance_of_points, Field);
    const auto near2 = static_cast<T>(radius * radius);

    const auto staged = static_cast<int>(min(last - begin, static_cast<std::int64_t>(charges_staged)));
    // The block's own charges are first .. first + points_per_block - 1 of the problem.
    const std::int64_t here = begin - charges.offset[problem];
    const bool meets_itself = at_charges && here < first + points_per_block && here + charges_staged > first;
    T smallest[points_per_thread];
#pragma unroll
    for (int p = 0; p < points_per_thread; ++p) smallest[p] = beyond[p] ? T{0} : farthest2<T>;
#pragma unroll 1
    for (int group = 0; group < staged; group += charges_per_sum) {
      const auto add = [&](int k, bool compare) __attribute__((always_inline)) {
#pragma unroll
        for (int p = 0; p < points_per_thread; ++p) {
          const bool self = compare && here + k == first + p * point_threads + static_cast<int>(threadIdx.x);
          add_charge<T, Field, Cutoff>(memory.charge[k], x[p], y[p], z[p], self, truncation, sum[p], smallest[p]);
        }
      };
      if (meets_itself) {
#pragma unroll 1
        for (int k = group; k < group + charges_per_sum; ++k) add(k, true);
      } else {
#pragma unroll 2
        for (int k = group; k < group + charges_per_sum; ++k) add(k, false);
      }
#pragma unroll
      for (int p = 0; p < points_per_thread; ++p)
#pragma unroll
        for (int v = 0; v < values; ++v) settle(memory.total[v][p][threadIdx.x], sum[p][v]);
    }
#pragma unroll
    for (int p = 0; p < points_per_thread; ++p) {
      const unsigned marks = __ballot_sync(whole_warp, !(smallest[p] > near2));
      if (threadIdx.x % warp_lanes == 0) memory.again[(p * point_threads + threadIdx.x) / warp_lanes] |= marks;
    }
  }

#pragma unroll
  for (int p = 0; p < points_per_thread; ++p) {
    const std::int64_t index = first + p * point_threads + threadIdx.x;
    if (index >= count) continue;
    const std::int64_t place = points.offset[problem] - points.offset[0] + index;
#pragma unroll
    for (int v = 0; v < values; ++v) {
      T& stored = v == 0 ? result.potential[place] : result.field[3 * place + v - 1];
      const auto total = static_cast<double>(memory.total[v][p][threadIdx.x]);
      const double value = options.unit_factor * (total + static_cast<double>(sum[p][v]));
      stored = faulty ? static_cast<T>(NAN) : static_cast<T>(value);
    }
  }
  if (faulty) return;
  __syncthreads();  // all values that another warp may sum again are stored
  int on_charges = 0;
#pragma unroll 1
  for (int word = threadIdx.x / warp_lanes; word < points_per_block / warp_lanes; word += point_threads / warp_lanes)
#pragma unroll 1
    for (unsigned bits = memory.again[word]; bits != 0; bits &= bits - 1) {
      const std::int64_t index = first + word * warp_lanes + __ffs(bits) - 1;
      if (index < count) on_charges += sum_again(charges, points, at_charges, problem, index, options, result) ? 1 : 0;
    }
  if (threadIdx.x % warp_lanes == 0 && on_charges > 0) atomicAdd(result.info + problem, on_charges);
}

template <class T, bool Field, bool Cutoff>
cudaError_t launch(const ChargeBatch& charges, const PointBatch& points, bool at_charges, std::int64_t point_count,
                   const PotentialOptions& options, const PotentialResult<T>& result, cudaStream_t stream) {
  const std::int64_t blocks = point_count / points_per_block + charges.count;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  constexpr int values = Field ? 4 : 1, bytes = sizeof(PointMemory<T, values>);
  static_assert(bytes <= 48 << 10);
  point_kernel<T, Field, Cutoff><<<static_cast<unsigned>(blocks), point_threads, bytes, stream>>>(
      charges, points, at_charges, options, truncation_of<T>(options), result);
  return cudaGetLastError();
}

}  // namespace

template <class T>
cudaError_t launch_points(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                          const DirectSumSizes& sizes, const PotentialOptions& options,
                          const PotentialResult<T>& result, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(charges.count) * sizeof(std::int32_t);
  cudaError_t status = cudaMemsetAsync(result.info, 0, bytes, stream);
  if (status != cudaSuccess) return status;
  const std::int64_t checked = sizes.charges + (at_charges ? 0 : sizes.points);
  status = launch_for_each_index(checked, Check<T>{charges, points, sizes.charges, result.info}, stream);
  if (status != cudaSuccess) return status;
  const std::int64_t count = at_charges ? sizes.charges : sizes.points;
  if (count > 0) {
    const bool field = result.field != nullptr, cutoff = options.cutoff > 0;
    const auto kernel = field ? (cutoff ? launch<T, true, true> : launch<T, true, false>)
                              : (cutoff ? launch<T, false, true> : launch<T, false, false>);
    status = kernel(charges, points, at_charges, count, options, result, stream);
    if (status != cudaSuccess) return status;
  }
  return launch_for_each_index(charges.count, Finish{result.info}, stream);
}

template cudaError_t launch_points<float>(const ChargeBatch&, const PointBatch&, bool, const DirectSumSizes&,
                                          const PotentialOptions&, const PotentialResult<float>&, cudaStream_t);
template cudaError_t launch_points<double>(const ChargeBatch&, const PointBatch&, bool, const DirectSumSizes&,
                                           const PotentialOptions&, const PotentialResult<double>&, cudaStream_t);

}  // namespace smallbatch
