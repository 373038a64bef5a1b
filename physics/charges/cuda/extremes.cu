// Kernels for problems with extreme numbers. They find values that leave the range of their type. They also sum values
// again if intermediate results of the inner loops may leave the range of double. The inner loops test for neither, to
// save registers. These kernels run after them, and only if the options, the number of charges and the smallest spacing
// permit extreme numbers (value_range.hpp). This is rare.
#include <algorithm>

#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/cuda/lattice_placement.cuh"
#include "physics/charges/cuda/pieces.cuh"
#include "physics/charges/value_range.hpp"

namespace smallbatch {

namespace {

/// Returns a lower limit of all widths, and of all distances between a charge and a target on which it does not lie.
__host__ __device__ double least_length_of(const ChargeBatch& charges, double singular_distance) {
  return charges.width == nullptr ? singular_distance : fmin(singular_distance, least_width);
}

constexpr int judging_threads = 256, again_threads = 256, warps_per_block = again_threads / warp_lanes;

/// Sets info_values_out_of_range for lattices where V or E leaves its range. Sums over the charges decide
/// (LargestValues). A block handles one problem. Every sum has a fixed order.
template <class T>
__global__ void __launch_bounds__(judging_threads)
    judge_kernel(ChargeBatch charges, LatticeBatch lattice, PotentialOptions options, bool with_field,
                 std::int32_t* info) {
  const std::int64_t problem = blockIdx.x, first = charges.offset[problem], last = charges.offset[problem + 1];
  const Placement place = placement(lattice, problem);
  const double singular2 = place.singular_distance * place.singular_distance;
  if (!has_values(info[problem])) return;
  if (!may_leave_range<T>(options, with_field, last - first, least_length_of(charges, place.singular_distance))) return;
  LargestValues largest;
  for (std::int64_t i = first + threadIdx.x; i < last; i += judging_threads) {
    if (charges.charge[i] == 0) continue;
    ShiftedCoordinate s[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) s[axis] = shift(charges.position[3 * i + axis], place.origin[axis]);
    const double r2 = nearest_point2(place, s);
    const double width = charges.width == nullptr || charges.width[i] < least_width ? 0 : charges.width[i];
    const bool on_point = options.softening == 0 && width == 0 && r2 < singular2;
    const double rho = on_point ? place.smallest_spacing() : sqrt(fma(options.softening, options.softening, r2));
    largest.add(fabs(charges.charge[i]), fmax(rho, gaussian_length_in_widths * width), options);
  }
  largest =
      add_over_block<judging_threads>(largest, [](LargestValues& sum, const LargestValues& more) { sum.add(more); });
  if (threadIdx.x == 0 && largest.leave_range<T>(options, with_field)) info[problem] = info_values_out_of_range;
}

/// Sums that avoid 1/rho^3 and rho^2/c^2, which could leave the range of double.
struct CarefulSums : TargetSums {
  __device__ void add_charge(double q, const double (&d)[3], double singular2, const PotentialOptions& options) {
    const double r2 = square_of_norm(d);
    if (options.softening == 0 && r2 < singular2) {
      net += q;
      magnitude += fabs(q);
      return;
    }
    const double per_rho = rsqrt(fma(options.softening, options.softening, r2));
    double w = 1, per_cutoff2 = 0;
    if (options.cutoff > 0) {
      const double cutoff = fmax(options.cutoff, 0x1p-500);  // so that the square does not underflow
      if (r2 >= cutoff * cutoff) return;
      per_cutoff2 = 1 / (cutoff * cutoff);
      w = fma(-r2, per_cutoff2, 1.0);
    }
    others.add(q * per_rho * w * w);
    const double per_rho2 = w * fma(w * per_rho, per_rho, 4 * per_cutoff2);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) field[axis] = fma(d[axis] * per_rho, q * per_rho2, field[axis]);
  }
};

/// Returns the factor of a problem's charges that keeps their sums within the range of double.
template <class T>
__device__ double scale_of(const ChargeBatch& charges, std::int64_t problem, double least_distance) {
  const std::int64_t count = charges.offset[problem + 1] - charges.offset[problem];
  return charge_scale(static_cast<double>(count) * largest_input<T>, least_distance);
}

/// Stores the sums of a warp's lanes as value `index`. These are sums over charges that were multiplied by `scale`.
/// Returns in lane 0 whether a value leaves the range of T.
template <class T>
__device__ bool store_careful(const PotentialResult<T>& result, std::int64_t index, const CarefulSums& of_lane,
                              double scale, const PotentialOptions& options) {
  const TargetSums sums = sum_over_warp(of_lane);
  if (threadIdx.x % warp_lanes != 0) return false;
  const double others = unscaled(sums.others.value(), options.unit_factor, scale);
  const bool singular = is_singular(options.singular, sums.net, sums.magnitude);
  const auto potential = static_cast<T>(apply_singularity(options.singular, others, sums.net, sums.magnitude));
  result.potential[index] = potential;
  bool infinite = isinf(potential);
  for (int axis = 0; axis < 3 && result.field != nullptr; ++axis) {
    const auto component = static_cast<T>(unscaled(sums.field[axis], options.unit_factor, scale));
    result.field[3 * index + axis] = singular ? static_cast<T>(NAN) : component;
    infinite = infinite || isinf(component);
  }
  return infinite && !singular;
}

/// Sums again all values of lattices with extreme numbers. A warp handles one value; blockIdx.x is the problem.
template <class T>
__global__ void __launch_bounds__(again_threads)
    lattices_again_kernel(ChargeBatch charges, LatticeBatch lattice, PotentialOptions options,
                          PotentialResult<T> result) {
  const std::int64_t problem = blockIdx.x;
  const Placement place = placement(lattice, problem);
  const double least = least_distance(options, place.singular_distance);
  const double scale = scale_of<T>(charges, problem, least);
  if (!has_values(result.info[problem]) || !is_extreme(options, result.field != nullptr, least)) return;
  const std::int64_t of_plane = lattice.shape.nx * lattice.shape.ny, of_problem = lattice.plane_count * of_plane;
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.y) * again_threads + threadIdx.x) / warp_lanes;
  for (std::int64_t value = warp; value < of_problem; value += std::int64_t{gridDim.y} * warps_per_block) {
    const std::int64_t index[3] = {value % lattice.shape.nx, value / lattice.shape.nx % lattice.shape.ny,
                                   lattice.first_plane + value / of_plane};
    CarefulSums sums;
    for (std::int64_t i = charges.offset[problem] + threadIdx.x % warp_lanes; i < charges.offset[problem + 1];
         i += warp_lanes) {
      double d[3];
#pragma unroll
      for (int axis = 0; axis < 3; ++axis)
        d[axis] =
            displacement(index[axis], place.spacing[axis], shift(charges.position[3 * i + axis], place.origin[axis]));
      sums.add_charge(scale * charges.charge[i], d, place.singular_distance * place.singular_distance, options);
    }
    store_careful(result, problem * of_problem + value, sums, scale, options);
  }
}

/// Sums values at points again: all values if lengths are extreme, and otherwise the infinite values. An infinite value
/// is singular or beyond its range. A warp handles one value.
template <class T>
__global__ void __launch_bounds__(again_threads)
    points_again_kernel(ChargeBatch charges, PointBatch points, bool at_charges, std::int64_t values,
                        PotentialOptions options, PotentialResult<T> result) {
  const double least = least_distance(options, singular_distance_of_points);
  const bool extreme = is_extreme(options, result.field != nullptr, least);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * again_threads + threadIdx.x) / warp_lanes;
  for (std::int64_t value = warp; value < values; value += std::int64_t{gridDim.x} * warps_per_block) {
    const std::int64_t place = points.offset[0] + value;
    const std::int64_t problem = problem_at([&](std::int64_t p) { return points.offset[p]; }, charges.count, place);
    if (!has_values(result.info[problem])) continue;
    bool again = extreme || isinf(result.potential[value]);
    for (int axis = 0; axis < 3 && result.field != nullptr; ++axis)
      again = again || isinf(result.field[3 * value + axis]);
    if (!__any_sync(whole_warp, again)) continue;
    const double* p = points.position + 3 * place;
    const double scale = scale_of<T>(charges, problem, least);
    CarefulSums sums;
    for (std::int64_t i = charges.offset[problem] + threadIdx.x % warp_lanes; i < charges.offset[problem + 1];
         i += warp_lanes) {
      if (at_charges && i == place) continue;
      const double d[3] = {p[0] - charges.position[3 * i], p[1] - charges.position[3 * i + 1],
                           p[2] - charges.position[3 * i + 2]};
      sums.add_charge(scale * charges.charge[i], d, singular_distance_of_points * singular_distance_of_points, options);
    }
    if (store_careful(result, value, sums, scale, options)) result.info[problem] = info_values_out_of_range;
  }
}

}  // namespace

template <class T>
cudaError_t launch_lattice_extremes(const ChargeBatch& charges, const LatticeBatch& lattice,
                                    const DirectSumSizes& sizes, const PotentialOptions& options,
                                    const PotentialResult<T>& result, cudaStream_t stream) {
  const bool field = result.field != nullptr;
  const double singular_distance = singular_distance_in_spacings * sizes.smallest_spacing;  // 0: the spacing is unknown
  if (sizes.charges == 0) return cudaSuccess;
  if (charges.count > 0x7fffffff) return cudaErrorInvalidValue;
  const auto problems = static_cast<unsigned>(charges.count);
  if (may_leave_range<T>(options, field, sizes.charges, least_length_of(charges, singular_distance)))
    judge_kernel<T><<<problems, judging_threads, 0, stream>>>(charges, lattice, options, field, result.info);
  if (interaction_kind(charges, options) == InteractionKind::plain &&
      is_extreme(options, field, least_distance(options, singular_distance))) {
    const unsigned per_problem = std::clamp((1U << 16) / problems, 1U, 256U);
    lattices_again_kernel<T>
        <<<dim3(problems, per_problem), again_threads, 0, stream>>>(charges, lattice, options, result);
  }
  return cudaGetLastError();
}

template <class T>
cudaError_t launch_point_extremes(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                                  const DirectSumSizes& sizes, const PotentialOptions& options,
                                  const PotentialResult<T>& result, cudaStream_t stream) {
  const bool field = result.field != nullptr;
  const std::int64_t values = at_charges ? sizes.charges : sizes.points;
  if (values == 0 || (!may_leave_range<T>(options, field, sizes.charges, singular_distance_of_points) &&
                      !is_extreme(options, field, least_distance(options, singular_distance_of_points))))
    return cudaSuccess;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((values - 1) / warps_per_block + 1, 1 << 16));
  points_again_kernel<T><<<blocks, again_threads, 0, stream>>>(charges, points, at_charges, values, options, result);
  return cudaGetLastError();
}

template cudaError_t launch_lattice_extremes<float>(const ChargeBatch&, const LatticeBatch&, const DirectSumSizes&,
                                                    const PotentialOptions&, const PotentialResult<float>&,
                                                    cudaStream_t);
template cudaError_t launch_lattice_extremes<double>(const ChargeBatch&, const LatticeBatch&, const DirectSumSizes&,
                                                     const PotentialOptions&, const PotentialResult<double>&,
                                                     cudaStream_t);
template cudaError_t launch_point_extremes<float>(const ChargeBatch&, const PointBatch&, bool, const DirectSumSizes&,
                                                  const PotentialOptions&, const PotentialResult<float>&, cudaStream_t);
template cudaError_t launch_point_extremes<double>(const ChargeBatch&, const PointBatch&, bool, const DirectSumSizes&,
                                                   const PotentialOptions&, const PotentialResult<double>&,
                                                   cudaStream_t);

}  // namespace smallbatch
