// Likely causes, for sets in which nearly all systems failed. The first failed systems are examined, and a sentence
// asks about the likely cause. It claims only facts that were found.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/potentials.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Counts of systems, unless a comment names something else. They add up over blocks and shares.
struct FailureSigns {
  std::int64_t examined_not_symmetric = 0, examined_matrix_not_finite = 0;  ///< systems examined, by status
  std::int64_t examined_rhs_not_finite = 0, examined_not_definite = 0;
  std::int64_t is_upper = 0, is_lower = 0;   ///< A has nonzero elements on one side of the diagonal only: above, below
  std::int64_t is_nearly_symmetric = 0;      ///< |a_ij - a_ji| <= 0.01 sqrt(|a_ii a_jj|) for all i, j
  std::int64_t is_symmetric_batch_last = 0;  ///< batch size, if all A are symmetric when read as (n, n, batch); else 0
  std::int64_t is_zero = 0;                  ///< all elements of A are 0
  std::int64_t has_negative_diagonal = 0;    ///< all diagonal elements are negative
  std::int64_t has_zero_on_diagonal = 0;     ///< some diagonal element is 0
  std::int64_t has_rows_of_sum_zero = 0;     ///< each row adds up to 0, up to rounding
  std::int64_t is_definite_in_double = 0;    ///< float32 of few rows: all pivots are positive in double precision
  std::int64_t is_lower_finite = 0;          ///< the lower triangle is finite, the upper one is not
  std::int64_t numbers = 0, not_finite = 0;  ///< elements of A, in systems whose A is not finite
  std::int64_t rhs_numbers = 0, rhs_not_finite = 0;  ///< elements of b, in systems whose b is not finite
  std::int64_t charges = 0, charges_within = 0;      ///< charges of all lattice problems; those within their lattice
  double largest_asymmetry = 0;                      ///< largest |a_ij - a_ji| / sqrt(|a_ii a_jj|)

  void add(const FailureSigns& more);
};

/// All members of FailureSigns that are counts.
inline constexpr std::array failure_counts{&FailureSigns::examined_not_symmetric,
                                           &FailureSigns::examined_matrix_not_finite,
                                           &FailureSigns::examined_rhs_not_finite,
                                           &FailureSigns::examined_not_definite,
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

/// Number of systems of a share that are examined for each status.
inline constexpr std::int64_t most_examined = 64;

/// Examines the failed systems of a block, up to most_examined of each status. `batch` is the number of systems of the
/// set.
template <class T>
void add_signs(const SpdBlock<T>& block, std::int64_t batch, FailureSigns& signs);

/// Counts the charges of a block, and those that lie within their problem's lattice.
template <class T>
void add_signs(const PotentialBlock<T>& block, FailureSigns& signs);

/// Returns the likely cause in words: "in all 5 systems A is not symmetric. ... Is it an upper triangle? ...". It is
/// empty if fewer than nine in ten of `batch` systems failed in the same way, or if no cause was found. The arguments
/// `failed` and `type` are the number of failed systems for each status, and the type of their numbers.
std::string likely_cause(const FailureSigns& signs, std::int64_t batch,
                         const std::map<std::int32_t, std::int64_t>& failed, ScalarType type);

/// Returns the likely cause if very many charges of a set of lattices lie on lattice points, or if all lie outside. It
/// is empty if no cause was found. `are_left_out`: --singular skip left these charges out.
std::string likely_cause_on_lattices(const FailureSigns& signs, std::int64_t charges_on_points, bool are_left_out);

}  // namespace smallbatch
