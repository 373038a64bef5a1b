// Why a set of which hardly a system could be solved is probably as it is: what was looked at in its first systems, and
// the sentence that asks about it. It claims nothing that was not looked at.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/potentials.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Counts of systems, but where another thing is named. They add up over blocks and shares.
struct FailureSigns {
  std::int64_t looked_at_not_symmetric = 0, looked_at_matrix_not_finite = 0;  ///< those of each status
  std::int64_t looked_at_rhs_not_finite = 0, looked_at_not_definite = 0;
  std::int64_t is_upper = 0, is_lower = 0;           ///< only zeros in the other strict triangle, not in this one
  std::int64_t is_nearly_symmetric = 0;              ///< |a_ij - a_ji| <= 0.01 sqrt(|a_ii a_jj|) everywhere
  std::int64_t is_symmetric_batch_last = 0;          ///< of all, read as (n, n, batch)
  std::int64_t is_zero = 0;                          ///< all of A
  std::int64_t has_negative_diagonal = 0;            ///< all of it
  std::int64_t has_zero_on_diagonal = 0;             ///< somewhere
  std::int64_t has_rows_of_sum_zero = 0;             ///< all of them, to rounding
  std::int64_t is_definite_in_double = 0;            ///< of floats, of few rows: L D L^T in double finds no such pivot
  std::int64_t is_lower_finite = 0;                  ///< the lower triangle, while the upper one is not
  std::int64_t numbers = 0, not_finite = 0;          ///< of A, where that is what is not finite
  std::int64_t rhs_numbers = 0, rhs_not_finite = 0;  ///< the same of b
  std::int64_t charges = 0, charges_within = 0;      ///< of all problems of a lattice; within their lattice
  double largest_asymmetry = 0;                      ///< of |a_ij - a_ji| / sqrt(|a_ii a_jj|)

  void add(const FailureSigns& more);
};

/// All but the last.
inline constexpr std::array failure_counts{&FailureSigns::looked_at_not_symmetric,
                                           &FailureSigns::looked_at_matrix_not_finite,
                                           &FailureSigns::looked_at_rhs_not_finite,
                                           &FailureSigns::looked_at_not_definite,
                                           &FailureSigns::is_upper,
                                           &FailureSigns::is_lower,
                                           &FailureSigns::is_nearly_symmetric,
                                           &FailureSigns::is_symmetric_batch_last,
                                           &FailureSigns::is_zero,
                                           &FailureSigns::has_negative_diagonal,
                                           &FailureSigns::has_zero_on_diagonal,
                                           &FailureSigns::has_rows_of_sum_zero,
                                           &FailureSigns::is_lower_finite,
                                           &FailureSigns::numbers,
                                           &FailureSigns::not_finite,
                                           &FailureSigns::rhs_numbers,
                                           &FailureSigns::rhs_not_finite,
                                           &FailureSigns::charges,
                                           &FailureSigns::charges_within,
                                           &FailureSigns::is_definite_in_double};

/// How many systems of a share are looked at, of each status.
inline constexpr std::int64_t most_looked_at = 64;

/// Looks at the systems of a block that could not be solved, until there are enough. `batch` is that of the set.
template <class T>
void look_at(const SpdBlock<T>& block, std::int64_t batch, FailureSigns& signs);

/// Counts the charges of a block's lattices.
template <class T>
void look_at(const PotentialBlock<T>& block, FailureSigns& signs);

/// "all 5 are not symmetric: ... Is this an upper triangle? ..."; empty where fewer than nine in ten of `batch` systems
/// failed alike, or nothing was seen. `failed` counts them by status, of systems of that type.
std::string likely_cause(const FailureSigns& signs, std::int64_t batch,
                         const std::map<std::int32_t, std::int64_t>& failed, ScalarType type);

/// The likely cause where so many charges of a set of lattices lie on points; empty where nothing was seen.
/// `are_left_out`: --singular skip left these points out.
std::string likely_cause_on_lattices(const FailureSigns& signs, std::int64_t charges_on_points, bool are_left_out);

}  // namespace smallbatch
