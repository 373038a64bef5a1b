// Potentials of point charges on lattices, at free points, and at the charges themselves. These plain structs flow from
// file to evaluation to verification to file. They have no behaviour beyond their own sizes, except that summaries of
// several blocks can be added up.
//
// A *batch* is a view: pointers to host or device memory; the function that takes the batch says which. A *block* owns
// consecutive problems of a set, or planes of lattices, on the host. The room `io` fills a block, a backend computes
// the results, verification judges them, and `io` writes them.
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
  /// Returns the number of points of one xy-plane.
  [[nodiscard]] std::int64_t plane_points() const { return nx * ny; }
  /// Returns the number of points of the whole lattice.
  [[nodiscard]] std::int64_t points() const { return nx * ny * nz; }
};

/// Statuses of a potential problem. Status 0: evaluated. Status k > 0: evaluated, and k charges coincide with targets;
/// the singularity policy decided the values there. On a lattice, k counts the charges that lie on a lattice point. At
/// points and charges, k counts the targets that lie on a charge. Charges of 0 and charges with a width do not count.
/// Negative statuses are the constants below; the first that applies is stored. If has_values() is false, every value
/// of the problem is NaN.
///
/// The constant info_charges_not_finite: a position, a charge, a width or a point is a NaN or an infinity, or a width
/// is negative.
inline constexpr std::int32_t info_charges_not_finite = -1;
/// A coordinate or a width is beyond 1e15 angstrom, or a charge is beyond 1e15 e. In double precision, the limit is
/// 1e150.
inline constexpr std::int32_t info_charges_out_of_range = -2;
/// Evaluated, but V or E leaves the range of its type. A value that leaves the range is stored as an infinity of its
/// sign; all other values are right. At points and charges, the status is set if some V leaves the range, or some E if
/// E is wanted. Infinities by the singularity policy do not count.
///
/// On a lattice, the status is set if an upper bound of the values exceeds the largest finite number of the type. The
/// bound depends on the charges and on the whole lattice, whichever planes are evaluated. It ignores cancellation and
/// screening. The bound is
///
/// - |f| sum_i |q_i| / rho_i without E,
/// - |f| sum_i |q_i| / rho_i^2 (1 + 2 rho_i / c) with E.
///
/// Here f is the factor of the unit, and rho_i^2 = d_i^2 + softening^2. The distance d_i is that from charge i to the
/// nearest point of the whole lattice. For a charge *on* a point, without a softening, d_i is the smallest spacing. For
/// a Gaussian charge, rho_i is the larger of d_i and 1.25 widths. The cut-off is c; without a cut-off the bracket is 1.
/// If the bound does not exceed the largest number, V and E exceed that number at most by a fraction of 1e-6.
inline constexpr std::int32_t info_values_out_of_range = -3;

/// Returns whether a problem with this status has values.
constexpr bool has_values(std::int32_t potential_info) {
  return potential_info >= 0 || potential_info == info_values_out_of_range;
}

/// Returns one line for people: "evaluated", "a position, a charge, a width or a point is out of range", ...
std::string describe_potential_info(std::int32_t info);

/// Limits of a softening (angstrom): it must be 0 (no softening), or a length with a square that is a normal double.
inline constexpr double least_softening = 0x1p-511, largest_softening = 0x1p+511;
constexpr bool is_softening(double length) {
  return length == 0 || (length >= least_softening && length <= largest_softening);
}

/// Returns whether a screening length is valid: 0 (no screening), or a length (angstrom) within the limits of a
/// softening.
constexpr bool is_screening_length(double length) { return is_softening(length); }

/// The smallest width (angstrom) of a Gaussian charge; a charge with a smaller width is a point.
inline constexpr double least_width = 0x1p-480;
/// The least rho of a Gaussian charge, in widths. Its potential g per unit charge is at most sqrt(2/pi)/w, which is
/// just below 1/(1.25 w).
inline constexpr double gaussian_length_in_widths = 1.25;

/// The smallest spacing of a lattice (angstrom). A charge lies on a point if it is closer than 1e-6 spacings. With this
/// spacing or a larger one, the square of 1e-6 spacings is a normal double.
inline constexpr double least_spacing = 0x1p-470;

/// Policy for V and E at a target that holds a charge. With `infinite`, V is an infinity with the sign of the net
/// charge there, and E is NaN; a net charge of 0 contributes nothing. With `skip`, V and E are sums over all other
/// charges.
enum class Singular { infinite, skip };

/// Charges of `count` problems. Problem p has the charges offset[p] .. offset[p+1]-1. Offsets are indices into the
/// arrays as given, so the first offset need not be 0.
struct ChargeBatch {
  std::int64_t count = 0;
  const std::int64_t* offset = nullptr;  ///< (count + 1)
  const double* position = nullptr;      ///< (total, 3), angstrom
  const double* charge = nullptr;        ///< (total), in units of e
  const std::int8_t* group = nullptr;    ///< (total): 1 or 2, the two groups of an interaction energy; may be null
  const double* width = nullptr;         ///< (total), angstrom: widths of Gaussian charges, 0 for a point charge; null:
                                         ///< all are points
};

/// Returns the charges of a block, with groups and widths if the block has them.
template <class Block>
ChargeBatch charges_of_block(const Block& block) {
  const auto if_any = [](const auto& values) { return values.empty() ? nullptr : values.data(); };
  return {block.count,         block.offset.data(), block.position.data(),
          block.charge.data(), if_any(block.group), if_any(block.width)};
}

/// One lattice per problem, all of the same shape. Point (i,j,k) of problem p lies at origin[p] + (i,j,k) * spacing[p],
/// in angstrom. Only the xy-planes first_plane .. first_plane + plane_count - 1 of each lattice are evaluated.
struct LatticeBatch {
  LatticeShape shape;
  const double* origin = nullptr;   ///< (count, 3)
  const double* spacing = nullptr;  ///< (count, 3), each > 0
  std::int64_t first_plane = 0;
  std::int64_t plane_count = 0;
};

/// Points of `count` problems. Problem p has the points offset[p] .. offset[p+1]-1 of position (total,3), in angstrom.
/// The first offset need not be 0.
struct PointBatch {
  const std::int64_t* offset = nullptr;  ///< (count + 1)
  const double* position = nullptr;
};

/// Where a potential is evaluated. `charges`: at every charge, without the charge's own contribution.
enum class TargetKind { lattice, points, charges };

/// The targets of a call. `kind` says which member holds them: `lattice`, `points`, or neither if the charges are the
/// targets.
struct TargetBatch {
  TargetKind kind = TargetKind::charges;
  LatticeBatch lattice;
  PointBatch points;

  /// Makes the charges of the call the targets.
  TargetBatch() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a lattice is a target
  TargetBatch(const LatticeBatch& of_lattice) : kind(TargetKind::lattice), lattice(of_lattice) {}
  // NOLINTNEXTLINE(google-explicit-constructor): points are targets
  TargetBatch(const PointBatch& of_points) : kind(TargetKind::points), points(of_points) {}
};

/// Statistics of the finite values of V in a plane of a lattice or in a problem. Without a finite value, `lowest` is
/// infinity and `highest` is minus infinity.
struct PotentialSummary {
  double lowest = std::numeric_limits<double>::infinity(), highest = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t values = 0;  ///< how many values are finite

  /// Adds `more`, the statistics of further values of the problem.
  void add(const PotentialSummary& more) {
    lowest = std::min(lowest, more.lowest);
    highest = std::max(highest, more.highest);
    sum += more.sum;
    values += more.values;
  }
};

/// Output of an evaluation. On lattices, the potential is (count, plane_count, ny, nx). At points or charges, it has
/// one value per target, in the order of the targets. The array `info` is (count).
template <class T>
struct PotentialResult {
  T* potential = nullptr;
  std::int32_t* info = nullptr;
  T* field = nullptr;  ///< E = -grad V, shaped like potential with a last axis of 3; null: not wanted, not computed
  /// Statistics of the potential as stored: one per plane of each lattice, (count, plane_count), or one per problem,
  /// (count). Null: not wanted. The bits of a summary depend only on the values that it covers.
  PotentialSummary* summary = nullptr;
  double* energy = nullptr;  ///< (count), the interaction energy of groups 1 and 2, in the unit of V times e; null: not
                             ///< wanted
};

/// Problems [first, first + count) of a set, with room for the values. A block has the planes [first_plane, first_plane
/// + plane_count) of each lattice.
template <class T>
struct PotentialBlock {
  TargetKind targets = TargetKind::lattice;  ///< where V is evaluated
  LatticeShape shape;                        ///< points per axis of each lattice
  std::int64_t first = 0, count = 0;
  std::int64_t first_plane = 0, plane_count = 0;
  std::vector<std::int64_t> offset, point_offset;                  ///< (count + 1) each; the first offset is 0
  AlignedVector<double> position, charge, origin, spacing, point;  ///< as in ChargeBatch, LatticeBatch and PointBatch
  AlignedVector<double> width;                                     ///< widths of the charges; empty: all are points
  AlignedVector<T> potential, field;                               ///< field is empty if it is not wanted
  std::vector<std::int32_t> info;                                  ///< (count)
  std::vector<std::int8_t> group;                                  ///< groups of the charges, if an energy is wanted
  bool wants_energy = false;              ///< whether an energy is wanted, even if there are no charges
  std::vector<PotentialSummary> summary;  ///< one per plane of each lattice, or per problem
  std::vector<double> energy;             ///< (count), if it is wanted

  PotentialBlock() = default;
  /// Allocates the larger arrays in `memory`, which must outlive the block.
  explicit PotentialBlock(std::pmr::memory_resource* memory)
      : position(memory),
        charge(memory),
        origin(memory),
        spacing(memory),
        point(memory),
        width(memory),
        potential(memory),
        field(memory) {}

  /// Returns how many targets problem first + k has; for a lattice, those in the block's planes.
  [[nodiscard]] std::int64_t target_count(std::int64_t k) const {
    if (targets == TargetKind::lattice) return plane_count * shape.plane_points();
    const std::vector<std::int64_t>& ends = targets == TargetKind::points ? point_offset : offset;
    return ends[static_cast<std::size_t>(k) + 1] - ends[static_cast<std::size_t>(k)];
  }
  /// Returns how many targets the block has.
  [[nodiscard]] std::int64_t target_count() const {
    if (targets == TargetKind::lattice) return count * plane_count * shape.plane_points();
    const std::vector<std::int64_t>& ends = targets == TargetKind::points ? point_offset : offset;
    return ends.empty() ? 0 : ends.back();
  }
  /// Sizes the result arrays for the charges and targets that are present.
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
