// Charges of the atoms of a molecule by electronegativity equalization (W. J. Mortier, S. K. Ghosh, S. Shankar, J. Am.
// Chem. Soc. 108, 4315 (1986)): charge flows between the n sites until the energy
//     E(q) = sum_i (A_i q_i + B_i q_i^2 / 2) + sum_{i<j} kappa q_i q_j / R_ij,        sum_i q_i = Q
// is the least, with the electronegativity A_i and hardness B_i of a site and its distances R_ij from the others. With
// J_ii = B_i and J_ij = kappa / R_ij that is: J q + A = mu 1, the same electronegativity mu everywhere, and 1^T q = Q.
//
// With mu among the unknowns the matrix is bordered by ones, and not positive definite. So the constraint is used up:
//     q_0 = Q - sum_{i>0} q_i,   or   q = Q e_0 + Z y,   y = (q_1, ..., q_{n-1}),   Z = [-1^T; I].
// The columns of Z sum to zero. E is then least where its gradient Z^T (J q + A) is zero:
//     K y = r,   K_ij = J_ij + J_00 - (J_i0 + J_0j),   r_i = A_0 - A_i - Q (J_i0 - J_00),        i, j = 1, ..., n - 1.
// K = Z^T J Z is symmetric, and positive definite exactly where E has one least point. Where it is not, there is no
// equilibrium: along some z whose charges sum to zero E does not rise. The solver's status k, "pivot k is not
// positive", says so. Two sites come to that at R = 2 kappa / (B_0 + B_1), closer than bonds are.
//
// The Schur complement of the bordered matrix needs two solutions, and J positive definite, which is more than the
// molecule needs:
//     J u = -A,   J v = 1,   q = u + mu v,   mu = (Q - 1^T u) / 1^T v.
// J may be made so. c 1 1^T adds c Q^2 / 2 to E, the same for all q that are allowed, so J + c 1 1^T has the same
// answer. Where K is positive definite, J + c 1 1^T is, too, for every c above -1 / (1^T J^-1 1); where K is not, for
// no c. But c would have to be chosen, and K has none: it cancels.
//
// A batch has one shape, so each molecule gets `site_capacity` rows, one for each site it could have. Rows of site 0
// and of sites that are not there are those of the identity, with 0 on the right. Elimination by rows that are zero but
// for their pivot of 1 takes exact zeros from all others, so K's part has the numbers that it would have alone.
#pragma once

#include <cmath>
#include <cstdint>

namespace charge_equilibration {

inline constexpr int site_capacity = 32;

/// Sites of `count` molecules: molecule m has sites offset[m] to offset[m + 1] - 1. Pointers to host or device memory.
struct SiteBatch {
  std::int64_t count = 0;
  const std::int64_t* offset = nullptr;       ///< (count + 1)
  const double* position = nullptr;           ///< (sites, 3), angstrom
  const double* electronegativity = nullptr;  ///< A (sites)
  const double* hardness = nullptr;           ///< B (sites); NaN where it is not known, as A
  const double* net_charge = nullptr;         ///< Q (count), e
  double kappa = 0;
};

// Functions that host and device both call: nvcc compiles what is constexpr for both (--expt-relaxed-constexpr).

template <class T>
constexpr T distance(const T* a, const T* b) {
  const T x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

/// J of two sites, counted over the batch.
constexpr double interaction(const SiteBatch& sites, std::int64_t i, std::int64_t j) {
  return i == j ? sites.hardness[i] : sites.kappa / distance(sites.position + 3 * i, sites.position + 3 * j);
}

/// Element (row, column) of a molecule's matrix: K, and the identity around it.
constexpr double matrix_element(const SiteBatch& sites, std::int64_t molecule, int row, int column) {
  const std::int64_t first = sites.offset[molecule], n = sites.offset[molecule + 1] - first;
  if (row == 0 || column == 0 || row >= n || column >= n) return row == column ? 1 : 0;
  return interaction(sites, first + row, first + column) + interaction(sites, first, first) -
         (interaction(sites, first + row, first) + interaction(sites, first + column, first));
}

/// r, and zeros around it.
constexpr double rhs_element(const SiteBatch& sites, std::int64_t molecule, int row) {
  const std::int64_t first = sites.offset[molecule], n = sites.offset[molecule + 1] - first;
  if (row == 0 || row >= n) return 0;
  return sites.electronegativity[first] - sites.electronegativity[first + row] -
         sites.net_charge[molecule] * (interaction(sites, first + row, first) - interaction(sites, first, first));
}

/// Charges of a molecule's sites from its solution x (site_capacity): y, and before it what y leaves of Q. They sum to
/// Q but for the rounding of this sum.
constexpr void store_charges(const SiteBatch& sites, std::int64_t molecule, const double* x, double* charge) {
  const std::int64_t first = sites.offset[molecule], n = sites.offset[molecule + 1] - first;
  double others = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    charge[first + i] = x[i];
    others += x[i];
  }
  if (n > 0) charge[first] = sites.net_charge[molecule] - others;
}

}  // namespace charge_equilibration
