// Systems A x = b with many small symmetric positive definite matrices A. These plain structs flow from file to solver
// to verification to file. They have no behaviour beyond their own sizes.
//
// A *batch* is a view: pointers to host or device memory; the function that takes the batch says which. A *block* owns
// a piece of a set on the host. The room `io` fills a block, a solver computes the results, verification judges them,
// and `io` writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/scalar_type.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// The largest n that a solver accepts.
inline constexpr int max_system_size = 256;

/// How one matrix lies in memory.
enum class Storage {
  dense,        ///< n*n numbers by rows. Both triangles are filled and compared: an asymmetric matrix is refused.
  dense_lower,  ///< n*n numbers by rows; the strict upper triangle is never read (LAPACK's uplo = 'L')
  packed_lower  ///< n(n+1)/2 elements, the lower triangle by rows: (0,0), (1,0), (1,1), (2,0), ...
};

/// Returns the position of the first number of row i or, for i = n, the size of the matrix. Element (i, j), j <= i,
/// lies j numbers behind the first number of row i.
template <class Index>
constexpr Index row_begin(Storage storage, Index n, Index i) {
  return storage == Storage::packed_lower ? i * (i + 1) / 2 : i * n;
}

/// The shape that all systems of a set share.
struct SpdShape {
  int n = 0;                         ///< rows of A
  int nrhs = 1;                      ///< right-hand sides per system; 0 asks for the inverse of A instead of a solution
  Storage storage = Storage::dense;  ///< how A is stored
  bool determinant_only = false;     ///< no x and no backward error, only the numbers about A; nrhs is 0 then
  bool has_sizes = false;            ///< true in sets and blocks if each system has its own size; n is then the largest
                                     ///< size

  /// Returns whether the solution is A^-1.
  [[nodiscard]] bool wants_inverse() const { return nrhs == 0 && !determinant_only; }
  /// Returns how many elements are stored for one A.
  [[nodiscard]] std::int64_t matrix_size() const { return row_begin<std::int64_t>(storage, n, n); }
  /// Returns how many elements are stored for one b.
  [[nodiscard]] std::int64_t rhs_size() const { return std::int64_t{n} * nrhs; }
  /// Returns how many elements one solution has: n*nrhs, n*n (dense) for the inverse, none for the determinant alone.
  [[nodiscard]] std::int64_t solution_size() const { return std::int64_t{n} * (wants_inverse() ? n : nrhs); }
};

/// Statuses of a system. Status 0: solved. Status k > 0: pivot k (counted from 1, as in LAPACK) is not positive, so A
/// is not positive definite. Negative statuses: the input or the result cannot be used, as the constants below say. The
/// input is checked in the order of these constants, before any pivot. If the status is not 0, every number of the
/// system's answer is NaN.
inline constexpr std::int32_t info_matrix_not_finite = -1;     ///< A holds a NaN or an infinity, in either triangle
inline constexpr std::int32_t info_matrix_not_symmetric = -2;  ///< |a_ij - a_ji| > n eps sqrt(|a_ii a_jj|) somewhere
inline constexpr std::int32_t info_rhs_not_finite = -3;        ///< b holds a NaN or an infinity
inline constexpr std::int32_t info_result_not_finite = -4;     ///< all pivots were positive, but x overflowed
/// All pivots were positive, but some x is too near to 0 for the numbers of T. Rounding this x to T changes it by more
/// than 8 u ||x||_1 (u = 2^-24 or 2^-53).
inline constexpr std::int32_t info_result_underflowed = -5;
inline constexpr std::int32_t info_size_out_of_range = -6;  ///< the system's size is not within [0, n]; checked first

/// Returns whether the input cannot be used, so that nothing was computed.
constexpr bool is_input_refused(std::int32_t spd_info) {
  return spd_info == info_matrix_not_finite || spd_info == info_matrix_not_symmetric ||
         spd_info == info_rhs_not_finite || spd_info == info_size_out_of_range;
}

/// Returns one line for people: "solved", "pivot 3 is not positive", "A is not symmetric", ...
std::string describe_spd_info(std::int32_t info);

/// A stride for systems that follow each other without gaps.
inline constexpr std::int64_t tight = -1;

/// Input of a solver. The system is the first index of every array: a (count, matrix_size), b (count, n, nrhs). The
/// right-hand side is the fastest index of b. b is ignored, and may be null, if nrhs is 0. System k starts k strides
/// after the first system; strides are counted in elements. With a stride of 0, all systems share one matrix, or one
/// array of right-hand sides.
///
/// If `sizes` is given, system k consists of the leading sizes[k] rows and columns of A and the first sizes[k] rows of
/// b. The layout stays that of n rows: each row of a dense A begins n elements after the previous one. Elements of A
/// and b beyond sizes[k] are not read. Elements of x beyond sizes[k] become 0, even if the system fails. For info and
/// the numbers of system k, n means sizes[k]. A system of size 0 is solved: its numbers are those of an identity matrix
/// (backward error 0, rcond 1, smallest pivot 1, ln det 0).
template <class T>
struct SpdBatch {
  SpdShape shape;  ///< the shape of every system
  std::int64_t count = 0;
  const T* a = nullptr;
  const T* b = nullptr;
  std::int64_t a_stride = tight, b_stride = tight;  ///< elements from one system to the next
  const std::int32_t* sizes = nullptr;              ///< (count), each within [0, n]; null: all sizes are n

  /// Returns the distance from one system to the next in `a`, in elements, also if a_stride is `tight`.
  [[nodiscard]] std::int64_t a_step() const { return a_stride == tight ? shape.matrix_size() : a_stride; }
  /// Returns the distance from one system to the next in `b`, in elements, also if b_stride is `tight`.
  [[nodiscard]] std::int64_t b_step() const { return b_stride == tight ? shape.rhs_size() : b_stride; }
};

/// Output of a solver. The array x is (count, n, nrhs), or (count, n, n) for the inverse; all others are (count). The
/// stride of x is counted in elements and must not be 0. A number with a null pointer is not wanted and is not
/// computed. The array `info` is always required. The array x is required unless only the determinant is wanted.
template <class T>
struct SpdSolution {
  T* x = nullptr;
  std::int32_t* info = nullptr;
  T* backward_error = nullptr;        ///< as solvers/spd_solver.hpp defines it
  T* rcond = nullptr;                 ///< 1 / (||A||_1 ||A^-1||_1), or an estimate of it (spd_rcond_overestimate)
  T* smallest_pivot = nullptr;        ///< min_k d_k of A = L D L^T; may round to 0
  double* log_determinant = nullptr;  ///< ln det A = sum_k ln d_k
  std::int32_t* repaired = nullptr;   ///< how many pivots the floor of SpdOptions raised
  T* perturbation = nullptr;          ///< max_k e_k / a_kk, where raising pivots changed A to A + diag(e); 0 without
                                      ///< repairs
  std::int64_t x_stride = tight;      ///< elements from one system to the next

  /// Returns the distance from one solution to the next, in elements, also if the stride is `tight`.
  [[nodiscard]] std::int64_t x_step(const SpdShape& shape) const {
    return x_stride == tight ? shape.solution_size() : x_stride;
  }
};

template <class T>
struct SpdBlock;

/// One double for each number of a system's answer. The doubles are, for example, the numbers that a referee finds, or
/// bounds of their errors. The defaults are the numbers of a failed system.
struct SpdValues {
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();  ///< the value for a failed system
  /// Numbers with the meaning that SpdSolution gives them.
  double backward_error = nan, rcond = nan, smallest_pivot = nan, log_determinant = nan;
  double repaired = 0;
  double perturbation = nan;

  /// Returns the numbers of a system of size 0.
  [[nodiscard]] static SpdValues of_identity() { return {0, 1, 1, 0, 0, 0}; }
};

/// Description of one number of a system's answer: its name and the members that hold it. V is the type of the number.
template <class T, class V>
struct SpdNumber {
  const char* name;                         ///< also the name of its dataset in result files (io/FORMAT.md)
  int since;                                ///< the first minor version of the file format that has the number
  bool is_about_x;                          ///< true: about x; false: about A, so that it exists even if only the
                                            ///< determinant is wanted
  V* SpdSolution<T>::*in_solution;          ///< the member that a solver writes to
  AlignedVector<V> SpdBlock<T>::*in_block;  ///< the member of a block
  double SpdValues::*in_values;             ///< the member that a referee fills

  /// Returns whether systems of this shape have the number.
  [[nodiscard]] bool is_of(const SpdShape& shape) const { return !(is_about_x && shape.determinant_only); }
  /// Returns the value of the number for a failed system.
  [[nodiscard]] V of_failed() const { return static_cast<V>(SpdValues{}.*in_values); }
};

/// All numbers of an answer except info, in the order of their datasets. Code that sizes, copies, writes, reads or
/// compares the numbers walks this list. A new number therefore needs a member in SpdSolution, SpdBlock and SpdValues,
/// a row here, and the code that computes it.
template <class T>
inline constexpr auto spd_numbers =
    std::make_tuple(SpdNumber<T, T>{"backward_error", 0, true, &SpdSolution<T>::backward_error,
                                    &SpdBlock<T>::backward_error, &SpdValues::backward_error},
                    SpdNumber<T, T>{"rcond", 1, false, &SpdSolution<T>::rcond, &SpdBlock<T>::rcond, &SpdValues::rcond},
                    SpdNumber<T, T>{"smallest_pivot", 1, false, &SpdSolution<T>::smallest_pivot,
                                    &SpdBlock<T>::smallest_pivot, &SpdValues::smallest_pivot},
                    SpdNumber<T, double>{"log_determinant", 1, false, &SpdSolution<T>::log_determinant,
                                         &SpdBlock<T>::log_determinant, &SpdValues::log_determinant},
                    SpdNumber<T, std::int32_t>{"repaired", 1, false, &SpdSolution<T>::repaired, &SpdBlock<T>::repaired,
                                               &SpdValues::repaired},
                    SpdNumber<T, T>{"perturbation", 3, false, &SpdSolution<T>::perturbation, &SpdBlock<T>::perturbation,
                                    &SpdValues::perturbation});
template <class T>
inline constexpr std::size_t spd_number_count = std::tuple_size_v<std::remove_const_t<decltype(spd_numbers<T>)>>;

/// Calls `visit` with each number.
template <class T, class Visit>
void for_each_spd_number(const Visit& visit) {
  std::apply([&visit](const auto&... number) { (visit(number), ...); }, spd_numbers<T>);
}
template <class Visit>
void for_each_spd_number(ScalarType type, const Visit& visit) {
  type == ScalarType::float32 ? for_each_spd_number<float>(visit) : for_each_spd_number<double>(visit);
}

/// Bytes of one system's info and numbers.
std::int64_t bytes_of_numbers(ScalarType type, const SpdShape& shape);

/// Systems [first, first + count) of a set, with room for their solutions.
template <class T>
struct SpdBlock {
  SpdShape shape;  ///< the shape of every system
  std::int64_t first = 0;
  std::int64_t count = 0;
  AlignedVector<T> a, b, x;           ///< as in SpdBatch and SpdSolution
  AlignedVector<std::int32_t> sizes;  ///< (count) as in SpdBatch if the shape has sizes, otherwise empty
  AlignedVector<std::int32_t> info;   ///< (count), like all arrays below; the array of an unwanted number is empty
  /// Numbers with the meaning that SpdSolution gives them.
  AlignedVector<T> backward_error, rcond, smallest_pivot, perturbation;
  AlignedVector<double> log_determinant;
  AlignedVector<std::int32_t> repaired;

  SpdBlock() = default;
  /// Allocates the arrays in `memory`, which must outlive the block.
  explicit SpdBlock(std::pmr::memory_resource* memory)
      : a(memory),
        b(memory),
        x(memory),
        sizes(memory),
        info(memory),
        backward_error(memory),
        rcond(memory),
        smallest_pivot(memory),
        perturbation(memory),
        log_determinant(memory),
        repaired(memory) {}

  /// Sizes every array for `systems` systems of shape `s`.
  void resize(const SpdShape& s, std::int64_t systems) {
    shape = s;
    count = systems;
    const auto c = static_cast<std::size_t>(systems);
    a.resize(c * static_cast<std::size_t>(s.matrix_size()));
    b.resize(c * static_cast<std::size_t>(s.rhs_size()));
    x.resize(c * static_cast<std::size_t>(s.solution_size()));
    sizes.resize(s.has_sizes ? c : 0);
    info.resize(c);
    for_each_spd_number<T>([&](const auto& number) { (this->*number.in_block).resize(number.is_of(s) ? c : 0); });
  }
  [[nodiscard]] SpdBatch<T> batch() const {
    return {shape, count, a.data(), b.data(), tight, tight, shape.has_sizes ? sizes.data() : nullptr};
  }
  [[nodiscard]] SpdSolution<T> solution() {
    SpdSolution<T> arrays{x.data(), info.data()};
    for_each_spd_number<T>([&](const auto& number) {
      if (number.is_of(shape)) arrays.*number.in_solution = (this->*number.in_block).data();
    });
    return arrays;
  }
};

/// The minor version of the file format that added the newest number.
inline constexpr int newest_spd_number = std::apply(
    [](const auto&... number) {
      int newest = 0;
      ((newest = number.since > newest ? number.since : newest), ...);
      return newest;
    },
    spd_numbers<float>);

}  // namespace smallbatch
#pragma GCC visibility pop
