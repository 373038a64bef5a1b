// The plain structs that flow from file to lane to verification to file. No behaviour beyond their own sizes, and
// adding up what several pieces of a problem said.
//
// A *batch* is a view (pointers; host or device as the callee says). A *block* owns a piece of a set on the host: what
// io fills, a lane solves or evaluates, verification judges and io writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"

namespace smallbatch {

enum class ScalarType { float32, float64 };

template <class T>
inline constexpr ScalarType scalar_type_of = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;

// lane 1: A x = b for many small symmetric positive definite systems

/// The largest n a solver accepts.
inline constexpr int max_system_size = 64;

/// How one matrix lies in memory.
enum class Storage {
  dense,        ///< n*n numbers by rows, both triangles filled (and compared: an asymmetric matrix is refused)
  dense_lower,  ///< n*n numbers by rows, of which the strict upper triangle is never looked at (LAPACK's uplo = 'L')
  packed_lower  ///< n(n+1)/2 numbers, the lower triangle by rows: (0,0), (1,0), (1,1), (2,0), ...
};

/// The shape that all systems of a set share.
struct SpdShape {
  int n = 0;
  int nrhs = 1;  ///< right-hand sides per system; 0 asks for the inverse of A instead of a solution
  Storage storage = Storage::dense;
  bool determinant_only = false;  ///< no x and no backward error, only the numbers about A; nrhs is 0 then

  [[nodiscard]] bool wants_inverse() const { return nrhs == 0 && !determinant_only; }
  [[nodiscard]] std::int64_t matrix_size() const {
    return storage == Storage::packed_lower ? std::int64_t{n} * (n + 1) / 2 : std::int64_t{n} * n;
  }
  [[nodiscard]] std::int64_t rhs_size() const { return std::int64_t{n} * nrhs; }
  /// Numbers in one solution: n*nrhs, n*n (dense) for the inverse, none for the determinant alone.
  [[nodiscard]] std::int64_t solution_size() const { return std::int64_t{n} * (wants_inverse() ? n : nrhs); }
};

/// Status of one system. 0: solved. k > 0: the k-th pivot (counted from 1) is not positive, so A is not positive
/// definite (LAPACK's meaning). Negative: the input or the result cannot be used, as below; input is judged in this
/// order, before any pivot. Where the status is not 0, every number of the system's answer is NaN.
inline constexpr std::int32_t info_matrix_not_finite = -1;     ///< A holds a NaN or an infinity, in either triangle
inline constexpr std::int32_t info_matrix_not_symmetric = -2;  ///< |a_ij - a_ji| > n eps sqrt(|a_ii a_jj|) somewhere
inline constexpr std::int32_t info_rhs_not_finite = -3;        ///< b holds a NaN or an infinity
inline constexpr std::int32_t info_result_not_finite = -4;     ///< all pivots were positive, but x overflowed
/// All pivots were positive, but some right-hand side's x is so small that rounding it to T, which has no smaller
/// numbers there, changes it by more than 8 u ||x||_1 (u = 2^-24 or 2^-53).
inline constexpr std::int32_t info_result_underflowed = -5;

/// One line for people: "solved", "pivot 3 is not positive", "A is not symmetric", ...
std::string describe_spd_info(std::int32_t info);

/// The stride of systems that lie one right after the other.
inline constexpr std::int64_t tight = -1;

/// Input of a solver. Arrays are stacked with the batch first: a (count, matrix_size), b (count, n, nrhs) with the
/// right-hand side index fastest; b is ignored (may be null) where nrhs is 0. System k starts k strides after the
/// first, in numbers. A stride of 0: one matrix, or one set of right-hand sides, for all systems.
template <class T>
struct SpdBatch {
  SpdShape shape;
  std::int64_t count = 0;
  const T* a = nullptr;
  const T* b = nullptr;
  std::int64_t a_stride = tight, b_stride = tight;

  [[nodiscard]] std::int64_t a_step() const { return a_stride == tight ? shape.matrix_size() : a_stride; }
  [[nodiscard]] std::int64_t b_step() const { return b_stride == tight ? shape.rhs_size() : b_stride; }
};

/// Output of a solver: x (count, n, nrhs), or (count, n, n) for the inverse, with a stride as in SpdBatch (but not 0);
/// all others (count). A null pointer means that the number is not wanted, and is not computed; info is always wanted,
/// x unless the determinant alone is.
template <class T>
struct SpdSolution {
  T* x = nullptr;
  std::int32_t* info = nullptr;
  T* backward_error = nullptr;        ///< as solvers/spd_solver.hpp defines it
  T* rcond = nullptr;                 ///< 1 / (||A||_1 ||A^-1||_1)
  T* smallest_pivot = nullptr;        ///< min_k d_k of A = L D L^T; may round to 0
  double* log_determinant = nullptr;  ///< ln det A = sum_k ln d_k
  std::int32_t* repaired = nullptr;   ///< pivots that the floor of SpdOptions raised
  T* perturbation = nullptr;          ///< max_k e_k / a_kk of what raising them added, A + diag(e); 0 without repairs
  std::int64_t x_stride = tight;

  [[nodiscard]] std::int64_t x_step(const SpdShape& shape) const {
    return x_stride == tight ? shape.solution_size() : x_stride;
  }
};

/// Systems [first, first + count) of a set, with room for their solutions.
template <class T>
struct SpdBlock {
  SpdShape shape;
  std::int64_t first = 0;
  std::int64_t count = 0;
  AlignedVector<T> a, b, x;
  std::vector<T> backward_error, rcond, smallest_pivot, perturbation;
  std::vector<double> log_determinant;
  std::vector<std::int32_t> info, repaired;

  /// Sizes every array for `systems` systems of shape `s`.
  void resize(const SpdShape& s, std::int64_t systems) {
    shape = s;
    count = systems;
    const auto c = static_cast<std::size_t>(systems);
    a.resize(c * static_cast<std::size_t>(s.matrix_size()));
    b.resize(c * static_cast<std::size_t>(s.rhs_size()));
    x.resize(c * static_cast<std::size_t>(s.solution_size()));
    backward_error.resize(s.determinant_only ? 0 : c);
    rcond.resize(c);
    smallest_pivot.resize(c);
    log_determinant.resize(c);
    info.resize(c);
    repaired.resize(c);
    perturbation.resize(c);
  }
  [[nodiscard]] SpdBatch<T> batch() const { return {shape, count, a.data(), b.data()}; }
  [[nodiscard]] SpdSolution<T> solution() {
    return {x.data(),        info.data(),           shape.determinant_only ? nullptr : backward_error.data(),
            rcond.data(),    smallest_pivot.data(), log_determinant.data(),
            repaired.data(), perturbation.data()};
  }
};

// lane 2: potentials of point charges on lattices, at points, and at the charges themselves

/// Points per axis. Values lie with x fastest: index = (z * ny + y) * nx + x.
struct LatticeShape {
  std::int64_t nx = 0, ny = 0, nz = 0;
  [[nodiscard]] std::int64_t plane_points() const { return nx * ny; }
  [[nodiscard]] std::int64_t points() const { return nx * ny * nz; }
};

/// Status of one potential problem. 0: evaluated. k > 0: evaluated, and k charges that are not zero lie on a lattice
/// point, or k targets on a charge that is not zero (the singularity policy decided the values there). Negative: as
/// below, in this order; where has_values() says that there are none, every value of the problem is NaN.
inline constexpr std::int32_t info_charges_not_finite = -1;  ///< a position, a charge or a point is a NaN or infinite
inline constexpr std::int32_t info_charges_out_of_range =
    -2;  ///< beyond 1e15 angstrom or e (1e150 in double precision)
/// Evaluated, but V or E leaves the range of its type: a value that does is an infinity of its sign, all others are
/// right. At points and charges: some V, or E where it is wanted, does so (other than by the singularity policy). On a
/// lattice the charges decide, wherever the planes asked for lie and whether or not the values cancel:
///     |f| sum_i |q_i| / rho_i,   or, where E is wanted,   |f| sum_i |q_i| / rho_i^2 (1 + 2 rho_i / c)
/// exceeds the largest finite number of the type, with rho_i^2 = d_i^2 + softening^2, d_i from charge i to the nearest
/// point of the whole lattice (of a charge *on* a point, without a softening: the smallest spacing), c the cut-off (the
/// bracket is 1 without one). V and E are then within the range, to 1e-6 of it, wherever neither sum exceeds it.
inline constexpr std::int32_t info_values_out_of_range = -3;

/// Whether a problem of this status has values.
constexpr bool has_values(std::int32_t potential_info) {
  return potential_info >= 0 || potential_info == info_values_out_of_range;
}

std::string describe_potential_info(std::int32_t info);

/// A softening must be 0, which is none, or a length (angstrom) whose square is a normal double.
inline constexpr double least_softening = 0x1p-511, largest_softening = 0x1p+511;
constexpr bool is_softening(double length) {
  return length == 0 || (length >= least_softening && length <= largest_softening);
}

/// Spacings of lattices (angstrom) from here on: the square of 1e-6 of it, at which a charge lies on a point, is a
/// normal double.
inline constexpr double least_spacing = 0x1p-470;

/// What V and E are at a target that holds a charge: an infinity with the sign of the net charge there (no net charge
/// contributes nothing) and a field of NaN, or the values of all the other charges.
enum class Singular { infinite, skip };

/// Charges of `count` problems: problem p has charges offset[p] .. offset[p+1]-1. position (total,3) in angstrom,
/// charge (total) in units of e. offset[0] need not be 0: it indexes position and charge as given.
struct ChargeBatch {
  std::int64_t count = 0;
  const std::int64_t* offset = nullptr;
  const double* position = nullptr;
  const double* charge = nullptr;
  const std::int8_t* group = nullptr;  ///< (total): 1 and 2 for the two groups of an interaction energy; may be null
};

/// One lattice per problem, all of one shape: point (i,j,k) of problem p lies at origin[p] + (i,j,k) * spacing[p],
/// angstrom. Only the xy-planes first_plane .. first_plane + plane_count - 1 of each lattice are asked for.
struct LatticeBatch {
  LatticeShape shape;
  const double* origin = nullptr;   ///< (count, 3)
  const double* spacing = nullptr;  ///< (count, 3), each > 0
  std::int64_t first_plane = 0;
  std::int64_t plane_count = 0;
};

/// Points of `count` problems: problem p has points offset[p] .. offset[p+1]-1 of position (total,3), angstrom.
/// offset[0] need not be 0.
struct PointBatch {
  const std::int64_t* offset = nullptr;  ///< (count + 1)
  const double* position = nullptr;
};

/// Where a potential is wanted. `charges`: at every charge, without its own contribution.
enum class TargetKind { lattice, points, charges };

/// The targets of a call: `lattice` or `points`, as `kind` says; neither where the charges themselves are the targets.
struct TargetBatch {
  TargetKind kind = TargetKind::charges;
  LatticeBatch lattice;
  PointBatch points;

  /// At the charges of the call.
  TargetBatch() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a lattice is a target
  TargetBatch(const LatticeBatch& of_lattice) : kind(TargetKind::lattice), lattice(of_lattice) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so are points
  TargetBatch(const PointBatch& of_points) : kind(TargetKind::points), points(of_points) {}
};

/// What some values of a problem are, those that are finite; of no values lowest is an infinity and highest its
/// negative, as minima and maxima of nothing are.
struct PotentialSummary {
  double lowest = std::numeric_limits<double>::infinity(), highest = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t values = 0;  ///< how many are finite

  /// Adds what others of the problem's values are.
  void add(const PotentialSummary& more) {
    lowest = std::min(lowest, more.lowest);
    highest = std::max(highest, more.highest);
    sum += more.sum;
    values += more.values;
  }
};

/// Output. On lattices potential is (count, plane_count, ny, nx), at points (offset[count] - offset[0]) in the order of
/// the points; info (count).
template <class T>
struct PotentialResult {
  T* potential = nullptr;
  std::int32_t* info = nullptr;
  T* field = nullptr;  ///< E = -grad V, as potential with a last axis of 3; null: not wanted, and not computed
  /// Of the potential as stored: one per plane of each lattice, (count, plane_count), or one per problem, (count);
  /// null: not wanted. A summary's bits depend on its own values and their number alone.
  PotentialSummary* summary = nullptr;
  double* energy = nullptr;  ///< (count), the interaction energy of groups 1 and 2, unit of V times e; null: not wanted
};

/// Problems [first, first + count) of a set, and of lattices the planes [first_plane, first_plane + plane_count) of
/// each, with room for the values.
template <class T>
struct PotentialBlock {
  TargetKind targets = TargetKind::lattice;
  LatticeShape shape;
  std::int64_t first = 0, count = 0;
  std::int64_t first_plane = 0, plane_count = 0;
  std::vector<std::int64_t> offset, point_offset;
  std::vector<double> position, charge, origin, spacing, point;
  std::vector<T> potential, field;  ///< field is empty where it is not wanted
  std::vector<std::int32_t> info;
  std::vector<std::int8_t> group;         ///< of the charges, where an energy is wanted
  bool wants_energy = false;              ///< also of problems that have no charges
  std::vector<PotentialSummary> summary;  ///< one per plane of each lattice, or per problem
  std::vector<double> energy;

  /// How many targets problem first + k has, of a lattice in the block's planes.
  [[nodiscard]] std::int64_t target_count(std::int64_t k) const {
    if (targets == TargetKind::lattice) return plane_count * shape.plane_points();
    const std::vector<std::int64_t>& ends = targets == TargetKind::points ? point_offset : offset;
    return ends[static_cast<std::size_t>(k) + 1] - ends[static_cast<std::size_t>(k)];
  }
  /// How many targets the block has.
  [[nodiscard]] std::int64_t target_count() const {
    if (targets == TargetKind::lattice) return count * plane_count * shape.plane_points();
    const std::vector<std::int64_t>& ends = targets == TargetKind::points ? point_offset : offset;
    return ends.empty() ? 0 : ends.back();
  }
  /// Sizes what is computed for the charges and targets that are there.
  void resize_results(bool with_field) {
    const auto values = static_cast<std::size_t>(target_count()), problems = static_cast<std::size_t>(count);
    potential.resize(values);
    field.resize(with_field ? 3 * values : 0);
    info.resize(problems);
    summary.resize(targets == TargetKind::lattice ? problems * static_cast<std::size_t>(plane_count) : problems);
    energy.resize(wants_energy ? problems : 0);
  }
  [[nodiscard]] ChargeBatch charges() const {
    return {count, offset.data(), position.data(), charge.data(), group.empty() ? nullptr : group.data()};
  }
  [[nodiscard]] LatticeBatch lattice() const {
    return {shape, origin.data(), spacing.data(), first_plane, plane_count};
  }
  [[nodiscard]] TargetBatch target_batch() const {
    if (targets == TargetKind::lattice) return lattice();
    if (targets == TargetKind::points) return PointBatch{point_offset.data(), point.data()};
    return {};
  }
  [[nodiscard]] PotentialResult<T> result() {
    return {potential.data(), info.data(), field.empty() ? nullptr : field.data(), summary.data(),
            wants_energy ? energy.data() : nullptr};
  }
};

}  // namespace smallbatch
