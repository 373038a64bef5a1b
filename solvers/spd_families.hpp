// Families of symmetric positive definite systems for generating, testing and measuring. Some are singular at a known
// pivot, to test that they are refused.
//
// System k of a set depends only on (family, shape, condition, seed, k). The random numbers are counter-based, so any
// split into blocks and any number of threads gives the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/systems.hpp"

namespace smallbatch {

/// Families of matrices. The comment of each family says what `condition` means.
///
/// Sources: the modes are those of LAPACK's test matrix generator DLATMS (Demmel, McKenney 1992), with Q from Stewart's
/// products of Householder reflections (SIAM J. Numer. Anal. 17, 403, 1980). N. J. Higham, "Accuracy and Stability of
/// Numerical Algorithms", chapter 28, has the named matrices.
///
/// LAPACK tests its Cholesky routines with nine matrix types (TESTING/LIN, DLATB4, path PO). In LAPACK's order, types 1
/// to 5 are the families diagonal, random, zero_first, zero_last and zero_middle with condition 2. Types 6 and 7 are
/// random with conditions sqrt(0.1/u) and 0.1/u. Types 8 and 9 are near_underflow and near_overflow with condition 2.
enum class SpdFamily {
  random,              ///< Q diag(w) Q^T, Q Haar distributed, w geometric from 1 to 1/condition (DLATMS mode 3)
  random_one_small,    ///< random with one w = 1/condition, the others 1 (mode 2)
  random_one_large,    ///< random with one w = 1, the others 1/condition (mode 1)
  random_arithmetic,   ///< random with w arithmetic from 1 to 1/condition (mode 4)
  random_log_uniform,  ///< random with logarithms of w uniform between those of 1/condition and 1 (mode 5)
  gram,                ///< G G^T / n + I, G uniform in [-1, 1)
  gaussian_kernel,     ///< exp(-|p_i - p_j|^2 / 2 l^2) + (n / condition) I, l = 0.2, p uniform in the unit interval
  lehmer,              ///< min(i,j) / max(i,j)
  min_ij,              ///< min(i,j); all pivots are 1
  moler,               ///< i on the diagonal, min(i,j) - 2 elsewhere; all pivots are 1, the condition number grows like
                       ///< 4^n
  kac_murdock_szego,   ///< r^|i-j|, with r such that the condition number tends to `condition` for large n
  shifted_hilbert,     ///< 1/(i+j-1) + (pi / condition) I
  graded,              ///< D R D, R random with condition 10, D geometric from 1 to 1/sqrt(condition)
  diagonal,            ///< diag(w), w geometric from 1 to 1/condition
  zero_first,          ///< random with row and column 1 zero: singular, pivot 1 is not positive
  zero_middle,         ///< random with row and column n/2 + 1 zero
  zero_last,           ///< random with row and column n zero
  near_underflow,      ///< random times 2^-105 (float32) or 2^-972 (float64): smallest normal number / (4 eps)
  near_overflow        ///< random times 2^105 or 2^972
};

struct SpdFamilyDescription {
  SpdFamily family;
  std::string_view name;         ///< spelled like the enumerator
  std::string_view description;  ///< one line
  bool takes_condition = true;   ///< false: the matrices do not depend on `condition`
  bool is_random = true;         ///< false: A does not depend on the seed
};

const std::vector<SpdFamilyDescription>& spd_families();
const SpdFamilyDescription& describe_spd_family(SpdFamily family);
std::string_view spd_family_name(SpdFamily family);
std::optional<SpdFamily> parse_spd_family(std::string_view name);

/// Generates systems first .. first + count - 1 of the set. The matrices `a` are (count, matrix_size); both triangles
/// are filled if the storage is dense_lower. The right-hand sides `b` are (count, n, nrhs); they are not touched if
/// nrhs is 0. A is computed in double precision, made exactly symmetric and rounded to T's precision. The product b = A
/// x is then computed in double precision with the rounded A and x uniform in [-1, 1), and rounded.
///
/// If `sizes` (count), each within [0, n], are given, system k fills only its leading sizes[k] rows and columns;
/// everything beyond is 0. The leading part equals system k of a set with n = sizes[k]. All cores work. Throws Error
/// (bad_input) if the shape is out of range. Throws Error (usage) for a condition below 1 or not finite.
template <class T>
void generate_spd(SpdFamily family, const SpdShape& shape, double condition, std::uint64_t seed, std::int64_t first,
                  std::int64_t count, T* a, T* b, const std::int32_t* sizes = nullptr);

/// Generates the sizes of systems first .. first + count - 1, uniformly distributed from `least` to `most`.
void generate_sizes(int least, int most, std::uint64_t seed, std::int64_t first, std::int64_t count,
                    std::int32_t* sizes);

}  // namespace smallbatch
