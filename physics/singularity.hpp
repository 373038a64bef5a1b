// When a charge lies on a target, where its potential is an infinity or nothing, as Singular says; for every backend.
#pragma once

#pragma GCC visibility push(default)
namespace smallbatch {

/// A charge closer to a lattice point than this fraction of the smallest spacing lies *on* it: the singularity policy
/// decides. A charge of zero contributes nothing anywhere.
inline constexpr double singular_distance_in_spacings = 1e-6;
/// The same for points that are no lattice, angstrom.
inline constexpr double singular_distance_of_points = 1e-6;

/// Charges on one target have no net charge where |sum q| is at most this fraction of sum |q|: what is left is
/// the rounding of the sum, and its sign means nothing.
inline constexpr double net_charge_tolerance = 0x1p-40;

}  // namespace smallbatch
#pragma GCC visibility pop
