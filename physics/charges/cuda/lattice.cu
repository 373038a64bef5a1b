// V and E on lattices, all problems of a batch in one launch. One file, because one kernel stages charges, sums them,
// and sums targets near them again. These steps share registers and the order of instructions.
//
// A thread keeps X x Y neighbouring points of one xy-plane in registers. The Y points of a column share dx. The X
// points of a row share dy^2 + dz^2, and with a field also q dy and q dz. A block computes these shared numbers once
// for each charge and group of Y rows and keeps them in shared memory. A pair then costs a multiply-add, the root, and
// a multiply-add.
//
// The special-function unit would limit the rate: it takes 8 cycles for a warp. A multiply-add takes one cycle, or two
// if it reads three registers that the previous instruction did not read. One root in four, that of every fourth point
// in x, is therefore computed without this unit. With a field or a cut-off there are so many multiply-adds that all
// roots use the unit.
//
// A block's threads copy the charges to shared memory, up to 256 at a time. While they do so, they shift each charge to
// the lattice's origin and check it, in double precision. They also set a flag if a charge is so near a lattice point
// that a sum in T is not accurate enough (summed_in_double.hpp). If the flag is set, the block reads all charges again
// at the end and marks its own points that lie near a charge. A warp sums each marked point again in double precision,
// from the original coordinates, and applies the singularity policy.
//
// A block therefore needs nothing from another block, and a value does not depend on how points are divided among
// blocks. The method of each root follows from x alone, and every sum has a fixed order.
#include <algorithm>
#include <type_traits>

#include "core/gpu_plans.cuh"
#include "physics/charges/cuda/device.cuh"
#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/cuda/lattice_placement.cuh"

namespace smallbatch {

namespace {

constexpr int most_charges_staged = 256;
static_assert(most_charges_staged % charges_per_sum == 0);

/// Number of terms of E that are added before their sum is added to a total. E's bound leaves room for more terms than
/// V's.
constexpr int charges_per_field_sum = 64;
static_assert(charges_per_field_sum % charges_per_sum == 0);

/// Distribution of points. A thread has X x Y points of a plane. At least `Blocks` blocks should share a
/// multiprocessor, and the compiler limits their registers accordingly.
template <class T, int X, int Y, int Threads, int Blocks = 1>
struct Tile {
  static constexpr int x = X, y = Y, threads = Threads, blocks = Blocks;
  static constexpr int points = X * Y;
};

/// Division of a lattice into cells. Cell (cx, cy, plane) has the points x = X cx + i, y = Y cy + j that are below nx
/// and ny. A row of cells has all cells of one cy and plane.
struct Cells {
  unsigned x, y;  // numbers of cells in a plane
  unsigned blocks_per_problem;
  std::int64_t blocks;
  unsigned rows_per_block;  // at most
};
template <class L>
Cells cells_of(const LatticeBatch& lattice, std::int64_t problems) {
  const std::int64_t x = (lattice.shape.nx + L::x - 1) / L::x, y = (lattice.shape.ny + L::y - 1) / L::y;
  const std::int64_t blocks = (x * y * lattice.plane_count + L::threads - 1) / L::threads;
  // If neither of x and L::threads divides the other, a block may begin at any cell of a row.
  std::int64_t rows = (L::threads - 1) / x + 2;
  if (L::threads % x == 0) rows = L::threads / x;
  if (x % L::threads == 0) rows = 1;
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(blocks), blocks * problems,
          static_cast<unsigned>(std::min<std::int64_t>(rows, L::threads))};
}

__device__ __forceinline__ bool on_lattice_point(const Placement& place, const ShiftedCoordinate (&s)[3]) {
  return nearest_point2(place, s) < place.singular_distance * place.singular_distance;
}

/// Numbers of a charge that a block computes once for a row of cells. Element j is for the points with y = Y cy + j:
/// dy_j^2 + dz^2 + eps^2, and for a field q dy_j. All points of the row share q dz.
template <class T, int Y, bool Field>
struct alignas(Y * sizeof(T)) ChargeAtRow {
  T dyz2[Y];
};
template <class T, int Y>
struct alignas(16) ChargeAtRow<T, Y, true> {
  T dyz2[Y], qdy[Y], qdz;
};

/// Coordinates of a row of cells.
template <class T, int Y>
struct Row {
  T y[Y], z;
};

template <class T>
struct XAndCharge {
  T x, q;
};
template <class T>
struct YAndZ {
  T y, z;
};

/// Shared memory of a block. The ChargeAtRow of each staged charge and each of the block's rows follow it.
template <class T, class L>
struct alignas(16) Memory {
  XAndCharge<T> charge[most_charges_staged];
  YAndZ<T> charge_yz[most_charges_staged];
  Row<T, L::y> row[L::threads];
  double per_spacing[3];
  unsigned again[L::threads * L::points / warp_lanes];  // one bit per point: it is summed again
  unsigned within_reach;  // one bit per sum of charges_per_sum charges: one of these may be within the cut-off
  unsigned faults;
  unsigned may_be_near;  // a charge may lie near a lattice point
  unsigned all_again;    // T cannot hold the terms of this problem
  int on_points;
};
template <class T, class L>
struct MemoryWithField : Memory<T, L> {
  T total[3][L::points][L::threads];  // of the field
};
template <class T, class L, bool Field>
using MemoryOf = std::conditional_t<Field, MemoryWithField<T, L>, Memory<T, L>>;

/// Number of charges that a block stages at a time, a power of two. It leaves shared memory for other blocks, but is at
/// least enough for one sum.
template <class T, class L, bool Field>
constexpr unsigned charges_staged(unsigned rows) {
  constexpr std::size_t enough_bytes = 40 << 10;
  constexpr std::size_t fixed_bytes = sizeof(MemoryOf<T, L, Field>), bytes = sizeof(ChargeAtRow<T, L::y, Field>);
  unsigned charges = most_charges_staged;
  while (charges > charges_per_sum && fixed_bytes + rows * charges * bytes > enough_bytes) charges /= 2;
  return charges;
}

/// Bytes of a block's shared memory.
template <class T, class L, bool Field>
constexpr std::size_t bytes_of_block(unsigned rows) {
  return sizeof(MemoryOf<T, L, Field>) + rows * charges_staged<T, L, Field>(rows) * sizeof(ChargeAtRow<T, L::y, Field>);
}
/// Returns the largest result of bytes_of_block() for any number of rows.
template <class T, class L, bool Field>
constexpr std::size_t most_bytes_of_block() {
  std::size_t most = 0;
  for (unsigned rows = 1; rows <= L::threads; ++rows) most = std::max(most, bytes_of_block<T, L, Field>(rows));
  return most;
}

/// The problem of a block, and the index of its first cell in this problem.
struct Block {
  std::int64_t problem;
  unsigned first_cell;
};

/// Marks point `bit` of the block to be summed again.
template <class M>
__device__ __forceinline__ void mark_again(unsigned bit, M& memory) {
  atomicOr(&memory.again[bit / warp_lanes], 1U << (bit % warp_lanes));
}

/// Marks the points of the block that lie near the charge at `s`. The first block of a problem also counts the charge
/// if it lies on a lattice point.
template <class T, class L, bool Field, class M>
__device__ __forceinline__ void mark_near(const LatticeBatch& lattice, const Cells& cells, const Block& block,
                                          const Placement& place, const ShiftedCoordinate (&s)[3], bool softened,
                                          M& memory) {
  const double radius =
      near_radius<T>(sqrt(square_of_norm({s[0].shifted, s[1].shifted, s[2].shifted})), place.singular_distance, Field);
  LatticeIndices box[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    box[axis] = near_indices(s[axis].shifted, place.spacing[axis], place.points[axis], radius);
    if (box[axis].empty()) return;
  }
  if (!softened && block.first_cell == 0 && on_lattice_point(place, s)) atomicAdd(&memory.on_points, 1);
  const unsigned in_plane = cells.x * cells.y, last_cell = block.first_cell + L::threads - 1;
  const std::int64_t last_plane = min(box[2].last, lattice.first_plane + last_cell / in_plane);
  for (std::int64_t z = max(box[2].first, lattice.first_plane + block.first_cell / in_plane); z <= last_plane; ++z)
    for (std::int64_t y = box[1].first; y <= box[1].last; ++y)
      for (std::int64_t x = box[0].first; x <= box[0].last; ++x) {
        const std::int64_t cell =
            ((z - lattice.first_plane) * cells.y + y / L::y) * cells.x + x / L::x - block.first_cell;
        if (cell < 0 || cell >= L::threads || z >= lattice.first_plane + lattice.plane_count) continue;
        const auto bit = static_cast<unsigned>(cell * L::points + y % L::y * L::x + x % L::x);
        mark_again(bit, memory);
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

/// A charge relative to the lattice's origin, and whether it may lie near a lattice point.
struct SeenCharge {
  ShiftedCoordinate s[3];
  bool finite = true, in_range = true, may_be_near;
  double sum = 0;  // |s_x| + |s_y| + |s_z|
};
template <class T, bool Field>
__device__ __forceinline__ SeenCharge see_charge(const double* position, double q, const Placement& place,
                                                 const double (&per_spacing)[3]) {
  SeenCharge seen;
  seen.finite = isfinite(q);
  seen.in_range = fabs(q) <= largest_input<T>;
  double off_planes = 0;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    seen.s[axis] = shift(position[axis], place.origin[axis]);
    const double shifted = seen.s[axis].shifted;
    seen.finite = seen.finite && isfinite(position[axis]);
    seen.in_range = seen.in_range && fabs(shifted) <= largest_input<T> && place.extent(axis) <= largest_input<T>;
    seen.sum += fabs(shifted);
    const double index = rint(shifted * per_spacing[axis]);
    off_planes = fmax(off_planes, fabs(fma(-index, place.spacing[axis], shifted)));
  }
  // This radius is an upper limit, because seen.sum is at least the norm of s. If a charge is farther than this from
  // the nearest lattice coordinate of any axis, no point is near the charge.
  seen.may_be_near = q != 0 && off_planes <= 1.001 * near_radius<T>(seen.sum, place.singular_distance, Field);
  return seen;
}

/// Copies `staged` charges to shared memory, beginning with charge `begin`. Charge `last` and later ones become zero.
template <class T, class L, bool Field, bool Cutoff, class M>
__device__ __forceinline__ void stage(const ChargeBatch& charges, const LatticeBatch& lattice, const Cells& cells,
                                      const Block& block, const PotentialOptions& options, std::int64_t begin,
                                      std::int64_t last, int staged, M& memory) {
  const Placement place = placement(lattice, block.problem);
  const int end = Cutoff ? max(staged, warp_lanes) : staged;  // whole warps vote on which charges are within reach
#pragma unroll 1
  for (int i = threadIdx.x; i < end; i += L::threads) {
    constexpr T nowhere = far_from_all<T>;
    XAndCharge<T> charge{nowhere, T{0}};
    YAndZ<T> charge_yz{nowhere, nowhere};
    bool within_reach = false;
    if ((!Cutoff || i < staged) && begin + i < last) {
      const double q = charges.charge[begin + i];
      const SeenCharge seen = see_charge<T, Field>(charges.position + 3 * (begin + i), q, place, memory.per_spacing);
      if (!seen.finite || !seen.in_range) {
        atomicOr(&memory.faults, seen.finite ? out_of_range : not_finite);
      } else if (q != 0) {
        charge = {static_cast<T>(seen.s[0].shifted), static_cast<T>(q)};
        charge_yz = {static_cast<T>(seen.s[1].shifted), static_cast<T>(seen.s[2].shifted)};
        if (seen.may_be_near) atomicOr(&memory.may_be_near, 1U);
        if (is_single<T> && leaves_single_range(options, Field, seen.sum, fabs(q))) atomicOr(&memory.all_again, 1U);
        if (Cutoff) {
          const Box box = box_of<L>(lattice, cells, block);
          double d[3];
#pragma unroll
          for (int axis = 0; axis < 3; ++axis) {
            const double s = seen.s[axis].shifted;
            d[axis] = fmax(0.0, fmax(box.low[axis] - s, s - box.high[axis]));
          }
          // The second term allows for coordinates that are rounded to T.
          const double reach = 1.001 * options.cutoff + 0x1p-20 * seen.sum;
          within_reach = square_of_norm(d) <= reach * reach;
        }
      }
    }
    memory.charge[i] = charge;
    memory.charge_yz[i] = charge_yz;
    if (Cutoff) {
      const unsigned votes = __ballot_sync(whole_warp, within_reach), of_sum = (1U << charges_per_sum) - 1;
      if (i % charges_per_sum == 0 && (votes >> i % warp_lanes & of_sum) != 0)
        atomicOr(&memory.within_reach, 1U << (i / charges_per_sum));
    }
  }
}

/// Marks the points of the block that lie near any charge. It is called only if a staged charge may be near. The loop
/// over all charges runs again here, so that the sums' loop does not need its registers.
template <class T, class L, bool Field, class M>
__device__ __forceinline__ void mark_all_near(const ChargeBatch& charges, const LatticeBatch& lattice,
                                              const Cells& cells, const Block& block, bool softened, M& memory) {
  const Placement place = placement(lattice, block.problem);
#pragma unroll 1
  for (std::int64_t i = charges.offset[block.problem] + threadIdx.x; i < charges.offset[block.problem + 1];
       i += L::threads) {
    const SeenCharge seen =
        see_charge<T, Field>(charges.position + 3 * i, charges.charge[i], place, memory.per_spacing);
    if (seen.may_be_near) mark_near<T, L, Field>(lattice, cells, block, place, seen.s, softened, memory);
  }
}

/// Whether the sum that contains staged charge k has a charge that may be within the cut-off.
template <class M>
__device__ __forceinline__ bool any_within_reach(int k, const M& memory) {
  return (memory.within_reach >> (k / charges_per_sum) & 1) != 0;
}

/// Computes the ChargeAtRow of the first `count` staged charges for the block's rows. With a cut-off, it skips sums
/// that have no charge within reach.
template <class T, class L, bool Field, bool Cutoff, class M>
__device__ __forceinline__ void place_at_rows(int rows, int count, int staged, const Truncation<T>& truncation,
                                              const M& memory, ChargeAtRow<T, L::y, Field>* at_rows) {
  const int shift = __ffs(staged) - 1;
#pragma unroll 1
  for (int i = threadIdx.x; i < rows << shift; i += L::threads) {
    const int k = i & (staged - 1);
    if (k >= count || (Cutoff && !any_within_reach(k, memory))) continue;
    const Row<T, L::y>& row = memory.row[i >> shift];
    const YAndZ<T> charge = memory.charge_yz[k];
    ChargeAtRow<T, L::y, Field> at_row;
    const T q = memory.charge[k].q, dz = row.z - charge.z, dz2 = fma(dz, dz, truncation.softening2);
#pragma unroll
    for (int j = 0; j < L::y; ++j) {
      const T dy = row.y[j] - charge.y;
      at_row.dyz2[j] = fma(dy, dy, dz2);
      if constexpr (Field) at_row.qdy[j] = multiply(q, dy);
    }
    if constexpr (Field) at_row.qdz = multiply(q, dz);
    at_rows[i] = at_row;
  }
}

/// The points of a cell in the order in which the loop handles them. The order decides how evenly the compiler spreads
/// the work of the special-function unit. It also decides how often an instruction finds an operand that the previous
/// one has read. Both together change the rate by up to 10 %. The orders of 4 x 4 points are the best among a hundred
/// random ones (measured on an H200). Without a field, software_rsqrt() computes one root of four. In other cells, each
/// four points begin with this root, and the compiler spreads its instructions among the next three.
template <class L, bool Field>
struct PointOrder {
  int point[L::points];
  constexpr PointOrder() : point() {
    constexpr int of_potential[16] = {7, 2, 8, 12, 15, 0, 6, 14, 11, 13, 4, 5, 3, 10, 1, 9};
    constexpr int of_field[16] = {13, 8, 5, 4, 12, 14, 6, 10, 1, 3, 9, 2, 11, 15, 7, 0};
    for (int turn = 0; turn < L::points; ++turn)
      point[turn] = L::points == 16 && L::x == 4 ? (Field ? of_field : of_potential)[turn]
                    : L::x % 4 == 0              ? turn / 4 * 4 + (turn + 3) % 4
                                                 : turn;
  }
  [[nodiscard]] constexpr bool names_each_once() const {
    for (int wanted = 0; wanted < L::points; ++wanted) {
      int found = 0;
      for (int turn = 0; turn < L::points; ++turn) found += point[turn] == wanted ? 1 : 0;
      if (found != 1) return false;
    }
    return true;
  }
};

/// Adds the terms of one charge to the sums of a thread's points. The values are V, or V, Ex, Ey, Ez.
template <class T, class L, bool Cutoff>
__device__ __forceinline__ void add_charge(const XAndCharge<T>& charge, const ChargeAtRow<T, L::y, false>& at_row,
                                           const T (&x)[L::x], const Truncation<T>& truncation,
                                           T (&sum)[1][L::y][L::x]) {
  T dx[L::x];
#pragma unroll
  for (int i = 0; i < L::x; ++i) dx[i] = x[i] - charge.x;
  constexpr PointOrder<L, false> order;
  static_assert(order.names_each_once());
#pragma unroll
  for (int turn = 0; turn < L::points; ++turn) {
    const int i = order.point[turn] % L::x, j = order.point[turn] / L::x;
    const T r2 = fma(dx[i], dx[i], at_row.dyz2[j]);
    if constexpr (Cutoff) {
      const T w = truncation.window(r2);
      sum[0][j][i] = fma(charge.q, multiply(multiply(inverse_sqrt(r2), w), w), sum[0][j][i]);
    } else {
      add_root(r2, charge.q, i % 4 == 3, sum[0][j][i]);
    }
  }
}
template <class T, class L, bool Cutoff>
__device__ __forceinline__ void add_charge(const XAndCharge<T>& charge, const ChargeAtRow<T, L::y, true>& at_row,
                                           const T (&x)[L::x], const Truncation<T>& truncation,
                                           T (&sum)[4][L::y][L::x]) {
  T dx[L::x], qdx[L::x];
#pragma unroll
  for (int i = 0; i < L::x; ++i) {
    dx[i] = x[i] - charge.x;
    qdx[i] = multiply(charge.q, dx[i]);
  }
  constexpr PointOrder<L, true> order;
  static_assert(order.names_each_once());
#pragma unroll
  for (int turn = 0; turn < L::points; ++turn) {
    const int i = order.point[turn] % L::x, j = order.point[turn] / L::x;
    const Term<T> term = term_of<Cutoff>(fma(dx[i], dx[i], at_row.dyz2[j]), truncation);
    sum[0][j][i] = fma(charge.q, term.g, sum[0][j][i]);
    sum[1][j][i] = fma(qdx[i], term.slope, sum[1][j][i]);
    sum[2][j][i] = fma(at_row.qdy[j], term.slope, sum[2][j][i]);
    sum[3][j][i] = fma(at_row.qdz, term.slope, sum[3][j][i]);
  }
}

/// Number of charges by which the loop is unrolled.
template <class T>
constexpr int unrolled_charges(bool more_than_root) {
  if (!is_single<T>) return 1;
  return more_than_root ? 8 : 16;
}

/// Adds V's sums to the totals, and E's sums if `field_as_well`. The kernel calls it after each charges_per_sum
/// charges, and sets `field_as_well` after each charges_per_field_sum.
template <class T, class L, int Values, class M>
__device__ __forceinline__ void settle_sums(bool field_as_well, T (&sum)[Values][L::y][L::x], T (&total)[L::y][L::x],
                                            M& memory) {
#pragma unroll
  for (int j = 0; j < L::y; ++j)
#pragma unroll
    for (int i = 0; i < L::x; ++i) settle(total[j][i], sum[0][j][i]);
  if constexpr (Values > 1) {
    if (!field_as_well) return;
#pragma unroll
    for (int v = 1; v < Values; ++v)
#pragma unroll
      for (int j = 0; j < L::y; ++j)
#pragma unroll
        for (int i = 0; i < L::x; ++i) settle(memory.total[v - 1][j * L::x + i][threadIdx.x], sum[v][j][i]);
  }
}

/// Sums point `bit` of the block again. The lanes of a warp share the charges.
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
__global__ void __launch_bounds__(L::threads, resident_blocks(L::blocks, Field ? std::min(L::blocks, 4) : L::blocks))
    lattice_kernel(ChargeBatch charges, LatticeBatch lattice, Cells cells, int staged, PotentialOptions options,
                   Truncation<T> truncation, PotentialResult<T> result) {
  constexpr int values = Field ? 4 : 1;
  using M = MemoryOf<T, L, Field>;
  extern __shared__ char shared_memory[];
  M& memory = *reinterpret_cast<M*>(shared_memory);
  auto* const at_rows = reinterpret_cast<ChargeAtRow<T, L::y, Field>*>(shared_memory + sizeof(M));
  const Block block{blockIdx.x / cells.blocks_per_problem,
                    blockIdx.x % cells.blocks_per_problem * static_cast<unsigned>(L::threads)};
  const unsigned cell = block.first_cell + threadIdx.x;
  const unsigned cell_x = cell % cells.x, cell_y = cell / cells.x % cells.y, plane = cell / cells.x / cells.y;
  const unsigned first_row = block.first_cell / cells.x;
  const int rows = static_cast<int>((block.first_cell + L::threads - 1) / cells.x - first_row + 1);
  const double* spacing = lattice.spacing + 3 * block.problem;

  for (int i = threadIdx.x; i < L::threads * L::points / warp_lanes; i += L::threads) memory.again[i] = 0;
  if (threadIdx.x == 0) {
    const Placement place = placement(lattice, block.problem);
    memory.within_reach = 0;
    memory.faults = 0;
    memory.may_be_near = 0;
    const double extent = fmax(fmax(place.extent(0), place.extent(1)), place.extent(2));
    memory.all_again = is_single<T> && leaves_single_range(options, Field, extent, 0) ? 1 : 0;
    memory.on_points = 0;
  }
  if (threadIdx.x < 3) memory.per_spacing[threadIdx.x] = 1 / spacing[threadIdx.x];
  for (int i = threadIdx.x; i < rows; i += L::threads) {
    const unsigned y = (first_row + i) % cells.y * L::y, z = (first_row + i) / cells.y;
#pragma unroll
    for (int j = 0; j < L::y; ++j) memory.row[i].y[j] = static_cast<T>(static_cast<double>(y + j) * spacing[1]);
    memory.row[i].z = static_cast<T>(static_cast<double>(lattice.first_plane + z) * spacing[2]);
  }

  T x[L::x], sum[values][L::y][L::x] = {}, total[L::y][L::x] = {};
#pragma unroll
  for (int i = 0; i < L::x; ++i) x[i] = static_cast<T>(static_cast<double>(cell_x * L::x + i) * spacing[0]);
  if constexpr (Field) {
#pragma unroll
    for (int v = 0; v < values - 1; ++v)
#pragma unroll
      for (int p = 0; p < L::points; ++p) memory.total[v][p][threadIdx.x] = 0;
  }

  const ChargeAtRow<T, L::y, Field>* const at_my_row = at_rows + (cell / cells.x - first_row) * staged;
  const std::int64_t before = charges.offset[block.problem], last = charges.offset[block.problem + 1];
#pragma unroll 1
  for (std::int64_t begin = before; begin < last; begin += staged) {
    __syncthreads();  // all threads have read the previous charges, and the marks are clear
    if (Cutoff && begin > before) {
      if (threadIdx.x == 0) memory.within_reach = 0;
      __syncthreads();  // no charge is marked as within reach
    }
    stage<T, L, Field, Cutoff>(charges, lattice, cells, block, options, begin, last, staged, memory);
    __syncthreads();  // the new charges are there
    const int left = static_cast<int>(min(last - begin, static_cast<std::int64_t>(staged)));
    const int count = (left + charges_per_sum - 1) / charges_per_sum * charges_per_sum;
    place_at_rows<T, L, Field, Cutoff>(rows, count, staged, truncation, memory, at_rows);
    __syncthreads();  // their ChargeAtRow are there
#pragma unroll 1
    for (int first = 0; first < count; first += charges_per_sum) {
      // If no charge is within the cut-off, the sum would only add zeros.
      if (!Cutoff || any_within_reach(first, memory)) {
        constexpr int unrolled = unrolled_charges<T>(Field || Cutoff);
#pragma unroll unrolled
        for (int k = first; k < first + charges_per_sum; ++k)
          add_charge<T, L, Cutoff>(memory.charge[k], at_my_row[k], x, truncation, sum);
      }
      const bool field_as_well = (begin - before + first + charges_per_sum) % charges_per_field_sum == 0;
      settle_sums<T, L>(field_as_well, sum, total, memory);
    }
  }
  __syncthreads();  // all findings about the charges are there

  const unsigned faults = memory.faults;
  if (plane < lattice.plane_count) {
    const bool all_again = memory.all_again != 0;
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
        const int point = j * L::x + i;
#pragma unroll
        for (int v = 0; v < values; ++v) {
          T whole = total[j][i];
          if constexpr (Field)
            if (v > 0) whole = memory.total[v - 1][point][threadIdx.x];
          const double value = options.unit_factor * (static_cast<double>(whole) + static_cast<double>(sum[v][j][i]));
          T& stored = v == 0 ? result.potential[index] : result.field[3 * index + v - 1];
          stored = faults == 0 ? static_cast<T>(value) : static_cast<T>(NAN);
        }
        if (all_again) mark_again(threadIdx.x * L::points + point, memory);
      }
    }
  }
  if (faults == 0 && memory.may_be_near != 0)
    mark_all_near<T, L, Field>(charges, lattice, cells, block, options.softening > 0, memory);
  __syncthreads();  // all points are marked, and all values that another warp may sum again are stored
  if (block.first_cell == 0 && threadIdx.x == 0)
    result.info[block.problem] = faults != 0 ? info_of_faults(faults) : memory.on_points;
  if (faults != 0) return;
#pragma unroll 1
  for (int word = threadIdx.x / warp_lanes; word < L::threads * L::points / warp_lanes; word += L::threads / warp_lanes)
#pragma unroll 1
    for (unsigned bits = memory.again[word]; bits != 0; bits &= bits - 1)
      sum_again<T, L>(charges, lattice, cells, block, options, result, word * warp_lanes + __ffs(bits) - 1);
}

template <class T, class L, bool Field, bool Cutoff>
cudaError_t launch(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                   const PotentialResult<T>& result, cudaStream_t stream) {
  // Cells of a problem and the points of their rows are counted in 32 bits, and blocks of a launch in 31.
  const Cells cells = cells_of<L>(lattice, charges.count);
  const std::int64_t cells_of_problem = cells.blocks / charges.count * L::threads;
  const std::int64_t longest = std::max(lattice.shape.nx, lattice.shape.ny);
  if (cells.blocks > 0x7fffffff || std::max(cells_of_problem, longest) > 0xffffffff - L::points)
    return cudaErrorInvalidValue;
  const unsigned staged = charges_staged<T, L, Field>(cells.rows_per_block);
  const std::size_t bytes = bytes_of_block<T, L, Field>(cells.rows_per_block);
  const auto kernel = lattice_kernel<T, L, Field, Cutoff>;
  // The attribute holds for all threads of the program, so it is set to the most that any launch needs.
  if (bytes > 48 << 10) {
    constexpr auto most = static_cast<int>(most_bytes_of_block<T, L, Field>());
    static_assert(most <= shared_bytes_everywhere);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    if (status != cudaSuccess) return status;
  }
  kernel<<<static_cast<unsigned>(cells.blocks), L::threads, bytes, stream>>>(
      charges, lattice, cells, static_cast<int>(staged), options, truncation_of<T>(options), result);
  return cudaGetLastError();
}

/// Tiles of a precision, with a field or without. A cut-off has a separate tile: a smaller tile has fewer charges
/// within reach.
template <class L, class M, class S, class C>
struct Tiles {
  using Large = L;
  using Medium = M;
  using Small = S;
  using WithCutoff = C;
};

/// Launches large tiles if they fill the device. Smaller tiles spread few points over more of the device.
template <class T, class Tiles, bool Field>
cudaError_t launch_best(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                        const PotentialResult<T>& result, cudaStream_t stream) {
  constexpr std::int64_t large_blocks_that_fill = 1024, medium_blocks_that_fill = 256;
  if (options.cutoff > 0)
    return launch<T, typename Tiles::WithCutoff, Field, true>(charges, lattice, options, result, stream);
  if (cells_of<typename Tiles::Large>(lattice, charges.count).blocks >= large_blocks_that_fill)
    return launch<T, typename Tiles::Large, Field, false>(charges, lattice, options, result, stream);
  if (cells_of<typename Tiles::Medium>(lattice, charges.count).blocks >= medium_blocks_that_fill)
    return launch<T, typename Tiles::Medium, Field, false>(charges, lattice, options, result, stream);
  return launch<T, typename Tiles::Small, Field, false>(charges, lattice, options, result, stream);
}

}  // namespace

template <>
cudaError_t launch_lattices<float>(const ChargeBatch& charges, const LatticeBatch& lattice,
                                   const PotentialOptions& options, const PotentialResult<float>& result,
                                   cudaStream_t stream) {
  using Small = Tile<float, 4, 1, 128>;
  using Medium = Tile<float, 4, 2, 128>;
  using ForPotential = Tiles<Tile<float, 4, 4, 128, 4>, Medium, Small, Medium>;
  using ForField = Tiles<Tile<float, 4, 4, 64, 6>, Small, Small, Medium>;
  const auto kernel =
      result.field == nullptr ? launch_best<float, ForPotential, false> : launch_best<float, ForField, true>;
  return kernel(charges, lattice, options, result, stream);
}
template <>
cudaError_t launch_lattices<double>(const ChargeBatch& charges, const LatticeBatch& lattice,
                                    const PotentialOptions& options, const PotentialResult<double>& result,
                                    cudaStream_t stream) {
  using Small = Tile<double, 2, 2, 64>;
  using ForPotential = Tiles<Tile<double, 4, 2, 128>, Small, Small, Small>;
  using ForField = Tiles<Small, Small, Small, Small>;
  const auto kernel =
      result.field == nullptr ? launch_best<double, ForPotential, false> : launch_best<double, ForField, true>;
  return kernel(charges, lattice, options, result, stream);
}

}  // namespace smallbatch
