// Families of symmetric positive definite systems to generate, test and measure with, and some that are singular at a
// known pivot, to see them refused.
//
// System k of a set depends on (family, shape, condition, seed, k) alone: the random numbers are counter-based, so any
// split into blocks and any number of threads gives the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/systems.hpp"

namespace smallbatch {

/// What `condition` means is in the description of each family. Sources: the modes of LAPACK's test matrix generator
/// DLATMS (Demmel, McKenney 1992), with Q from Stewart's products of Householder reflections (SIAM J. Numer. Anal. 17,
/// 403, 1980); N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 28, for the named matrices.
/// The nine matrix types by which LAPACK tests its Cholesky routines (TESTING/LIN, DLATB4, path PO) are, in their
/// order: diagonal with condition 2; random with 2; zero_first, zero_last and zero_middle with 2; random with
/// sqrt(0.1/u) and with 0.1/u; near_underflow and near_overflow with 2.
enum class SpdFamily {
  random,              ///< Q diag(w) Q^T, Q Haar distributed, w geometric from 1 to 1/condition (DLATMS mode 3)
  random_one_small,    ///< the same with one w = 1/condition, the others 1 (mode 2)
  random_one_large,    ///< one w = 1, the others 1/condition (mode 1)
  random_arithmetic,   ///< w arithmetic from 1 to 1/condition (mode 4)
  random_log_uniform,  ///< logarithms of w uniform between those of 1/condition and 1 (mode 5)
  gram,                ///< G G^T / n + I, G uniform in [-1, 1)
  gaussian_kernel,     ///< exp(-|p_i - p_j|^2 / 2 l^2) + (n / condition) I, l = 0.2, p uniform in the unit interval
  lehmer,              ///< min(i,j) / max(i,j)
  min_ij,              ///< min(i,j); all pivots are 1
  moler,               ///< i on the diagonal, min(i,j) - 2 elsewhere; all pivots are 1, the condition grows as 4^n
  kac_murdock_szego,   ///< r^|i-j|, r chosen so that the condition tends to `condition` for large n
  shifted_hilbert,     ///< 1/(i+j-1) + (pi / condition) I
  graded,              ///< D R D, R random with condition 10, D geometric from 1 to 1/sqrt(condition)
  diagonal,            ///< diag(w), w geometric from 1 to 1/condition
  zero_first,          ///< random with row and column 1 zero: singular, pivot 1 is not positive
  zero_middle,         ///< the same with row and column n/2 + 1
  zero_last,           ///< the same with row and column n
  near_underflow,  ///< random times 2^-105 (float32) or 2^-972 (float64): a quarter of the smallest normal number / eps
  near_overflow    ///< random times 2^105 or 2^972
};

struct SpdFamilyDescription {
  SpdFamily family;
  std::string_view name;         ///< as the enumerator is spelled
  std::string_view description;  ///< one line
  bool takes_condition = true;   ///< or its matrices are what they are whatever `condition` says
  bool is_random = true;         ///< or A is the same whatever the seed
};

const std::vector<SpdFamilyDescription>& spd_families();
const SpdFamilyDescription& describe_spd_family(SpdFamily family);
std::string_view spd_family_name(SpdFamily family);
std::optional<SpdFamily> parse_spd_family(std::string_view name);

/// Fills `a` (count, matrix_size; both triangles where the storage is dense_lower, too) and `b` (count, n, nrhs; not
/// touched where nrhs is 0) with systems first .. first + count - 1 of the set. A is computed in double precision, made
/// exactly symmetric and rounded to T; b = A x in double precision with the rounded A and x uniform in [-1, 1), then
/// rounded. All cores. Throws Error (bad_input) where the shape is out of range, Error (usage) for a condition below 1
/// or not finite. With sizes (count), each within [0, n], a system is the leading block, what it is among others of its
/// size, and all beyond is 0.
template <class T>
void generate_spd(SpdFamily family, const SpdShape& shape, double condition, std::uint64_t seed, std::int64_t first,
                  std::int64_t count, T* a, T* b, const std::int32_t* sizes = nullptr);

/// Sizes of systems first .. first + count - 1, evenly distributed from `least` to `most`.
void generate_sizes(int least, int most, std::uint64_t seed, std::int64_t first, std::int64_t count,
                    std::int32_t* sizes);

}  // namespace smallbatch
