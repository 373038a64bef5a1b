// Charges of the atoms of a molecule by electronegativity equalization (W. J. Mortier, S. K. Ghosh, S. Shankar, J. Am.
// Chem. Soc. 108, 4315 (1986)). Charge flows between the n sites until this energy is minimal:
//     E(q) = sum_i (A_i q_i + B_i q_i^2 / 2) + sum_{i<j} kappa q_i q_j / R_ij,        sum_i q_i = Q
//
// Site i has the electronegativity A_i and the hardness B_i; R_ij is the distance of two sites. With J_ii = B_i and
// J_ij = kappa / R_ij the minimum has J q + A = mu 1 and 1^T q = Q, with the same electronegativity mu everywhere.
//
// With mu among the unknowns the matrix has a border of ones and is not positive definite. So the constraint is
// eliminated:
//     q_0 = Q - sum_{i>0} q_i,   or   q = Q e_0 + Z y,   y = (q_1, ..., q_{n-1}),   Z = [-1^T; I].
// The columns of Z sum to zero. E is minimal where its gradient Z^T (J q + A) is zero:
//     K y = r,   K_ij = J_ij + J_00 - (J_i0 + J_0j),   r_i = A_0 - A_i - Q (J_i0 - J_00),        i, j = 1, ..., n - 1.
// K = Z^T J Z is symmetric. It is positive definite exactly if E has one minimum. Otherwise there is no equilibrium: E
// does not rise along some z with charges that sum to zero. The solver then returns status k, "pivot k is not
// positive". For two sites this happens at R = 2 kappa / (B_0 + B_1), which is shorter than any bond.
//
// The Schur complement of the bordered matrix is an alternative:
//     J u = -A,   J v = 1,   q = u + mu v,   mu = (Q - 1^T u) / 1^T v.
// It needs two solutions, and a positive definite J. A molecule may have an equilibrium without a positive definite J.
// J + c 1 1^T may be positive definite where J is not. The term c 1 1^T adds c Q^2 / 2 to E for all allowed q, so it
// does not change the answer. If K is positive definite, J + c 1 1^T is positive definite for every c above
// -1 / (1^T J^-1 1). If K is not, no c makes J + c 1 1^T positive definite. The program eliminates the constraint,
// because this needs no choice of c.
//
// All systems of a batch have one shape. So each molecule gets `site_capacity` rows, one for each site it could have.
// Rows of site 0 and of missing sites are rows of the identity with right-hand side 0. In the elimination of the other
// rows, such a row contributes exact zeros. The rows of K therefore give the same bits as K alone.
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
  const double* hardness = nullptr;           ///< B (sites); NaN if unknown, as in A
  const double* net_charge = nullptr;         ///< Q (count), e
  double kappa = 0;
};

// Host and device both call these functions. With --expt-relaxed-constexpr nvcc compiles constexpr functions for both.

template <class T>
constexpr T distance(const T* a, const T* b) {
  const T x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

/// Element J_ij; i and j count the sites of the batch.
constexpr double interaction(const SiteBatch& sites, std::int64_t i, std::int64_t j) {
  return i == j ? sites.hardness[i] : sites.kappa / distance(sites.position + 3 * i, sites.position + 3 * j);
}

/// Element (row, column) of a molecule's matrix: K, padded with the identity.
constexpr double matrix_element(const SiteBatch& sites, std::int64_t molecule, int row, int column) {
  const std::int64_t first = sites.offset[molecule], n = sites.offset[molecule + 1] - first;
  if (row == 0 || column == 0 || row >= n || column >= n) return row == column ? 1 : 0;
  return interaction(sites, first + row, first + column) + interaction(sites, first, first) -
         (interaction(sites, first + row, first) + interaction(sites, first + column, first));
}

/// Element of r, padded with zeros.
constexpr double rhs_element(const SiteBatch& sites, std::int64_t molecule, int row) {
  const std::int64_t first = sites.offset[molecule], n = sites.offset[molecule + 1] - first;
  if (row == 0 || row >= n) return 0;
  return sites.electronegativity[first] - sites.electronegativity[first + row] -
         sites.net_charge[molecule] * (interaction(sites, first + row, first) - interaction(sites, first, first));
}

/// Stores the charges of a molecule's sites from its solution x (site_capacity): q_0 = Q - sum_i y_i, then y. The
/// charges sum to Q, except for the rounding of this sum.
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
