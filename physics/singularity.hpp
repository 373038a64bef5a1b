// Conditions, for every backend, under which a charge lies on a target. At such a target, `Singular` decides whether V
// is an infinity, or the sum without this charge.
#pragma once

#pragma GCC visibility push(default)
namespace smallbatch {

/// A charge closer to a lattice point than this fraction of the smallest spacing lies *on* the point, and the
/// singularity policy decides. A charge of zero contributes nothing anywhere.
inline constexpr double singular_distance_in_spacings = 1e-6;
/// A charge closer than this to a target that is no lattice point lies *on* the target, angstrom.
inline constexpr double singular_distance_of_points = 1e-6;

/// Charges on one target have no net charge if |sum q| is at most this fraction of sum |q|. The remainder is then the
/// rounding of the sum, and its sign means nothing.
inline constexpr double net_charge_tolerance = 0x1p-40;

}  // namespace smallbatch
#pragma GCC visibility pop
