// The body of the CPU's inner loops, written once and compiled per instruction set. Only kernels_<set>.cpp includes it.
// That file must include all other headers first, then set `#pragma GCC target`, then include this body.
//
// Let r be the distance from a charge q at s to a target p, eps the softening and c the cut-off. Let rho^2 = r^2 +
// eps^2 and w = 1 - min(r^2/c^2, 1). The charge contributes
//
//     V: q/rho w^2,   E: (p - s) q/rho w (w/rho^2 + 4/c^2)
//
// Without a cut-off, a charge contributes q/rho to V and (p - s) q/rho^3 to E. The header interaction.hpp has the
// factors of other interactions. The options of a call are template arguments, so no loop over charges has a branch. A
// charge beyond c contributes exactly 0. Leaving out whole partial sums of such charges therefore changes no bit.
//
// Everything here has internal linkage. An inline function with external linkage, compiled with AVX-512, could be the
// copy that the linker keeps for the whole program.
//
// A Lanes type has the instruction set's vectors of float and double. They are GCC vector types, so + - * and ?: work.
// The type has functions for inverse square roots, for the smaller of two vectors, and for whether a comparison of
// doubles holds in any lane. It also has multiply-adds of vectors and of numbers. They round once if the instruction
// set has multiply-adds. These files are compiled without contraction. A compiler that chose where to round would make
// a target's bits depend on the loop that sums it.
#pragma once

#include "physics/charges/cpu/interaction.hpp"
#include "physics/charges/cpu/kernels.hpp"
#include "physics/charges/cpu/partial_sums.hpp"
#include "physics/charges/cpu/vectors.hpp"

namespace smallbatch {
namespace {

std::int64_t end_of(std::int64_t begin, std::int64_t length, std::int64_t most) {
  return most - begin < length ? most : begin + length;
}

/// Constants of a call, in the precision of the terms.
template <class T>
struct Constants {
  T softening2, inverse_cutoff2, per_screening_length;  ///< eps^2, 1/c^2, 1/l

  explicit Constants(const SumOptions& options) {
    const double c2 = options.cutoff * options.cutoff;
    softening2 = static_cast<T>(options.softening * options.softening);
    inverse_cutoff2 = static_cast<T>(c2 > 0 ? 1 / c2 : 0);
    const double per_length = options.screening_length > 0 ? 1 / options.screening_length : 0;
    // The limit keeps 1/l within the range of float. Sums in float are used only for distances above 2^-60, where
    // exp(-rho/l) is 0 with or without the limit.
    per_screening_length = static_cast<T>(sizeof(T) == 4 && per_length > 0x1p70 ? 0x1p70 : per_length);
  }
};

/// Number of values per target: V alone, or V and the three components of E.
template <bool field>
inline constexpr int values_of = field ? 4 : 1;

/// Adds the contribution of a charge to `sums`. The vector (dx, dy, dz) is `target - charge`. The charge q is one
/// number for all lanes, or one number for each lane. For Gaussian charges, `spread` is 2 w^2 of the charge plus 2 w^2
/// of the target.
template <class Lanes, InteractionKind kind, bool field, bool truncated, class Charge, class Vector, class T>
[[gnu::always_inline]] inline void add_term(Vector (&sums)[values_of<field>], Charge q, Vector dx, Vector dy, Vector dz,
                                            Vector r2, Vector rho2, Vector spread, const Constants<T>& constants) {
  constexpr bool plain = kind == InteractionKind::plain;
  const Vector one = Vector{} + T{1};
  DampingVectors<Vector> damping{one, one};
  if constexpr (kind == InteractionKind::gaussian) {
    const Vector least = spread * least_gaussian_length2<T>;
    damping = gaussian_vectors<Lanes, T>(rho2 / spread);
    rho2 = rho2 < least ? least : rho2;
  }
  const Vector reciprocal = Lanes::inverse_sqrt(rho2), along = q * reciprocal;
  if constexpr (kind == InteractionKind::screened)
    damping = screened_vectors<Lanes, T>((rho2 * reciprocal) * constants.per_screening_length);
  const auto add = [](Vector& sum, auto a, Vector b) { sum = multiply_add<Lanes>(a, b, sum); };
  [[maybe_unused]] const Vector w = truncated ? one - Lanes::smaller(r2 * constants.inverse_cutoff2, one) : Vector{};
  if constexpr (truncated)
    add(sums[0], along, plain ? w * w : (w * w) * damping.value);
  else if constexpr (!plain)
    add(sums[0], along, damping.value);
  else if constexpr (field)
    sums[0] += along;
  else
    add(sums[0], q, reciprocal);
  if constexpr (field) {
    Vector per_rho2 = reciprocal * reciprocal;
    [[maybe_unused]] Vector per_cutoff2 = Vector{} + 4 * constants.inverse_cutoff2;
    if constexpr (!plain) {
      per_rho2 = per_rho2 * damping.slope;
      per_cutoff2 = per_cutoff2 * damping.value;
    }
    if constexpr (sizeof(T) == 4) {
      if constexpr (truncated) per_rho2 = w * multiply_add<Lanes>(w, per_rho2, per_cutoff2);
      const Vector factor = along * per_rho2;
      add(sums[1], dx, factor);
      add(sums[2], dy, factor);
      add(sums[3], dz, factor);
    } else {  // 1/rho^3 could underflow although q/rho^2 does not
      Vector factor = along * reciprocal;
      if constexpr (truncated)
        factor = q * (w * multiply_add<Lanes>(w, per_rho2, per_cutoff2));
      else if constexpr (!plain)
        factor = factor * damping.slope;
      add(sums[1], dx * reciprocal, factor);
      add(sums[2], dy * reciprocal, factor);
      add(sums[3], dz * reciprocal, factor);
    }
  }
}

/// Several vectors of targets that one pass over the charges handles.
template <class Lanes, bool field>
struct SingleTile {
  using Float = typename Lanes::Float;
  using Mask = decltype(Float{} < Float{});
  static constexpr int width = sizeof(Float) / sizeof(float);
  // Several vectors share each load of a charge and hide the latency of the square root. The registers limit their
  // number.
  static constexpr int vectors = field ? Lanes::float_vectors / 2 : Lanes::float_vectors;
  Float x[vectors], y[vectors], z[vectors], spread[vectors];
  Mask own[vectors];
};

/// Placement of a call's targets: in a row of a lattice, with common y and z; on a lattice; or anywhere. Scattered
/// targets may be charges.
enum class Placement { row, lattice, scattered };

/// Adds one partial sum: charges begin .. end-1. For scattered targets, `nearest` becomes the smallest rho^2.
/// Placement::row computes dy^2 + dz^2 once for all targets. It gives the same bits as Placement::lattice, because both
/// round in the same order.
template <class Lanes, InteractionKind kind, bool field, bool truncated, Placement placement, bool leave_own_out>
[[gnu::always_inline]] inline void add_charges(
    const SingleCharges& charges, std::int64_t begin, std::int64_t end, const SingleTile<Lanes, field>& tile,
    const Constants<float>& constants,
    typename Lanes::Float (&partial)[SingleTile<Lanes, field>::vectors][values_of<field>],
    typename Lanes::Float (&nearest)[SingleTile<Lanes, field>::vectors]) {
  using Float = typename Lanes::Float;
  using Mask = typename SingleTile<Lanes, field>::Mask;
  constexpr int vectors = SingleTile<Lanes, field>::vectors, values = values_of<field>;
  const Float nothing = {}, far = nothing + 0x1p100F;
  for (std::int64_t group_begin = begin; group_begin < end; group_begin += charges_per_group) {
    const std::int64_t group_end = end_of(group_begin, charges_per_group, end);
    Float group[vectors][values] = {};
    for (std::int64_t i = group_begin; i < group_end; ++i) {
      [[maybe_unused]] float row_dyz2;
      if constexpr (placement == Placement::row) {
        const float row_dy = tile.y[0][0] - charges.y[i], row_dz = tile.z[0][0] - charges.z[i];
        row_dyz2 = multiply_add<Lanes>(row_dy, row_dy, multiply_add<Lanes>(row_dz, row_dz, constants.softening2));
      }
      for (int v = 0; v < vectors; ++v) {
        const Float dx = tile.x[v] - charges.x[i];
        Float dy = {}, dz = {}, r2, rho2;
        if constexpr (placement != Placement::row) {
          dy = tile.y[v] - charges.y[i];
          dz = tile.z[v] - charges.z[i];
        }
        if constexpr (placement == Placement::row) {
          static_assert(!truncated && !field);
          r2 = rho2 = multiply_add<Lanes>(dx, dx, row_dyz2);
        } else if constexpr (truncated) {
          r2 = multiply_add<Lanes>(dx, dx, multiply_add<Lanes>(dy, dy, dz * dz));
          rho2 = r2 + constants.softening2;
        } else {
          const Float dz2 = multiply_add<Lanes>(dz, dz, constants.softening2);
          r2 = rho2 = multiply_add<Lanes>(dx, dx, multiply_add<Lanes>(dy, dy, dz2));
        }
        Float spread = {};
        if constexpr (kind == InteractionKind::gaussian) spread = tile.spread[v] + charges.spread[i];
        if constexpr (leave_own_out) {
          const Mask is_own = tile.own[v] == Mask{} + static_cast<std::int32_t>(i);
          const Float q = is_own ? nothing : nothing + charges.q[i];
          rho2 = is_own ? far : rho2;
          add_term<Lanes, kind, field, truncated>(group[v], q, dx, dy, dz, r2, rho2, spread, constants);
        } else {
          add_term<Lanes, kind, field, truncated>(group[v], charges.q[i], dx, dy, dz, r2, rho2, spread, constants);
        }
        if constexpr (placement == Placement::scattered) nearest[v] = Lanes::smaller(nearest[v], rho2);
      }
    }
    for (int v = 0; v < vectors; ++v)
      for (int value = 0; value < values; ++value) partial[v][value] += group[v][value];
  }
}

template <class Lanes, InteractionKind kind, bool field, bool truncated, Placement placement>
void sum_single_of(const SingleCharges& charges, const ListedSums& listed, const SingleTargets& targets,
                   const SumOptions& options, SingleSums& sums) {
  using Tile = SingleTile<Lanes, field>;
  using Float = typename Tile::Float;
  using Mask = typename Tile::Mask;
  constexpr int width = Tile::width, vectors = Tile::vectors, values = values_of<field>;
  static_assert(targets_per_call % (width * vectors) == 0);
  const Constants<float> constants(options);
  const std::int64_t partial_sums =
      listed.list ? listed.count : (charges.count + charges_per_partial_sum - 1) / charges_per_partial_sum;
  for (int first = 0; first < targets.count; first += width * vectors) {
    Tile tile;
    Mask near[vectors] = {};
    for (int v = 0; v < vectors; ++v) {
      tile.x[v] = load<Float>(targets.x + first + v * width);
      tile.y[v] = load<Float>(targets.y + first + v * width);
      tile.z[v] = load<Float>(targets.z + first + v * width);
      tile.spread[v] = load<Float>(targets.spread + first + v * width);
      if constexpr (placement == Placement::scattered) tile.own[v] = load<Mask>(targets.own + first + v * width);
    }
    double total[values][width * vectors] = {};
    for (std::int64_t k = 0; k < partial_sums; ++k) {
      const std::int64_t sum = listed.list ? listed.list[k] : k, begin = sum * charges_per_partial_sum;
      const std::int64_t end = end_of(begin, charges_per_partial_sum, charges.count);
      Float partial[vectors][values] = {}, nearest[vectors];
      for (int v = 0; v < vectors; ++v) nearest[v] = Float{} + 0x1p100F;
      if (placement == Placement::scattered && begin <= targets.last_own && end > targets.first_own)
        add_charges<Lanes, kind, field, truncated, placement, true>(charges, begin, end, tile, constants, partial,
                                                                    nearest);
      else
        add_charges<Lanes, kind, field, truncated, placement, false>(charges, begin, end, tile, constants, partial,
                                                                     nearest);
      for (int v = 0; v < vectors; ++v) {
        if (placement == Placement::scattered && charges.near_squared != nullptr)
          near[v] |= nearest[v] < Float{} + charges.near_squared[sum];
        for (int value = 0; value < values; ++value)
          for (int lane = 0; lane < width; ++lane)
            total[value][v * width + lane] += static_cast<double>(partial[v][value][lane]);
      }
    }
    __builtin_memcpy(sums.potential + first, total[0], sizeof(total[0]));
    for (int axis = 1; axis < values; ++axis)
      __builtin_memcpy(sums.field[axis - 1] + first, total[axis], sizeof(total[axis]));
    for (int v = 0; v < vectors; ++v) store(sums.near + first + v * width, near[v]);
  }
}

/// Sums in double precision. With Placement::row, one pass over the charges handles several vectors of targets, and
/// sums have the same bits as with Placement::lattice.
template <class Lanes, InteractionKind kind, bool field, bool truncated, Placement placement>
void sum_double_of(const DoubleCharges& charges, const ListedSums& listed, const DoubleTargets& targets,
                   const SumOptions& options, double singular_distance, DoubleSums& sums) {
  using Double = typename Lanes::Double;
  using Mask = decltype(Double{} < Double{});
  constexpr int width = sizeof(Double) / sizeof(double), values = values_of<field>;
  constexpr int vectors = placement != Placement::row ? 1 : field ? Lanes::float_vectors / 2 : Lanes::float_vectors;
  static_assert(targets_per_call % (width * vectors) == 0);
  const double singular_distance_squared = singular_distance * singular_distance;
  const Double none = {}, one = none + 1.0;
  const Constants<double> constants(options);
  const std::int64_t partial_sums =
      listed.list ? listed.count : (charges.count + charges_per_partial_sum - 1) / charges_per_partial_sum;
  for (int first = 0; first < targets.count; first += width * vectors) {
    Double x[vectors], x_low[vectors], total[vectors][values] = {}, total_low[vectors][values] = {};
    Double net[vectors] = {}, magnitude[vectors] = {};
    for (int v = 0; v < vectors; ++v) {
      x[v] = load<Double>(targets.x + first + v * width);
      x_low[v] = load<Double>(targets.x_low + first + v * width);
    }
    // Returns the coordinate that a row's targets share, or a vector with the coordinates of the next targets.
    const auto across = [first](const double* of_targets) {
      if constexpr (placement == Placement::row)
        return of_targets[first];
      else
        return load<Double>(of_targets + first);
    };
    const auto y = across(targets.y), y_low = across(targets.y_low);
    const auto z = across(targets.z), z_low = across(targets.z_low);
    const Mask own = placement == Placement::scattered ? load<Mask>(targets.own + first) : Mask{};
    const Double target_spread = load<Double>(targets.spread + first);
    for (std::int64_t k = 0; k < partial_sums; ++k) {
      const std::int64_t begin = (listed.list ? listed.list[k] : k) * charges_per_partial_sum;
      const std::int64_t end = end_of(begin, charges_per_partial_sum, charges.count);
      for (std::int64_t group_begin = begin; group_begin < end; group_begin += charges_per_group) {
        const std::int64_t group_end = end_of(group_begin, charges_per_group, end);
        Double group[vectors][values] = {};
        for (std::int64_t i = group_begin; i < group_end; ++i) {
          const auto dy = (y - charges.y[i]) + (y_low - charges.y_low[i]);
          const auto dz = (z - charges.z[i]) + (z_low - charges.z_low[i]);
          // Without a cut-off, r2 includes the softening. The test for singular distances stays right, because
          // singular_distance is 0 with a softening.
          const auto dz2 = truncated ? dz * dz : multiply_add<Lanes>(dz, dz, constants.softening2);
          const auto dyz2 = multiply_add<Lanes>(dy, dy, dz2);
          Double dx[vectors], r2[vectors];
          for (int v = 0; v < vectors; ++v) {
            dx[v] = (x[v] - charges.x[i]) + (x_low[v] - charges.x_low[i]);
            r2[v] = multiply_add<Lanes>(dx[v], dx[v], dyz2);
          }
          Double nearest = r2[0];
          for (int v = 1; v < vectors; ++v) nearest = Lanes::smaller(nearest, r2[v]);
          Double spread = none;
          if constexpr (kind == InteractionKind::gaussian) spread = target_spread + charges.spread[i];
          const Mask is_own = placement == Placement::scattered ? own == Mask{} + i : Mask{};
          const bool some_left_out = Lanes::any((nearest < singular_distance_squared) | is_own);
          for (int v = 0; v < vectors; ++v) {
            Double q = none + charges.q[i], rho2 = truncated ? r2[v] + constants.softening2 : r2[v];
            if (some_left_out) {  // rare
              q = is_own ? none : q;
              const Mask left_out = ((r2[v] < singular_distance_squared) & (spread == none)) | is_own;
              net[v] += left_out ? q : none;
              magnitude[v] += left_out ? (q < none ? -q : q) : none;
              // A charge that is left out becomes 0 and adds nothing at any distance. The distance 1 keeps the term
              // finite.
              q = left_out ? none : q;
              rho2 = left_out ? one : rho2;
            }
            add_term<Lanes, kind, field, truncated>(group[v], q, dx[v], none + dy, none + dz, r2[v], rho2, spread,
                                                    constants);
          }
        }
        for (int v = 0; v < vectors; ++v)
          for (int value = 0; value < values; ++value) {
            // Adds group to total + total_low without loss, as two_difference of core does for numbers.
            const Double sum = total[v][value] + group[v][value], gained = sum - total[v][value];
            total_low[v][value] += (total[v][value] - (sum - gained)) + (group[v][value] - gained);
            total[v][value] = sum;
          }
      }
    }
    for (int v = 0; v < vectors; ++v) {
      const int at = first + v * width;
      store(sums.potential + at, total[v][0] + total_low[v][0]);
      for (int axis = 1; axis < values; ++axis) store(sums.field[axis - 1] + at, total[v][axis] + total_low[v][axis]);
      store(sums.net + at, net[v]);
      store(sums.magnitude + at, magnitude[v]);
    }
  }
}

/// Placement of targets that are not charges.
Placement placement_of(const SingleTargets& targets) {
  for (int i = 1; i < targets.count; ++i)
    if (targets.y[i] != targets.y[0] || targets.z[i] != targets.z[0]) return Placement::lattice;
  return Placement::row;
}
Placement placement_of(const DoubleTargets& targets) {
  const auto differ = [&](const double* coordinates, int i) { return coordinates[i] != coordinates[0]; };
  for (int i = 1; i < targets.count; ++i)
    if (differ(targets.y, i) || differ(targets.y_low, i) || differ(targets.z, i) || differ(targets.z_low, i))
      return Placement::lattice;
  return Placement::row;
}

/// Selects the loop of a call. Only loops for plain charges depend on the placement of targets. Screened and Gaussian
/// terms cost so much that a loop for rows or lattices would save too little.
template <class Lanes, InteractionKind kind, bool field, bool truncated>
constexpr auto single_by_targets(Placement placement) {
  if constexpr (kind == InteractionKind::plain) {
    if constexpr (!truncated && !field)  // with a field or a cut-off, a loop for rows would not be faster
      if (placement == Placement::row) return sum_single_of<Lanes, kind, field, truncated, Placement::row>;
    if (placement != Placement::scattered) return sum_single_of<Lanes, kind, field, truncated, Placement::lattice>;
  }
  return sum_single_of<Lanes, kind, field, truncated, Placement::scattered>;
}
template <class Lanes, InteractionKind kind, bool field, bool truncated>
constexpr auto double_by_targets(Placement placement) {
  if constexpr (kind == InteractionKind::plain) {
    if (placement == Placement::row) return sum_double_of<Lanes, kind, field, truncated, Placement::row>;
    if (placement == Placement::lattice) return sum_double_of<Lanes, kind, field, truncated, Placement::lattice>;
  }
  return sum_double_of<Lanes, kind, field, truncated, Placement::scattered>;
}
/// Calls choose.operator()<kind, field, truncated>() with the values of `options`.
template <class Choose>
constexpr auto chosen(const SumOptions& options, Choose choose) {
  const auto by_kind = [&]<bool field, bool truncated> {
    if (options.kind == InteractionKind::gaussian)
      return choose.template operator()<InteractionKind::gaussian, field, truncated>();
    if (options.kind == InteractionKind::screened)
      return choose.template operator()<InteractionKind::screened, field, truncated>();
    return choose.template operator()<InteractionKind::plain, field, truncated>();
  };
  const auto by_cutoff = [&]<bool field> {
    return options.cutoff > 0 ? by_kind.template operator()<field, true>()
                              : by_kind.template operator()<field, false>();
  };
  return options.field ? by_cutoff.template operator()<true>() : by_cutoff.template operator()<false>();
}

template <class Lanes>
void sum_single(const SingleCharges& charges, const ListedSums& listed, const SingleTargets& targets,
                const SumOptions& options, SingleSums& sums) {
  const Placement placement = charges.near_squared != nullptr ? Placement::scattered : placement_of(targets);
  const auto sum = chosen(options, [placement]<InteractionKind kind, bool field, bool truncated> {
    return single_by_targets<Lanes, kind, field, truncated>(placement);
  });
  sum(charges, listed, targets, options, sums);
}

template <class Lanes>
void sum_double(const DoubleCharges& charges, const ListedSums& listed, const DoubleTargets& targets,
                const SumOptions& options, double singular_distance, DoubleSums& sums) {
  const Placement placement = targets.leave_own_out ? Placement::scattered : placement_of(targets);
  const auto sum = chosen(options, [placement]<InteractionKind kind, bool field, bool truncated> {
    return double_by_targets<Lanes, kind, field, truncated>(placement);
  });
  sum(charges, listed, targets, options, singular_distance, sums);
}

template <class Lanes>
constexpr DirectSumKernels lanes_of(const char* name) {
  return {name, sum_single<Lanes>, sum_double<Lanes>};
}

}  // namespace
}  // namespace smallbatch
