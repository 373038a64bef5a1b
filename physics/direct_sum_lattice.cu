// V and E on lattices, all problems of a batch in one launch.
//
// A thread keeps X x Y neighbouring points of one xy-plane in registers: dx serves Y points and dy^2 + dz^2 X of them,
// so that a pair costs a multiply-add, the root, and a multiply-add. One root in four, that of every fourth point in x,
// is computed without the special-function unit (add_in_software), which is the limit otherwise: the unit takes 8
// cycles for a warp, a multiply-add one. A field, or a cut-off, costs so many multiply-adds that all roots stay with
// the unit.
//
// A block's threads move the charges through shared memory, 256 at a time, and do there, in double precision, all that
// is done once for a charge: shift it to the lattice's origin, judge it, and find the block's own points that lie so
// near that a sum in T cannot be trusted (near_charges.hpp). Those points a warp each sums again in double precision at
// the end, from the original coordinates, and applies the singularity policy. So a block needs nothing from any other,
// and a value does not depend on how points are dealt to blocks: which root is whose follows from x alone, and every
// sum has one fixed order.
#include <type_traits>

#include "physics/direct_sum_device.cuh"
#include "physics/direct_sum_kernels.cuh"

namespace smallbatch {

namespace {

/// How points are dealt out: X x Y of a plane to a thread; `Blocks`: that many blocks share a multiprocessor, if their
/// registers can be kept down to it.
template <class T, int X, int Y, int Threads, int Blocks = 1>
struct Tile {
  static constexpr int x = X, y = Y, threads = Threads, blocks = Blocks;
  static constexpr int points = X * Y;
};

/// Cell (cx, cy, plane) has the points x = X cx + i, y = Y cy + j, where these are below nx and ny.
struct Cells {
  unsigned x, y;  // in a plane
  unsigned blocks_per_problem;
  std::int64_t blocks;
};
template <class L>
Cells cells_of(const LatticeBatch& lattice, std::int64_t problems) {
  const std::int64_t x = (lattice.shape.nx + L::x - 1) / L::x, y = (lattice.shape.ny + L::y - 1) / L::y;
  const std::int64_t blocks = (x * y * lattice.plane_count + L::threads - 1) / L::threads;
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(blocks), blocks * problems};
}

/// Where a problem's lattice lies.
struct Placement {
  double origin[3], spacing[3];
  std::int64_t points[3];
  double singular_distance;
};
__device__ __forceinline__ Placement placement(const LatticeBatch& lattice, std::int64_t problem) {
  Placement place;
#pragma unroll
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

/// Lattice coordinate `index` minus the charge's, rounded only where the difference is already small.
__device__ double displacement(std::int64_t index, double spacing, ShiftedCoordinate charge) {
  return fma(static_cast<double>(index), spacing, -charge.shifted) - charge.low;
}

__device__ __forceinline__ bool on_lattice_point(const Placement& place, const ShiftedCoordinate (&s)[3]) {
  double r2 = 0;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t index = nearest_index(s[axis].shifted, place.spacing[axis], place.points[axis]);
    const double d = displacement(index, place.spacing[axis], s[axis]);
    r2 += d * d;
  }
  return r2 < place.singular_distance * place.singular_distance;
}

/// What a block keeps in shared memory.
template <class T, class L>
struct Memory {
  ShiftedCharge<T> charge[charges_in_shared_memory];
  double per_spacing[3];
  unsigned again[L::threads * L::points / warp_lanes];  // bit: this point of the block is summed again
  unsigned within_reach;                                // bit: some of these 32 charges are within the cut-off
  unsigned faults;
  int on_points;
};

template <class T, class L>
struct MemoryWithField : Memory<T, L> {
  Total<T> total[4][L::points][L::threads];
};

/// The block's place in its problem.
struct Block {
  std::int64_t problem;
  unsigned first_cell;
};

/// Marks the points of the block that lie near a charge, and counts the charge if it lies on a lattice point.
template <class T, class L, class M>
__device__ __forceinline__ void mark_near(const LatticeBatch& lattice, const Cells& cells, const Block& block,
                                          const ShiftedCoordinate (&s)[3], bool softened, M& memory) {
  const Placement place = placement(lattice, block.problem);
  const double norm = sqrt(s[0].shifted * s[0].shifted + s[1].shifted * s[1].shifted + s[2].shifted * s[2].shifted);
  const double radius = near_radius<T>(norm, place.singular_distance);
  IndexRange box[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    box[axis] = near_indices(s[axis].shifted, place.spacing[axis], place.points[axis], radius);
    if (box[axis].empty()) return;
  }
  if (!softened && block.first_cell == 0 && on_lattice_point(place, s)) atomicAdd(&memory.on_points, 1);
  const std::int64_t first_plane = max(box[2].first, lattice.first_plane);
  const std::int64_t last_plane = min(box[2].last, lattice.first_plane + lattice.plane_count - 1);
  for (std::int64_t z = first_plane; z <= last_plane; ++z)
    for (std::int64_t y = box[1].first; y <= box[1].last; ++y)
      for (std::int64_t x = box[0].first; x <= box[0].last; ++x) {
        const std::int64_t cell =
            ((z - lattice.first_plane) * cells.y + y / L::y) * cells.x + x / L::x - block.first_cell;
        if (cell < 0 || cell >= L::threads) continue;
        const auto bit = static_cast<unsigned>(cell * L::points + y % L::y * L::x + x % L::x);
        atomicOr(&memory.again[bit / warp_lanes], 1U << (bit % warp_lanes));
      }
}

/// The smallest box around the block's points, in lattice coordinates (angstrom from the origin).
struct Box {
  double low[3], high[3];
};
template <class L>
__device__ Box box_of(const LatticeBatch& lattice, const Cells& cells, const Block& block) {
  const unsigned in_plane = cells.x * cells.y, first = block.first_cell, last = first + L::threads - 1;
  unsigned low[3]{0, 0, first / in_plane}, high[3]{cells.x - 1, cells.y - 1, last / in_plane};
  if (low[2] == high[2]) {
    low[1] = first % in_plane / cells.x;
    high[1] = last % in_plane / cells.x;
    if (low[1] == high[1]) {
      low[0] = first % cells.x;
      high[0] = last % cells.x;
    }
  }
  const std::int64_t planes = lattice.first_plane;
  const double* spacing = lattice.spacing + 3 * block.problem;
  return {{low[0] * L::x * spacing[0], low[1] * L::y * spacing[1], static_cast<double>(planes + low[2]) * spacing[2]},
          {(high[0] * L::x + L::x - 1) * spacing[0], (high[1] * L::y + L::y - 1) * spacing[1],
           static_cast<double>(planes + high[2]) * spacing[2]}};
}

/// Brings charges begin .. begin + 255 of the problem into shared memory, those from `last` on as no charges.
template <class T, class L, bool Cutoff, class M>
__device__ __forceinline__ void stage(const ChargeBatch& charges, const LatticeBatch& lattice, const Cells& cells,
                                      const Block& block, const PotentialOptions& options, std::int64_t begin,
                                      std::int64_t last, M& memory) {
  const double* origin = lattice.origin + 3 * block.problem;
  const double* spacing = lattice.spacing + 3 * block.problem;
  const std::int64_t points[3] = {lattice.shape.nx, lattice.shape.ny, lattice.shape.nz};
  const double singular = singular_distance_in_spacings * fmin(fmin(spacing[0], spacing[1]), spacing[2]);
#pragma unroll 1
  for (int i = threadIdx.x; i < charges_in_shared_memory; i += L::threads) {
    ShiftedCharge<T> staged = no_charge<T>();
    bool within_reach = false;
    if (begin + i < last) {
      const double q = charges.charge[begin + i];
      ShiftedCoordinate s[3];
      bool finite = isfinite(q), in_range = fabs(q) <= largest_input<T>;
      double sum = 0, off_planes = 0;
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        const double position = charges.position[3 * (begin + i) + axis];
        s[axis] = shift(position, origin[axis]);
        finite = finite && isfinite(position);
        in_range = in_range && fabs(s[axis].shifted) <= largest_input<T> &&
                   static_cast<double>(points[axis] - 1) * spacing[axis] <= largest_input<T>;
        sum += fabs(s[axis].shifted);
        const double index = rint(s[axis].shifted * memory.per_spacing[axis]);
        off_planes = fmax(off_planes, fabs(fma(-index, spacing[axis], s[axis].shifted)));
      }
      if (!finite || !in_range) {
        atomicOr(&memory.faults, finite ? out_of_range : not_finite);
      } else if (q != 0) {
        staged = {static_cast<T>(s[0].shifted), static_cast<T>(s[1].shifted), static_cast<T>(s[2].shifted),
                  static_cast<T>(q)};
        // A charge whose distance to the nearest planes of points is above a radius that is too large is near none.
        if (off_planes <= 1.001 * near_radius<T>(sum, singular))
          mark_near<T, L>(lattice, cells, block, s, options.softening > 0, memory);
        if (Cutoff) {
          const Box box = box_of<L>(lattice, cells, block);
          double r2 = 0;
#pragma unroll
          for (int axis = 0; axis < 3; ++axis) {
            const double d = fmax(0.0, fmax(box.low[axis] - s[axis].shifted, s[axis].shifted - box.high[axis]));
            r2 += d * d;
          }
          within_reach = r2 <= 1.001 * options.cutoff * options.cutoff;
        }
      }
    }
    memory.charge[i] = staged;
    if (Cutoff && __any_sync(whole_warp, within_reach) && i % warp_lanes == 0)
      atomicOr(&memory.within_reach, 1U << (i / warp_lanes));
  }
}

/// Adds the terms of one charge to the sums of a thread's points; values: V, or V, Ex, Ey, Ez.
template <class T, class L, bool Cutoff>
__device__ __forceinline__ void add_charge(const ShiftedCharge<T>& charge, const T (&x)[L::x], const T (&y)[L::y], T z,
                                           const Truncation<T>& truncation, T (&sum)[1][L::y][L::x]) {
  const T dz = z - charge.z, dz2 = fma(dz, dz, truncation.softening2);
  T dx[L::x];
#pragma unroll
  for (int i = 0; i < L::x; ++i) dx[i] = x[i] - charge.x;
#pragma unroll
  for (int j = 0; j < L::y; ++j) {
    const T dy = y[j] - charge.y, dyz2 = fma(dy, dy, dz2);
    const auto add = [&](int i) __attribute__((always_inline)) {
      const T r2 = fma(dx[i], dx[i], dyz2);
      if constexpr (Cutoff) {
        const T w = saturate(fma(-r2, truncation.per_cutoff2, truncation.one));
        sum[0][j][i] = fma(charge.q, multiply(multiply(inverse_sqrt(r2), w), w), sum[0][j][i]);
      } else if constexpr (sizeof(T) == sizeof(float)) {
        if (i % 4 == 3)
          add_in_software(r2, charge.q, sum[0][j][i]);
        else
          sum[0][j][i] = fma(charge.q, inverse_sqrt(r2), sum[0][j][i]);
      } else {
        sum[0][j][i] = fma(charge.q, inverse_sqrt(r2), sum[0][j][i]);
      }
    };
    // The root in software first: the compiler then spreads it among the others.
    if constexpr (L::x % 4 == 0) {
#pragma unroll
      for (int i = 0; i < L::x; i += 4) {
        add(i + 3);
        add(i);
        add(i + 1);
        add(i + 2);
      }
    } else {
#pragma unroll
      for (int i = 0; i < L::x; ++i) add(i);
    }
  }
}
template <class T, class L, bool Cutoff>
__device__ __forceinline__ void add_charge(const ShiftedCharge<T>& charge, const T (&x)[L::x], const T (&y)[L::y], T z,
                                           const Truncation<T>& truncation, T (&sum)[4][L::y][L::x]) {
  const T dz = z - charge.z, dz2 = fma(dz, dz, truncation.softening2), qdz = multiply(charge.q, dz);
  T dx[L::x], qdx[L::x];
#pragma unroll
  for (int i = 0; i < L::x; ++i) {
    dx[i] = x[i] - charge.x;
    qdx[i] = multiply(charge.q, dx[i]);
  }
#pragma unroll
  for (int j = 0; j < L::y; ++j) {
    const T dy = y[j] - charge.y, dyz2 = fma(dy, dy, dz2), qdy = multiply(charge.q, dy);
#pragma unroll
    for (int i = 0; i < L::x; ++i) {
      const T r2 = fma(dx[i], dx[i], dyz2), per_r = inverse_sqrt(r2);
      T slope = multiply(per_r, per_r);
      if constexpr (Cutoff) {
        const T w = saturate(fma(-r2, truncation.per_cutoff2, truncation.one)), g = multiply(per_r, w);
        sum[0][j][i] = fma(charge.q, multiply(g, w), sum[0][j][i]);
        slope = multiply(fma(w, slope, 4 * truncation.per_cutoff2), g);
      } else {
        sum[0][j][i] = fma(charge.q, per_r, sum[0][j][i]);
        slope = multiply(slope, per_r);
      }
      sum[1][j][i] = fma(qdx[i], slope, sum[1][j][i]);
      sum[2][j][i] = fma(qdy, slope, sum[2][j][i]);
      sum[3][j][i] = fma(qdz, slope, sum[3][j][i]);
    }
  }
}

/// Charges that the compiler sees at once.
template <class T, class L, int Values>
inline constexpr int unrolled_charges = sizeof(T) == sizeof(double)      ? 1
                                        : Values == 1 && L::points == 16 ? 16
                                                                         : 8;

/// A thread's totals: of a potential in registers, of a field, which is four times as much, in shared memory.
template <class T, class L, int Values>
struct Totals {
  Total<T> (&of)[Values][L::points][L::threads];
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int v = 0; v < Values; ++v)
#pragma unroll
      for (int p = 0; p < L::points; ++p) of[v][p][threadIdx.x] = {};
  }
  __device__ __forceinline__ void add(int v, int p, T sum) { of[v][p][threadIdx.x].add(sum); }
  [[nodiscard]] __device__ __forceinline__ double value(int v, int p) const { return of[v][p][threadIdx.x].value(); }
};
template <class T, class L>
struct Totals<T, L, 1> {
  Total<T> of[L::points];
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int p = 0; p < L::points; ++p) of[p] = {};
  }
  __device__ __forceinline__ void add(int, int p, T sum) { of[p].add(sum); }
  [[nodiscard]] __device__ __forceinline__ double value(int, int p) const { return of[p].value(); }
};

template <class L, class T>
__device__ __forceinline__ Totals<T, L, 1> totals_in(Memory<T, L>&) {
  return {};
}
template <class L, class T>
__device__ __forceinline__ Totals<T, L, 4> totals_in(MemoryWithField<T, L>& memory) {
  return {memory.total};
}

/// Adds the charges in shared memory, `count` of them filled up with no charges, to the thread's totals. With a field
/// the way to the totals is four times as long, and goes a quarter as often: the bound of E leaves room for sums of 64
/// terms, and V is added up in between.
template <class T, class L, bool Cutoff, int Values, class M>
__device__ __forceinline__ void add_staged(int count, const T (&x)[L::x], const T (&y)[L::y], T z,
                                           const Truncation<T>& truncation, const M& memory,
                                           Totals<T, L, Values>& totals) {
  constexpr int unrolled = unrolled_charges<T, L, Values>, sums = Values == 1 ? 1 : 4;
#pragma unroll 1
  for (int begin = 0; begin < count; begin += sums * charges_per_sum) {
    T sum[Values][L::y][L::x] = {}, potential[L::y][L::x] = {};
#pragma unroll 1
    for (int first = begin; first < begin + sums * charges_per_sum; first += charges_per_sum) {
      if (sums > 1 && first >= count) break;
      // Where none of 32 charges is within the cut-off all they would add is zeros.
      if (Cutoff && (memory.within_reach >> (first / warp_lanes) & 1) == 0) continue;
#pragma unroll unrolled
      for (int k = 0; k < charges_per_sum; ++k)
        add_charge<T, L, Cutoff>(memory.charge[first + k], x, y, z, truncation, sum);
      if constexpr (sums > 1) {
#pragma unroll
        for (int j = 0; j < L::y; ++j)
#pragma unroll
          for (int i = 0; i < L::x; ++i) {
            potential[j][i] += sum[0][j][i];
            sum[0][j][i] = 0;
          }
      }
    }
#pragma unroll
    for (int v = 0; v < Values; ++v)
#pragma unroll
      for (int j = 0; j < L::y; ++j)
#pragma unroll
        for (int i = 0; i < L::x; ++i) totals.add(v, j * L::x + i, sums > 1 && v == 0 ? potential[j][i] : sum[v][j][i]);
  }
}

/// Sums point `bit` of the block again; the lanes of a warp share the charges.
template <class T, class L>
__device__ __forceinline__ void sum_again(const ChargeBatch& charges, const LatticeBatch& lattice, const Cells& cells,
                                          const Block& block, const PotentialOptions& options,
                                          const PotentialResult<T>& result, unsigned bit) {
  const unsigned cell = block.first_cell + bit / L::points, in_plane = cells.x * cells.y;
  const std::int64_t x = static_cast<std::int64_t>(cell % cells.x) * L::x + bit % L::x,
                     y = static_cast<std::int64_t>(cell % in_plane / cells.x) * L::y + bit % L::points / L::x,
                     plane = cell / in_plane;
  const Placement place = placement(lattice, block.problem);
  const std::int64_t index[3] = {x, y, lattice.first_plane + plane};
  TargetSums sums;
  for (std::int64_t i = charges.offset[block.problem] + threadIdx.x % warp_lanes; i < charges.offset[block.problem + 1];
       i += warp_lanes) {
    double d[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      d[axis] =
          displacement(index[axis], place.spacing[axis], shift(charges.position[3 * i + axis], place.origin[axis]));
    sums.add_charge(charges.charge[i], d, place.singular_distance * place.singular_distance, options);
  }
  sums = sum_over_warp(sums);
  if (threadIdx.x % warp_lanes == 0)
    store_exact(result, ((block.problem * lattice.plane_count + plane) * lattice.shape.ny + y) * lattice.shape.nx + x,
                sums, options);
}

template <class T, class L, bool Field, bool Cutoff>
__global__ void __launch_bounds__(L::threads, L::blocks)
    lattice_kernel(ChargeBatch charges, LatticeBatch lattice, Cells cells, PotentialOptions options,
                   Truncation<T> truncation, PotentialResult<T> result) {
  constexpr int values = Field ? 4 : 1;
  using M = std::conditional_t<Field, MemoryWithField<T, L>, Memory<T, L>>;
  extern __shared__ char shared_memory[];
  M& memory = *reinterpret_cast<M*>(shared_memory);
  const Block block{blockIdx.x / cells.blocks_per_problem,
                    blockIdx.x % cells.blocks_per_problem * static_cast<unsigned>(L::threads)};
  const unsigned cell = block.first_cell + threadIdx.x;
  const unsigned cell_x = cell % cells.x, cell_y = cell / cells.x % cells.y, plane = cell / cells.x / cells.y;

  for (int i = threadIdx.x; i < L::threads * L::points / warp_lanes; i += L::threads) memory.again[i] = 0;
  if (threadIdx.x == 0) {
    memory.within_reach = 0;
    memory.faults = 0;
    memory.on_points = 0;
  }
  if (threadIdx.x < 3) memory.per_spacing[threadIdx.x] = 1 / lattice.spacing[3 * block.problem + threadIdx.x];
  Totals<T, L, values> totals = totals_in<L>(memory);
  totals.clear();

  T x[L::x], y[L::y];
  const double* spacing = lattice.spacing + 3 * block.problem;
#pragma unroll
  for (int i = 0; i < L::x; ++i) x[i] = static_cast<T>(static_cast<double>(cell_x * L::x + i) * spacing[0]);
#pragma unroll
  for (int j = 0; j < L::y; ++j) y[j] = static_cast<T>(static_cast<double>(cell_y * L::y + j) * spacing[1]);
  const T z = static_cast<T>(static_cast<double>(lattice.first_plane + plane) * spacing[2]);

  const std::int64_t last = charges.offset[block.problem + 1];
#pragma unroll 1
  for (std::int64_t begin = charges.offset[block.problem]; begin < last; begin += charges_in_shared_memory) {
    __syncthreads();  // the charges before these have been read by all, and the marks are clear
    if (Cutoff && threadIdx.x == 0) memory.within_reach = 0;
    if (Cutoff) __syncthreads();  // no charge is within reach
    stage<T, L, Cutoff>(charges, lattice, cells, block, options, begin, last, memory);
    __syncthreads();  // these are there
    const auto count = static_cast<int>(min(last - begin, static_cast<std::int64_t>(charges_in_shared_memory)));
    add_staged<T, L, Cutoff>(count, x, y, z, truncation, memory, totals);
  }
  __syncthreads();  // all has been said about the charges

  const unsigned faults = memory.faults;
  if (block.first_cell == 0 && threadIdx.x == 0)
    result.info[block.problem] = faults != 0 ? info_of_faults(faults) : memory.on_points;
  if (plane < lattice.plane_count) {
    const std::int64_t first = (block.problem * lattice.plane_count + plane) * lattice.shape.ny * lattice.shape.nx;
#pragma unroll
    for (int j = 0; j < L::y; ++j) {
      const std::int64_t row = static_cast<std::int64_t>(cell_y) * L::y + j;
      if (row >= lattice.shape.ny) continue;
#pragma unroll
      for (int i = 0; i < L::x; ++i) {
        const std::int64_t column = static_cast<std::int64_t>(cell_x) * L::x + i;
        if (column >= lattice.shape.nx) continue;
        const std::int64_t index = first + row * lattice.shape.nx + column;
#pragma unroll
        for (int v = 0; v < values; ++v) {
          T& stored = v == 0 ? result.potential[index] : result.field[3 * index + v - 1];
          const double value = options.unit_factor * totals.value(v, j * L::x + i);
          stored = faults == 0 ? static_cast<T>(value) : static_cast<T>(NAN);
        }
      }
    }
  }
  if (faults != 0) return;
  __syncthreads();  // what a warp sums again another one has stored
#pragma unroll 1
  for (int word = threadIdx.x / warp_lanes; word < L::threads * L::points / warp_lanes; word += L::threads / warp_lanes)
#pragma unroll 1
    for (unsigned bits = memory.again[word]; bits != 0; bits &= bits - 1)
      sum_again<T, L>(charges, lattice, cells, block, options, result, word * warp_lanes + __ffs(bits) - 1);
}

template <class T, class L, bool Field, bool Cutoff>
cudaError_t launch(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                   const PotentialResult<T>& result, cudaStream_t stream) {
  // Cells of a problem are counted in 32 bits, blocks of a launch in 31.
  const Cells cells = cells_of<L>(lattice, charges.count);
  const std::int64_t cells_of_problem = cells.blocks / charges.count * L::threads;
  if (cells.blocks > 0x7fffffff || cells_of_problem > 0xffffffff) return cudaErrorInvalidValue;
  constexpr int bytes = Field ? sizeof(MemoryWithField<T, L>) : sizeof(Memory<T, L>);
  const auto kernel = lattice_kernel<T, L, Field, Cutoff>;
  if (bytes > 48 << 10) {
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess) return status;
  }
  kernel<<<static_cast<unsigned>(cells.blocks), L::threads, bytes, stream>>>(charges, lattice, cells, options,
                                                                             truncation_of<T>(options), result);
  return cudaGetLastError();
}

/// Large tiles where they fill the device, small ones where those spread few points over more of it.
template <class T, class Large, class Small, bool Field>
cudaError_t launch_best(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                        const PotentialResult<T>& result, cudaStream_t stream) {
  if (options.cutoff > 0) return launch<T, Small, Field, true>(charges, lattice, options, result, stream);
  constexpr std::int64_t blocks_that_fill = 1024;
  if (cells_of<Large>(lattice, charges.count).blocks < blocks_that_fill)
    return launch<T, Small, Field, false>(charges, lattice, options, result, stream);
  return launch<T, Large, Field, false>(charges, lattice, options, result, stream);
}

}  // namespace

template <>
cudaError_t launch_lattices<float>(const ChargeBatch& charges, const LatticeBatch& lattice,
                                   const PotentialOptions& options, const PotentialResult<float>& result,
                                   cudaStream_t stream) {
  using Small = Tile<float, 4, 2, 128>;
  if (result.field == nullptr)
    return launch_best<float, Tile<float, 4, 4, 128, 4>, Small, false>(charges, lattice, options, result, stream);
  return launch_best<float, Tile<float, 4, 4, 64>, Small, true>(charges, lattice, options, result, stream);
}
template <>
cudaError_t launch_lattices<double>(const ChargeBatch& charges, const LatticeBatch& lattice,
                                    const PotentialOptions& options, const PotentialResult<double>& result,
                                    cudaStream_t stream) {
  using Large = Tile<double, 4, 2, 128>;
  using Small = Tile<double, 2, 2, 64>;
  if (result.field == nullptr)
    return launch_best<double, Large, Small, false>(charges, lattice, options, result, stream);
  return launch_best<double, Small, Small, true>(charges, lattice, options, result, stream);
}

}  // namespace smallbatch
