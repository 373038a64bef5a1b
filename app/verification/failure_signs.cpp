#include "app/verification/failure_signs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace smallbatch {

void FailureSigns::add(const FailureSigns& more) {
  for (const auto count : failure_counts) this->*count += more.*count;
  largest_asymmetry = std::max(largest_asymmetry, more.largest_asymmetry);
}

namespace {

/// One matrix of a block. A packed triangle has no elements above the diagonal.
template <class T>
class Matrix {
 public:
  Matrix(const SpdShape& shape, int n, const T* a) : n_(n), row_(shape.n), storage_(shape.storage), a_(a) {}
  [[nodiscard]] int n() const { return n_; }
  [[nodiscard]] bool is_whole() const { return storage_ == Storage::dense; }
  [[nodiscard]] double operator()(int row, int column) const { return a_[row_begin(storage_, row_, row) + column]; }
  /// Returns the elements of a row that the solver reads.
  [[nodiscard]] std::span<const T> row(int i) const {
    return {a_ + row_begin(storage_, row_, i), static_cast<std::size_t>(is_whole() ? n_ : i + 1)};
  }
  /// Calls body(row, column) for the strict lower triangle.
  template <class Body>
  void below_diagonal(Body body) const {
    for (int row = 0; row < n_; ++row)
      for (int column = 0; column < row; ++column) body(row, column);
  }

 private:
  int n_;
  int row_;  ///< length of a row of a dense matrix
  Storage storage_;
  const T* a_;
};

template <class T>
void add_signs_of_triangles(const Matrix<T>& a, FailureSigns& signs) {
  bool is_zero_above = true, is_zero_below = true;
  double asymmetry = 0;
  a.below_diagonal([&](int i, int j) {
    const double below = a(i, j), above = a(j, i), scale = std::sqrt(std::abs(a(i, i))) * std::sqrt(std::abs(a(j, j)));
    is_zero_below &= below == 0;
    is_zero_above &= above == 0;
    if (below != above) asymmetry = std::max(asymmetry, std::abs(below - above) / scale);
  });
  signs.is_upper += is_zero_below && !is_zero_above;
  signs.is_lower += is_zero_above && !is_zero_below;
  signs.is_nearly_symmetric += asymmetry <= 0.01;
  signs.largest_asymmetry = std::max(signs.largest_asymmetry, asymmetry);
}

template <class T>
bool is_only_lower_finite(const Matrix<T>& a) {
  bool is_lower_finite = true, is_upper_finite = true;
  a.below_diagonal([&](int i, int j) {
    is_lower_finite &= std::isfinite(a(i, j));
    is_upper_finite &= std::isfinite(a(j, i));
  });
  for (int i = 0; i < a.n(); ++i) is_lower_finite &= std::isfinite(a(i, i));
  return is_lower_finite && !is_upper_finite;
}

/// Returns whether all pivots of the stored numbers are positive in double precision.
template <class T>
bool is_definite_in_double(const Matrix<T>& a) {
  const auto n = static_cast<std::size_t>(a.n());
  std::vector<double> l(n * n);  // L, with D on its diagonal
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a(static_cast<int>(i), static_cast<int>(j));
      for (std::size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[k * n + k] * l[j * n + k];
      if (j == i && !(sum > 0)) return false;
      l[i * n + j] = j == i ? sum : sum / l[j * n + j];
    }
  return true;
}

template <class T>
void add_signs_of_diagonal(const Matrix<T>& a, FailureSigns& signs) {
  bool is_zero = true, is_negative = true, has_zero = false, sums_are_zero = a.n() > 1;
  for (int i = 0; i < a.n(); ++i) {
    is_negative &= a(i, i) < 0;
    has_zero |= a(i, i) == 0;
    double sum = 0, size = 0;
    for (int j = 0; j < a.n(); ++j) {
      const double element = j <= i ? a(i, j) : a(j, i);
      sum += element;
      size += std::abs(element);
      is_zero &= element == 0;
    }
    sums_are_zero &= size > 0 && std::abs(sum) <= a.n() * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
  }
  signs.is_zero += is_zero;
  signs.has_negative_diagonal += is_negative;
  signs.has_zero_on_diagonal += has_zero && !is_zero;
  signs.has_rows_of_sum_zero += sums_are_zero;
}

/// Reads the numbers of n matrices as if their shape were (n, n, batch). Returns whether all these matrices are
/// symmetric, and not all of them diagonal.
template <class T>
bool is_symmetric_batch_last(const SpdBlock<T>& block) {
  const auto n = static_cast<std::size_t>(block.shape.n);
  bool has_off_diagonal = false;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (std::size_t k = 0; k < n; ++k) {
        const T below = block.a[(i * n + j) * n + k], above = block.a[(j * n + i) * n + k];
        if (below != above) return false;
        has_off_diagonal |= below != 0;
      }
  return has_off_diagonal;
}

template <class T>
void count_finite(std::span<const T> numbers, std::int64_t& count, std::int64_t& not_finite) {
  count += static_cast<std::int64_t>(numbers.size());
  not_finite += std::ranges::count_if(numbers, [](T number) { return !std::isfinite(number); });
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

/// Returns a percentage, such as "50 %". Returns "all" only if no number is finite.
std::string percent_not_finite(std::int64_t not_finite, std::int64_t numbers) {
  if (not_finite == numbers) return "all";
  const double percent = 100.0 * static_cast<double>(not_finite) / static_cast<double>(numbers);
  return (percent > 99 ? "more than 99" : short_number(percent)) + " %";
}

}  // namespace

template <class T>
void add_signs(const SpdBlock<T>& block, std::int64_t batch, FailureSigns& signs) {
  const auto matrix_size = static_cast<std::size_t>(block.shape.matrix_size());
  const auto rhs_size = static_cast<std::size_t>(block.shape.rhs_size());
  const auto nrhs = static_cast<std::size_t>(block.shape.nrhs);
  if (block.first == 0 && block.shape.storage == Storage::dense && batch == block.shape.n && block.count == batch &&
      is_symmetric_batch_last(block))
    signs.is_symmetric_batch_last = batch;
  const auto is_wanted = [](std::int64_t& examined) {
    if (examined == most_examined) return false;
    ++examined;
    return true;
  };
  for (std::size_t k = 0; k < block.info.size(); ++k) {
    const int n = block.shape.has_sizes ? block.sizes[k] : block.shape.n;
    const Matrix<T> a(block.shape, n, block.a.data() + k * matrix_size);
    const std::int32_t status = block.info[k];
    if (status > 0 && is_wanted(signs.examined_not_definite)) {
      add_signs_of_diagonal(a, signs);
      constexpr int few_rows = 128;  // keeps the check within milliseconds
      if constexpr (std::is_same_v<T, float>) signs.is_definite_in_double += n <= few_rows && is_definite_in_double(a);
    }
    if (status == info_matrix_not_symmetric && is_wanted(signs.examined_not_symmetric))
      add_signs_of_triangles(a, signs);
    if (status == info_matrix_not_finite && is_wanted(signs.examined_matrix_not_finite)) {
      signs.is_lower_finite += a.is_whole() && is_only_lower_finite(a);
      for (int i = 0; i < n; ++i) count_finite(a.row(i), signs.numbers, signs.not_finite);
    }
    if (status == info_rhs_not_finite && is_wanted(signs.examined_rhs_not_finite))
      count_finite(std::span(block.b.data() + k * rhs_size, static_cast<std::size_t>(n) * nrhs), signs.rhs_numbers,
                   signs.rhs_not_finite);
  }
}

template <class T>
void add_signs(const PotentialBlock<T>& block, FailureSigns& signs) {
  const std::array<std::int64_t, 3> points{block.shape.nx, block.shape.ny, block.shape.nz};
  // All charges may lie beside a lattice that is a plane or a line.
  const bool is_flat = std::ranges::find(points, 1) != points.end();
  for (std::size_t p = 0; p < static_cast<std::size_t>(block.count); ++p)
    for (auto i = static_cast<std::size_t>(block.offset[p]); i < static_cast<std::size_t>(block.offset[p + 1]); ++i) {
      bool is_within = true;  // also if a coordinate is NaN
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double steps = (block.position[3 * i + axis] - block.origin[3 * p + axis]) / block.spacing[3 * p + axis];
        is_within &= !(steps < -0.5 || steps > static_cast<double>(points[axis]) - 0.5);
      }
      ++signs.charges;
      signs.charges_within += is_within || is_flat;
    }
}

std::string likely_cause(const FailureSigns& signs, std::int64_t batch,
                         const std::map<std::int32_t, std::int64_t>& failed, ScalarType type) {
  std::int64_t not_definite = 0;
  for (const auto& [status, count] : failed)
    if (status > 0) not_definite += count;
  const auto count_of = [&](std::int32_t status) {
    const auto found = failed.find(status);
    return found == failed.end() ? 0 : found->second;
  };
  const auto are_most = [&](std::int64_t count, std::int64_t examined) {
    return examined > 0 && 10 * count >= 9 * batch;
  };
  const auto where = [&](std::int64_t count, std::int64_t examined) {
    const std::string systems = std::to_string(batch) + " systems";
    return (batch == 1       ? "in the only system"
            : count == batch ? "in all " + systems
                             : "in " + std::to_string(count) + " of " + systems) +
           (examined < count ? " (the first " + std::to_string(examined) + " were examined), " : ", ");
  };

  if (const auto count = count_of(info_matrix_not_symmetric), examined = signs.examined_not_symmetric;
      are_most(count, examined)) {
    const std::string what = where(count, examined) + "A is not symmetric. ";
    if (signs.is_symmetric_batch_last == batch)
      return what +
             "It is symmetric if its last axis is taken as the batch. The batch must come first: "
             "numpy.moveaxis(A, -1, 0).";
    if (signs.is_upper == examined)
      return what + "It is 0 below the diagonal. Is it an upper triangle? Then set the attribute uplo = \"upper\".";
    if (signs.is_lower == examined)
      return what + "It is 0 above the diagonal. Is it a lower triangle? Then set the attribute uplo = \"lower\".";
    if (signs.is_nearly_symmetric == examined)
      return what + "Its triangles differ by at most " + short_number(signs.largest_asymmetry) +
             " sqrt(a_ii a_jj). Is this rounding? Then store (A + A^T) / 2, or set the attribute uplo = \"lower\".";
    return {};
  }
  if (const auto count = count_of(info_matrix_not_finite), examined = signs.examined_matrix_not_finite;
      are_most(count, examined)) {
    const std::string what = where(count, examined) + "A is not finite";
    if (signs.is_lower_finite == examined)
      return what +
             " above the diagonal, and finite elsewhere. Is it a lower triangle? Then set the attribute "
             "uplo = \"lower\".";
    return what + ": " + percent_not_finite(signs.not_finite, signs.numbers) + " of its numbers are NaN or infinite. " +
           (signs.not_finite == signs.numbers ? "Was A written?" : "Was A computed from something missing?");
  }
  if (const auto count = count_of(info_rhs_not_finite), examined = signs.examined_rhs_not_finite;
      are_most(count, examined))
    return where(count, examined) + "b is not finite: " + percent_not_finite(signs.rhs_not_finite, signs.rhs_numbers) +
           " of its numbers are NaN or infinite." +
           (signs.rhs_not_finite == signs.rhs_numbers ? " Was b written?" : "");
  if (const auto examined = signs.examined_not_definite; are_most(not_definite, examined)) {
    const std::string what = where(not_definite, examined) + "A is not positive definite";
    if (signs.is_zero == examined) return what + ". It is 0 everywhere. Was A written?";
    if (signs.has_negative_diagonal == examined)
      return what +
             ". Its diagonal elements are negative. Does A have the opposite sign? Then -A may be positive definite.";
    if (signs.has_zero_on_diagonal == examined)
      return what +
             ". It has a 0 on the diagonal. Does this belong to a constraint (a saddle-point problem)? Then eliminate "
             "the constraint first.";
    if (signs.has_rows_of_sum_zero == examined)
      return what +
             ". Its rows add up to 0. Is it a Laplacian without a fixed point? Then fix one, or see --pivot-floor.";
    if (signs.is_definite_in_double == examined)
      return what +
             " in float32 arithmetic. In float64 arithmetic, the same matrices are positive definite. Store A and b as "
             "float64, or see --pivot-floor.";
    return what + ": a pivot is 0 or negative. Is A singular up to rounding? Then " +
           (type == ScalarType::float32 ? "compute and store it as float64, or raise" : "raise") +
           " such pivots with --pivot-floor. Or does A have negative eigenvalues?";
  }
  return {};
}

std::string likely_cause_on_lattices(const FailureSigns& signs, std::int64_t charges_on_points, bool are_left_out) {
  if (signs.charges == 0) return {};
  if (signs.charges_within == 0)
    return "none of the " + std::to_string(signs.charges) +
           " charges lies within its lattice. Do positions, origin and spacing all have the unit angstrom?";
  if (charges_on_points >= signs.charges)
    return "as many charges lie on lattice points as there are charges" +
           std::string(are_left_out ? " (V leaves them out there)" : "") +
           ". Are the positions rounded to the lattice? Then shift the origin by half a spacing" +
           (are_left_out ? "." : ", or leave these charges out with --singular skip.");
  return {};
}

template void add_signs(const SpdBlock<float>&, std::int64_t, FailureSigns&);
template void add_signs(const SpdBlock<double>&, std::int64_t, FailureSigns&);
template void add_signs(const PotentialBlock<float>&, FailureSigns&);
template void add_signs(const PotentialBlock<double>&, FailureSigns&);

}  // namespace smallbatch
