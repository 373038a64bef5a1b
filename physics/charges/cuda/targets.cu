// V and E of screened and of Gaussian charges, at targets of any kind. (For plain charges, lattice.cu and points.cu
// have faster kernels.)
//
// A thread has one target, and its block reads the charges through shared memory. Coordinates are sums of two numbers
// of type T, so differences keep all digits near a charge. A term is computed in double precision from the original
// coordinates if the charge may lie on the target, or numbers may leave T's range. Other terms are added in T, 16 at a
// time. These sums are added in double precision, in the order of the charges.
#include "core/grid_stride.cuh"
#include "physics/charges/cuda/interaction.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/cuda/lattice_placement.cuh"
#include "physics/charges/cuda/pieces.cuh"
#include "physics/charges/value_range.hpp"

namespace smallbatch {

namespace {

constexpr int target_threads = 128;

/// Flags in the upper bits of info until FinishTargets runs. The lower bits count the charges on lattice points, or the
/// targets on charges.
enum Mark : unsigned {
  is_faulty = 1U << 31,
  is_not_finite = 1U << 30,     // set together with is_faulty
  is_beyond_range = 1U << 29,   // a value leaves the range of its type
  needs_large_unit = 1U << 28,  // sums in units of e may leave the range of double (per_large_unit)
  counted = needs_large_unit - 1
};
__device__ void set_mark(std::int32_t& info, unsigned mark) { atomicOr(reinterpret_cast<unsigned*>(&info), mark); }

/// Targets of all problems. An `index` counts from the first target of its problem.
struct Targets {
  TargetKind kind;
  LatticeBatch lattice;
  PointBatch points;  // the charges, if they are the targets

  [[nodiscard]] __host__ __device__ std::int64_t of_lattice() const {
    return lattice.plane_count * lattice.shape.nx * lattice.shape.ny;
  }
  [[nodiscard]] __device__ bool on_lattice() const { return kind == TargetKind::lattice; }
  /// Number of targets of all previous problems.
  [[nodiscard]] __device__ std::int64_t first_of(std::int64_t problem) const {
    return on_lattice() ? problem * of_lattice() : points.offset[problem] - points.offset[0];
  }
  [[nodiscard]] __device__ const double* origin(std::int64_t problem) const {
    return on_lattice() ? lattice.origin + 3 * problem : points.position + 3 * points.offset[problem];
  }
  [[nodiscard]] __device__ double singular_distance(std::int64_t problem) const {
    return on_lattice() ? placement(lattice, problem).singular_distance : singular_distance_of_points;
  }
  /// Coordinate of a target, relative to the origin.
  [[nodiscard]] __device__ ShiftedCoordinate coordinate(std::int64_t problem, std::int64_t index, int axis) const {
    if (!on_lattice()) return shift(origin(problem)[3 * index + axis], origin(problem)[axis]);
    const std::int64_t nx = lattice.shape.nx, ny = lattice.shape.ny;
    const std::int64_t step = axis == 0   ? index % nx
                              : axis == 1 ? index / nx % ny
                                          : lattice.first_plane + index / nx / ny;
    const double spacing = lattice.spacing[3 * problem + axis], high = static_cast<double>(step) * spacing;
    return {high, fma(static_cast<double>(step), spacing, -high)};
  }
};

/// Checks charge `index` of the batch, or point index - charge_count if `index` is charge_count or more. On lattices it
/// also counts the charges that lie on a point.
template <class T>
struct TargetCheck {
  ChargeBatch charges;
  Targets targets;
  std::int64_t charge_count;
  bool softened;
  std::int32_t* info;
  __device__ void operator()(std::int64_t index) const {
    const bool is_charge = index < charge_count;
    const std::int64_t* offset = is_charge ? charges.offset : targets.points.offset;
    const std::int64_t place = offset[0] + (is_charge ? index : index - charge_count);
    const std::int64_t problem = problem_at([&](std::int64_t p) { return offset[p]; }, charges.count, place);
    const double* position = (is_charge ? charges.position : targets.points.position) + 3 * place;
    const double q = is_charge ? charges.charge[place] : 0;
    const double width = is_charge && charges.width != nullptr ? charges.width[place] : 0;
    bool finite = isfinite(q) && isfinite(width) && width >= 0;
    double largest = fmax(fabs(q), width);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) finite = finite && isfinite(position[axis]);
    // Without charges or without targets, the range is not checked.
    if (charges.offset[problem] < charges.offset[problem + 1] &&
        targets.first_of(problem) < targets.first_of(problem + 1)) {
      const double* origin = targets.origin(problem);
      ShiftedCoordinate s[3];
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        s[axis] = shift(position[axis], origin[axis]);
        largest = fmax(largest, fabs(s[axis].shifted));
      }
      if (targets.on_lattice()) {
        const Placement place_of = placement(targets.lattice, problem);
        largest = fmax(largest, fmax(place_of.extent(0), fmax(place_of.extent(1), place_of.extent(2))));
        const double singular2 = place_of.singular_distance * place_of.singular_distance;
        if (finite && q != 0 && !softened && width < least_width && nearest_point2(place_of, s) < singular2)
          atomicAdd(info + problem, 1);
      }
    } else {
      largest = 0;
    }
    if (width >= least_width && fabs(q) / width / width > 0x1p900) set_mark(info[problem], needs_large_unit);
    if (!finite)
      set_mark(info[problem], is_faulty | is_not_finite);
    else if (!(largest <= largest_input<T>))
      set_mark(info[problem], is_faulty);
  }
};

/// Finishes the status of one problem.
struct FinishTargets {
  std::int32_t* info;
  __device__ void operator()(std::int64_t problem) const {
    const auto marks = static_cast<unsigned>(info[problem]);
    if ((marks & is_faulty) != 0)
      info[problem] = (marks & is_not_finite) != 0 ? info_charges_not_finite : info_charges_out_of_range;
    else
      info[problem] =
          (marks & is_beyond_range) != 0 ? info_values_out_of_range : static_cast<std::int32_t>(marks & counted);
  }
};

/// Limits of rho^2 between which terms are computed in T.
struct Limits {
  double least, most;
};
template <class T, bool Field>
constexpr Limits limits_in_type() {
  if (!is_single<T>) return {0x1p-200, 0x1p100};
  if (Field) return {least_length * least_length, largest_length * largest_length};
  return {0x1p-100, 0x1p120};
}

template <class T>
struct Split {
  T high, low;
};
template <class T>
__device__ Split<T> split(const ShiftedCoordinate& x) {
  const auto high = static_cast<T>(x.shifted);
  return {high, static_cast<T>(x.shifted - static_cast<double>(high) + x.low)};
}

/// A charge in shared memory.
template <class T>
struct alignas(16) SplitPlace {
  Split<T> s[3];
  T q, per_length;
};

template <class T, InteractionKind kind, bool Field>
__global__ void __launch_bounds__(target_threads, is_single<T> ? 5 : 4)
    target_kernel(ChargeBatch charges, Targets targets, PotentialOptions options, Truncation<T> truncation,
                  PotentialResult<T> result) {
  constexpr int values = Field ? 4 : 1;
  __shared__ SplitPlace<T> staged[target_threads];
  const Piece piece =
      piece_of([&](std::int64_t p) { return targets.first_of(p); }, charges.count, target_threads, blockIdx.x);
  const std::int64_t problem = piece.problem, value = piece.first + threadIdx.x;
  if (piece.first >= piece.last) return;
  const auto info = static_cast<unsigned>(result.info[problem]);
  const bool is_target = value < piece.last;
  if ((info & is_faulty) != 0) {
    for (int v = 0; v < values && is_target; ++v)
      (v == 0 ? result.potential[value] : result.field[3 * value + v - 1]) = static_cast<T>(NAN);
    return;
  }

  const std::int64_t index = min(value, piece.last - 1) - targets.first_of(problem);
  const std::int64_t first = charges.offset[problem], last = charges.offset[problem + 1];
  const std::int64_t self = targets.kind == TargetKind::charges ? first + index : -1;
  const double* const origin = targets.origin(problem);
  const double singular_distance = targets.singular_distance(problem);
  const double singular2 = singular_distance * singular_distance, softening2 = options.softening * options.softening;
  const double cutoff = options.cutoff > 0 ? fmax(options.cutoff, 0x1p-500) : 0;
  const double per_cutoff2 = cutoff > 0 ? 1 / (cutoff * cutoff) : 0;
  constexpr Limits limits = limits_in_type<T, Field>();
  const auto least = static_cast<T>(fmax(limits.least, options.softening > 0 ? 0 : 4 * singular2));
  const auto most = static_cast<T>(limits.most);
  const double scale = (info & needs_large_unit) != 0
                           ? per_large_unit
                           : charge_scale(static_cast<double>(last - first) * largest_input<T>,
                                          least_distance(options, singular_distance));
  const double scale_of_sums = is_single<T> ? scale : 1;  // in double precision the charges are scaled instead
  const auto length_of = [&](std::int64_t i) {
    if (kind == InteractionKind::screened) return options.screening_length;
    return charges.width[i] >= least_width ? sqrt(2.0) * charges.width[i] : 0;
  };
  Split<T> p[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) p[axis] = split<T>(targets.coordinate(problem, index, axis));
  Total total[values];
  double net = 0, magnitude = 0;

  const auto add_in_double = [&](std::int64_t i) {
    const double q = charges.charge[i], length = length_of(i);
    if (q == 0) return;
    double d[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const ShiftedCoordinate at = targets.coordinate(problem, index, axis);
      const ShiftedCoordinate s = shift(charges.position[3 * i + axis], origin[axis]);
      d[axis] = at.shifted - s.shifted + (at.low - s.low);
    }
    const double r2 = square_of_norm(d);
    const bool is_point = kind == InteractionKind::screened || length == 0;
    if (is_point && softening2 == 0 && r2 < singular2) {
      net += q;
      magnitude += fabs(q);
      return;
    }
    const double w = fma(-r2, per_cutoff2, 1.0);
    if (!(w > 0)) return;
    const Root<double> root = root_of(r2 + softening2);
    const Action<double> found = cut_off(action<kind>(root, per_length_of<double>(length)), root, w, per_cutoff2);
    total[0].add(scale * q * found.g);
#pragma unroll
    for (int v = 1; v < values; ++v) total[v].add(d[v - 1] * root.per_rho * (scale * q * found.force));
  };

  for (std::int64_t begin = first; begin < last; begin += target_threads) {
    __syncthreads();  // all threads have read the previous charges
    if (const std::int64_t i = begin + threadIdx.x; i < last) {
      SplitPlace<T>& to = staged[threadIdx.x];
      const double q = charges.charge[i];
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) to.s[axis] = split<T>(shift(charges.position[3 * i + axis], origin[axis]));
      to.q = static_cast<T>(is_single<T> ? q : scale * q);
      to.per_length = per_length_of<T>(length_of(i));
      if (is_single<T> && Field && fabs(q) > largest_charge)
        to.s[0].high = static_cast<T>(NAN);  // every pair with this charge is then summed in double precision
    }
    __syncthreads();  // the new charges are there
    const auto count = static_cast<int>(min(last - begin, std::int64_t{target_threads}));
#pragma unroll 1
    for (int group = 0; group < count; group += charges_per_sum) {
      T sum[values] = {};
#pragma unroll 1
      for (int k = group; k < min(group + charges_per_sum, count); ++k) {
        if (begin + k == self) continue;
        const SplitPlace<T>& charge = staged[k];
        T d[3];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis)
          d[axis] = (p[axis].high - charge.s[axis].high) + (p[axis].low - charge.s[axis].low);
        const T r2 = fma(d[0], d[0], fma(d[1], d[1], d[2] * d[2])), rho2 = r2 + truncation.softening2;
        if (!(rho2 > least && rho2 < most)) {
          add_in_double(begin + k);
          continue;
        }
        const T w = saturate(fma(-r2, truncation.per_cutoff2, T{1}));
        if (w == 0) continue;
        const Root<T> root = root_of(rho2);
        const Action<T> found = cut_off(action<kind>(root, charge.per_length), root, w, truncation.per_cutoff2);
        sum[0] = fma(charge.q, found.g, sum[0]);
        const T slope = charge.q * (found.force * root.per_rho);
#pragma unroll
        for (int v = 1; v < values; ++v) sum[v] = fma(d[v - 1], slope, sum[v]);
      }
#pragma unroll
      for (int v = 0; v < values; ++v) total[v].add(scale_of_sums * static_cast<double>(sum[v]));
    }
  }
  if (!is_target) return;

  const bool singular = is_singular(options.singular, net, magnitude);
  const double others = unscaled(total[0].value(), options.unit_factor, scale);
  const auto potential = static_cast<T>(apply_singularity(options.singular, others, net, magnitude));
  result.potential[value] = potential;
  bool infinite = isinf(potential);
#pragma unroll
  for (int v = 1; v < values; ++v) {
    const auto component = static_cast<T>(unscaled(total[v].value(), options.unit_factor, scale));
    result.field[3 * value + v - 1] = singular ? static_cast<T>(NAN) : component;
    infinite = infinite || isinf(component);
  }
  if (targets.on_lattice()) return;  // on lattices, TargetCheck and launch_lattice_extremes() set the status
  if (magnitude > 0) atomicAdd(result.info + problem, 1);
  if (infinite && !singular) set_mark(result.info[problem], is_beyond_range);
}

}  // namespace

template <class T>
cudaError_t launch_targets(const ChargeBatch& charges, const TargetBatch& batch, const DirectSumSizes& sizes,
                           const PotentialOptions& options, const PotentialResult<T>& result, cudaStream_t stream) {
  const bool at_charges = batch.kind == TargetKind::charges, on_lattice = batch.kind == TargetKind::lattice;
  const Targets targets{batch.kind, batch.lattice,
                        at_charges ? PointBatch{charges.offset, charges.position} : batch.points};
  const auto bytes = static_cast<std::size_t>(charges.count) * sizeof(std::int32_t);
  cudaError_t status = cudaMemsetAsync(result.info, 0, bytes, stream);
  if (status != cudaSuccess) return status;
  const std::int64_t checked = sizes.charges + (batch.kind == TargetKind::points ? sizes.points : 0);
  const TargetCheck<T> check{charges, targets, sizes.charges, options.softening > 0, result.info};
  status = launch_for_each_index(checked, check, stream);
  if (status != cudaSuccess) return status;
  const std::int64_t count = on_lattice   ? charges.count * targets.of_lattice()
                             : at_charges ? sizes.charges
                                          : sizes.points;
  const std::int64_t blocks = count / target_threads + charges.count;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  const bool screened = interaction_kind(charges, options) == InteractionKind::screened;
  const auto kernel_of = [&]<bool Field>() {
    return screened ? target_kernel<T, InteractionKind::screened, Field>
                    : target_kernel<T, InteractionKind::gaussian, Field>;
  };
  const auto kernel =
      result.field != nullptr ? kernel_of.template operator()<true>() : kernel_of.template operator()<false>();
  kernel<<<static_cast<unsigned>(blocks), target_threads, 0, stream>>>(charges, targets, options,
                                                                       truncation_of<T>(options), result);
  status = cudaGetLastError();
  if (status != cudaSuccess) return status;
  return launch_for_each_index(charges.count, FinishTargets{result.info}, stream);
}

template cudaError_t launch_targets<float>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                           const PotentialOptions&, const PotentialResult<float>&, cudaStream_t);
template cudaError_t launch_targets<double>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                            const PotentialOptions&, const PotentialResult<double>&, cudaStream_t);

}  // namespace smallbatch
