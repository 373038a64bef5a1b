// Potentials of point charges on lattices, at points, and at the charges themselves: the plain structs that flow from
// file to evaluation to verification to file. No behaviour beyond their own sizes, and adding up what several blocks
// say of a problem.
//
// A *batch* is a view (pointers; host or device as the callee says). A *block* owns consecutive problems of a set, or
// planes of lattices, on the host: what io fills, a room computes, verification judges and io writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/scalar_type.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Points per axis. Values lie with x fastest: index = (z * ny + y) * nx + x.
struct LatticeShape {
  std::int64_t nx = 0, ny = 0, nz = 0;
  /// Points of an xy-plane; of all of them.
  [[nodiscard]] std::int64_t plane_points() const { return nx * ny; }
  [[nodiscard]] std::int64_t points() const { return nx * ny * nz; }
};

/// Status of one potential problem. 0: evaluated. k > 0: evaluated, and k charges that are not zero lie on a lattice
/// point, or k targets on a charge that is not zero (the singularity policy decided the values there); a charge with a
/// width lies on nothing. Negative: as below, in this order; where has_values() says that there are none, every value
/// of the problem is NaN.
/// A position, a charge, a width or a point is a NaN or an infinity, or a width is negative.
inline constexpr std::int32_t info_charges_not_finite = -1;
inline constexpr std::int32_t info_charges_out_of_range =
    -2;  ///< beyond 1e15 angstrom or e (1e150 in double precision)
/// Evaluated, but V or E leaves the range of its type: a value that does is an infinity of its sign, all others are
/// right. At points and charges: some V, or E where it is wanted, does so (other than by the singularity policy). On a
/// lattice the charges decide, wherever the planes asked for lie and whether or not the values cancel:
///     |f| sum_i |q_i| / rho_i,   or, where E is wanted,   |f| sum_i |q_i| / rho_i^2 (1 + 2 rho_i / c)
/// exceeds the largest finite number of the type, with rho_i^2 = d_i^2 + softening^2, d_i from charge i to the nearest
/// point of the whole lattice (of a charge *on* a point, without a softening: the smallest spacing; of a Gaussian
/// charge rho_i is the larger of d_i and 1.25 widths), c the cut-off (the bracket is 1 without one). A screening counts
/// for nothing here. V and E are then within the range, to 1e-6 of it, wherever neither sum exceeds it.
inline constexpr std::int32_t info_values_out_of_range = -3;

/// Whether a problem of this status has values.
constexpr bool has_values(std::int32_t potential_info) {
  return potential_info >= 0 || potential_info == info_values_out_of_range;
}

/// One line for people: "evaluated", "a position or a charge is not finite", ...
std::string describe_potential_info(std::int32_t info);

/// A softening must be 0, which is none, or a length (angstrom) whose square is a normal double.
inline constexpr double least_softening = 0x1p-511, largest_softening = 0x1p+511;
constexpr bool is_softening(double length) {
  return length == 0 || (length >= least_softening && length <= largest_softening);
}

/// A screening length must be 0, which is none, or a length (angstrom) within the same limits.
constexpr bool is_screening_length(double length) { return is_softening(length); }

/// A charge with a smaller width (angstrom) is a point.
inline constexpr double least_width = 0x1p-480;
/// The least rho of a Gaussian charge, in widths. No g exceeds sqrt(2/pi)/w, which is just below 1/(1.25 w).
inline constexpr double gaussian_length_in_widths = 1.25;

/// Spacings of lattices (angstrom) from here on: the square of 1e-6 of it, at which a charge lies on a point, is a
/// normal double.
inline constexpr double least_spacing = 0x1p-470;

/// What V and E are at a target that holds a charge: an infinity with the sign of the net charge there (no net charge
/// contributes nothing) and a field of NaN, or the values of all the other charges.
enum class Singular { infinite, skip };

/// Charges of `count` problems: problem p has charges offset[p] .. offset[p+1]-1. position (total,3) in angstrom,
/// charge (total) in units of e. offset[0] need not be 0: it indexes all arrays as given.
struct ChargeBatch {
  std::int64_t count = 0;
  const std::int64_t* offset = nullptr;
  const double* position = nullptr;
  const double* charge = nullptr;
  const std::int8_t* group = nullptr;  ///< (total): 1 and 2 for the two groups of an interaction energy; may be null
  const double* width = nullptr;       ///< (total), angstrom: of Gaussian charges, 0: a point; null: all are points
};

/// The charges of a block: groups and widths where it has some.
template <class Block>
ChargeBatch charges_of_block(const Block& block) {
  const auto if_any = [](const auto& values) { return values.empty() ? nullptr : values.data(); };
  return {block.count,         block.offset.data(), block.position.data(),
          block.charge.data(), if_any(block.group), if_any(block.width)};
}

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
  TargetKind targets = TargetKind::lattice;  ///< where V is wanted
  LatticeShape shape;                        ///< of lattices
  std::int64_t first = 0, count = 0;
  std::int64_t first_plane = 0, plane_count = 0;
  std::vector<std::int64_t> offset, point_offset;                  ///< (count + 1) each, from 0
  AlignedVector<double> position, charge, origin, spacing, point;  ///< as in ChargeBatch, LatticeBatch and PointBatch
  AlignedVector<double> width;                                     ///< of the charges; empty: all are points
  AlignedVector<T> potential, field;                               ///< field is empty where it is not wanted
  std::vector<std::int32_t> info;                                  ///< (count)
  std::vector<std::int8_t> group;                                  ///< of the charges, where an energy is wanted
  bool wants_energy = false;                                       ///< also of problems that have no charges
  std::vector<PotentialSummary> summary;                           ///< one per plane of each lattice, or per problem
  std::vector<double> energy;                                      ///< (count), where it is wanted

  PotentialBlock() = default;
  /// `memory`, where its larger arrays lie, outlives it.
  explicit PotentialBlock(std::pmr::memory_resource* memory)
      : position(memory),
        charge(memory),
        origin(memory),
        spacing(memory),
        point(memory),
        width(memory),
        potential(memory),
        field(memory) {}

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
  [[nodiscard]] ChargeBatch charges() const { return charges_of_block(*this); }
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
#pragma GCC visibility pop
