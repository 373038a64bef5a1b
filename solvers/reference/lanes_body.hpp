// The one body of the judgement of systems in lanes: an Eigen array has one number of each. Each file that includes it
// is compiled for an instruction set, with Eigen under a name of its own, so that no function of one takes the place of
// another's.
//
// The judgement is that of judge_spd_solution() but for roundings, for well-behaved systems alone: what a floor of
// pivots, a failure or an end of the range of a type asks for is left to RefereeSystem, which takes several times as
// long.
//
// A = L L^T by rows; then Z = L^-1, which says how certain the pivots are; then the sums of |A^-1| = |Z^T Z|, which is
// not stored. The residual r of an answer x is computed in twice the precision of T, and with it x* = x + Z^T Z r: that
// way no digits of x* - x cancel. All of these are products of rows with rows, four by two of which stay in registers.
//
// One file, because everything in its one class is about the same lanes.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>

#include "solvers/reference/lanes.hpp"

namespace smallbatch {

namespace {

constexpr int lanes = Eigen::internal::packet_traits<double>::size;
static_assert(lanes <= most_lanes);

template <class T>
class SystemsInLanes {
 public:
  SystemsInLanes(const SolvedSystems<T>& solved, const std::int64_t* systems)
      : input_(solved),
        systems_(systems),
        n_(solved.shape.n),
        padded_((n_ + tile_rows - 1) / tile_rows * tile_rows),
        columns_(solved.shape.wants_inverse() ? n_ : solved.shape.nrhs) {}

  void judge(LaneJudgement* judgements) {
    load_matrices();
    find_norms();
    factor();
    invert_factor();
    sum_inverse();
    int c = 0;
    for (; c + 1 < columns_; c += 2) judge_columns<2>(c);
    if (c < columns_) judge_columns<1>(c);
    for (int lane = 0; lane < lanes; ++lane) judgements[lane] = judgement(lane);
  }

 private:
  using Lanes = Eigen::Array<double, lanes, 1>;
  using Column = std::array<Lanes, max_system_size>;
  static constexpr int tile_rows = 4, tile_columns = 2;
  template <std::size_t C>
  using Tile = std::array<std::array<Lanes, C>, tile_rows>;

  /// Of one lane's system, over all columns of its answer.
  struct Answer {
    double residual = 0;  ///< max ||r||_1 / ||x||_1; of an inverse max ||r||_1
    double norm = 0;      ///< max ||x||_1
    double forward = 0;   ///< max ||x - x*||_inf / ||x*||_inf
    bool is_well_scaled = true;
  };

  static constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// The range of exponents of A and of x in which no product leaves that of double.
  static constexpr int largest_exponent_of_matrix = 1000, largest_exponent_of_x = 500;
  /// Numbers below 2 plus this, less this, are rounded to multiples of 2^-22: the products of two such, and sums of 64
  /// of those, are exact.
  static constexpr double splitter_of_ones = 1.5 * 0x1p30;
  /// Below, the digits of A^-1 are too few.
  static constexpr double least_rcond = 0x1p-36;

  /// tile(r, c) -= sum over k in [first, last) of a(r, k) b(c, k).
  template <std::size_t C>
  void subtract_products(Tile<C>& tile, const Lanes* a, const Lanes* b, int first, int last) const {
    Tile<C> sums = tile;
    for (int k = first; k < last; ++k)
      for (int r = 0; r < tile_rows; ++r)
        for (std::size_t c = 0; c < C; ++c) sums[r][c] -= a[r * padded_ + k] * b[c * padded_ + k];
    tile = sums;
  }
  Lanes* row_of_matrix(int i) { return &matrix_[static_cast<std::size_t>(i) * padded_]; }
  Lanes* row_of_factor(int i) { return &factor_[static_cast<std::size_t>(i) * padded_]; }

  /// to[i](lane) = from[i stride] factor, i < count.
  static void spread(const T* from, std::int64_t stride, int count, double factor, int lane, Lanes* to) {
    for (int i = 0; i < count; ++i) to[i](lane) = static_cast<double>(from[i * stride]) * factor;
  }

  /// 2^-g A, filled up with an identity matrix.
  void load_matrices() {
    const SpdShape& shape = input_.shape;
    const bool is_packed = shape.storage == Storage::packed_lower, is_whole = shape.storage == Storage::dense;
    const auto start_of_row = [&](int i) { return is_packed ? i * (i + 1) / 2 : i * n_; };
    for (int lane = 0; lane < lanes; ++lane) {
      const T* a = input_.a + systems_[lane] * shape.matrix_size();
      // No element of a positive definite matrix is larger than the largest of the diagonal.
      T largest = 0;
      for (int i = 0; i < n_; ++i) largest = std::max(largest, a[start_of_row(i) + i]);
      const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
      answers_[lane].is_well_scaled = std::abs(exponent) <= largest_exponent_of_matrix;
      exponents_[lane] = answers_[lane].is_well_scaled ? exponent : 0;
      scale_(lane) = std::ldexp(1.0, -exponents_[lane]);
      for (int i = 0; i < n_; ++i)
        spread(a + start_of_row(i), 1, is_whole ? n_ : i + 1, scale_(lane), lane, row_of_matrix(i));
    }
    for (int i = 0; i < n_ && !is_whole; ++i)
      for (int j = 0; j < i; ++j) row_of_matrix(j)[i] = row_of_matrix(i)[j];
    for (int i = 0; i < padded_; ++i)
      for (int j = i < n_ ? n_ : 0; j < padded_; ++j) row_of_matrix(i)[j] = Lanes::Constant(i == j ? 1 : 0);
    for (int i = 0; i < padded_; ++i) roots_[i] = row_of_matrix(i)[i].sqrt();
  }

  /// ||2^-g A||_1 and max |a_ij - a_ji| / min a_ii.
  void find_norms() {
    Lanes least = Lanes::Constant(infinity);
    asymmetry_.setZero();
    for (int i = 0; i < n_; ++i) {
      const Lanes* row = row_of_matrix(i);
      least = least.min(row[i]);
      for (int j = 0; j < i; ++j) asymmetry_ = asymmetry_.max((row[j] - row_of_matrix(j)[i]).abs());
    }
    asymmetry_ /= least;
    norm_.setZero();
    sum_.setZero();
    for (int j = 0; j < n_; j += tile_rows) {
      std::array<Lanes, tile_rows> sums;
      sums.fill(Lanes::Zero());
      for (int i = 0; i < n_; ++i)
        for (int c = 0; c < tile_rows; ++c) sums[c] += row_of_matrix(i)[j + c].abs();
      for (const Lanes& sum : sums) {
        norm_ = norm_.max(sum);
        sum_ += sum;
      }
    }
  }

  /// A = L L^T. L lies in the strictly lower triangle of factor_, the reciprocals of its diagonal on that of factor_.
  void factor() {
    for (int i = 0; i < padded_; i += tile_rows) {
      for (int j = 0; j < i + tile_rows; j += tile_columns) {
        const Lanes* b = row_of_factor(j);
        Tile<tile_columns> tile;
        for (int r = 0; r < tile_rows; ++r)
          for (int c = 0; c < tile_columns; ++c) tile[r][c] = row_of_matrix(i + r)[j + c];
        subtract_products(tile, row_of_factor(i), b, 0, j);
        const int diagonal = j - i;  // the row of the tile whose first element is on the diagonal
        if (diagonal >= 0) {
          const Lanes pivot = tile[diagonal][0];
          pivots_[j] = pivot;
          row_of_factor(j)[j] = pivot.sqrt().inverse();
        }
        const Lanes first = b[j];
        for (int r = 0; r < tile_rows; ++r) tile[r][0] *= first;
        const Lanes between = diagonal >= 0 ? tile[diagonal + 1][0] : b[padded_ + j];
        for (int r = 0; r < tile_rows; ++r) tile[r][1] -= tile[r][0] * between;
        if (diagonal >= 0) {
          const Lanes pivot = tile[diagonal + 1][1];
          pivots_[j + 1] = pivot;
          row_of_factor(j + 1)[j + 1] = pivot.sqrt().inverse();
        }
        const Lanes second = b[padded_ + j + 1];
        for (int r = 0; r < tile_rows; ++r) tile[r][1] *= second;
        for (int r = 0; r < tile_rows; ++r)
          for (int c = 0; c < tile_columns; ++c)
            if (r != diagonal + c) row_of_factor(i + r)[j + c] = tile[r][c];  // above the diagonal: nothing
      }
    }
  }

  /// Z = L^-1, its transpose in the upper triangle of factor_; and sum_i |z_ki| sqrt(a_ii).
  void invert_factor() {
    weights_.fill(Lanes::Zero());
    for (int i = 0; i < padded_; i += tile_rows)
      for (int j = 0; j < i + tile_rows; j += tile_columns) {
        Lanes* first = row_of_factor(j);
        Lanes* second = row_of_factor(j + 1);
        const int diagonal = j - i;
        Tile<tile_columns> tile;  // of -L Z, as far as Z is known
        for (int r = 0; r < tile_rows; ++r) {
          const Lanes* l = row_of_factor(i + r);
          tile[r][0] = tile[r][1] = Lanes::Zero();
          if (diagonal >= 0) continue;
          tile[r][0] = -l[j] * first[j] - l[j + 1] * first[j + 1];
          tile[r][1] = -l[j + 1] * second[j + 1];
        }
        if (diagonal < 0) subtract_products(tile, row_of_factor(i), first, j + 2, i);
        for (int r = 0; r < tile_rows; ++r) {
          const Lanes* l = row_of_factor(i + r);
          for (int c = 0; c < tile_columns; ++c) {
            if (r < diagonal + c) continue;
            if (r == diagonal + c) {
              tile[r][c] = l[i + r];
            } else {
              for (int m = std::max(0, diagonal + c); m < r; ++m) tile[r][c] -= l[i + m] * tile[m][c];
              tile[r][c] *= l[i + r];
            }
            row_of_factor(j + c)[i + r] = tile[r][c];
            weights_[i + r] += tile[r][c].abs() * roots_[j + c];
          }
        }
      }
  }

  /// ||A^-1||_1.
  void sum_inverse() {
    Column sums;
    sums.fill(Lanes::Zero());
    for (int i = 0; i < padded_; i += tile_rows)
      for (int j = 0; j < i + tile_rows; j += tile_columns) {
        const int diagonal = j - i;
        Tile<tile_columns> tile;  // of -A^-1
        for (int r = 0; r < tile_rows; ++r)
          for (int c = 0; c < tile_columns; ++c) {
            tile[r][c].setZero();
            for (int k = std::max(r, diagonal + c); k < tile_rows; ++k)
              tile[r][c] -= row_of_factor(i + r)[i + k] * row_of_factor(j + c)[i + k];
          }
        subtract_products(tile, row_of_factor(i), row_of_factor(j), i + tile_rows, padded_);
        for (int r = 0; r < tile_rows; ++r)
          for (int c = 0; c < tile_columns; ++c) {
            const Lanes magnitude = tile[r][c].abs();
            sums[i + r] += magnitude;
            if (diagonal < 0) sums[j + c] += magnitude;
          }
      }
    norm_of_inverse_.setZero();
    for (int i = 0; i < n_; ++i) {
      norm_of_inverse_ = norm_of_inverse_.max(sums[i]);
      sum_ += sums[i];
    }
  }

  /// r = 2^-g b - A x of C columns.
  template <std::size_t C>
  void find_residuals() {
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      if constexpr (std::is_same_v<T, float>) {
        for (int r = 0; r < tile_rows; ++r)
          for (std::size_t c = 0; c < C; ++c) tile[r][c] = rhs_[c * padded_ + i + r];
        subtract_products(tile, row_of_matrix(i), x_.data(), 0, padded_);
      } else {
        Tile<C> leading, rest;
        for (int r = 0; r < tile_rows; ++r)
          for (std::size_t c = 0; c < C; ++c) leading[r][c] = rest[r][c] = Lanes::Zero();
        for (int k = 0; k < padded_; ++k)
          for (int r = 0; r < tile_rows; ++r) {
            const Lanes a = matrix_[static_cast<std::size_t>(i + r) * padded_ + k];
            const Lanes leading_a = (a + splitter_of_ones) - splitter_of_ones;
            const Lanes rest_a = a - leading_a;
            for (std::size_t c = 0; c < C; ++c) {
              leading[r][c] += leading_a * leading_x_[c * padded_ + k];
              rest[r][c] += leading_a * rest_x_[c * padded_ + k] + rest_a * x_[c * padded_ + k];
            }
          }
        for (int r = 0; r < tile_rows; ++r)
          for (std::size_t c = 0; c < C; ++c) {
            const Lanes b = rhs_[c * padded_ + i + r];
            const Lanes difference = b - leading[r][c];
            const Lanes part = difference - b;
            const Lanes error = (b - (difference - part)) - (leading[r][c] + part);
            tile[r][c] = difference + (error - rest[r][c]);
          }
      }
      for (int r = 0; r < tile_rows; ++r)
        for (std::size_t c = 0; c < C; ++c) residual_[c * padded_ + i + r] = tile[r][c];
    }
  }

  /// x* - x = Z^T Z r of C columns.
  template <std::size_t C>
  void find_differences() {
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      for (int r = 0; r < tile_rows; ++r)
        for (std::size_t c = 0; c < C; ++c) tile[r][c] = residual_[c * padded_ + i + r];
      subtract_products(tile, row_of_factor(i), solved_.data(), 0, i);
      for (int r = 0; r < tile_rows; ++r) {
        const Lanes* l = row_of_factor(i + r);
        for (std::size_t c = 0; c < C; ++c) {
          for (int m = 0; m < r; ++m) tile[r][c] -= l[i + m] * tile[m][c];
          tile[r][c] *= l[i + r];
          solved_[c * padded_ + i + r] = tile[r][c];
        }
      }
    }
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      for (int r = 0; r < tile_rows; ++r)
        for (std::size_t c = 0; c < C; ++c) {
          tile[r][c].setZero();
          for (int k = r; k < tile_rows; ++k) tile[r][c] -= row_of_factor(i + r)[i + k] * solved_[c * padded_ + i + k];
        }
      subtract_products(tile, row_of_factor(i), solved_.data(), i + tile_rows, padded_);
      for (int r = 0; r < tile_rows; ++r)
        for (std::size_t c = 0; c < C; ++c) difference_[c * padded_ + i + r] = -tile[r][c];
    }
  }

  template <std::size_t C>
  void judge_columns(int first) {
    for (std::size_t c = 0; c < C; ++c) {
      load_column(first + static_cast<int>(c), c);
      if constexpr (std::is_same_v<T, double>) split_column(c);
    }
    find_residuals<C>();
    find_differences<C>();
    for (std::size_t c = 0; c < C; ++c) add_column(c);
  }

  void load_column(int column, std::size_t c) {
    const SpdShape& shape = input_.shape;
    Lanes* x = &x_[c * padded_];
    Lanes* rhs = &rhs_[c * padded_];
    for (int i = 0; i < padded_; ++i) x[i] = rhs[i] = Lanes::Zero();
    if (shape.wants_inverse()) rhs[column] = scale_;
    for (int lane = 0; lane < lanes; ++lane) {
      spread(input_.x + systems_[lane] * shape.solution_size() + column, columns_, n_, 1, lane, x);
      if (!shape.wants_inverse())
        spread(input_.b + systems_[lane] * shape.rhs_size() + column, columns_, n_, scale_(lane), lane, rhs);
    }
  }

  /// x = leading_x + rest_x.
  void split_column(std::size_t c) {
    const Lanes* x = &x_[c * padded_];
    Lanes largest = Lanes::Zero();
    for (int i = 0; i < n_; ++i) largest = largest.max(x[i].abs());
    Lanes splitter;
    for (int lane = 0; lane < lanes; ++lane) {
      const int exponent = largest(lane) > 0 && largest(lane) < infinity ? std::ilogb(largest(lane)) : 0;
      splitter(lane) =
          std::ldexp(splitter_of_ones, std::clamp(exponent, -largest_exponent_of_x, largest_exponent_of_x));
    }
    for (int i = 0; i < padded_; ++i) {
      const Lanes leading = (x[i] + splitter) - splitter;
      leading_x_[c * padded_ + i] = leading;
      rest_x_[c * padded_ + i] = x[i] - leading;
    }
  }

  void add_column(std::size_t c) {
    Lanes residual = Lanes::Zero(), norm = residual, exact_norm = residual, difference = residual, largest = residual;
    for (int i = 0; i < n_; ++i) {
      const Lanes x = x_[c * padded_ + i], d = difference_[c * padded_ + i];
      const Lanes exact = (x + d).abs();
      residual += residual_[c * padded_ + i].abs();
      norm += x.abs();
      exact_norm += exact;
      difference = difference.max(d.abs());
      largest = largest.max(exact);
    }
    // Rounding to T changes an element by u of it and denorm_min / 2 at most, and so x* by less than 9 u ||x*||_1: it
    // has not underflowed.
    constexpr double least_norm = std::is_same_v<T, float> ? 0x1p-149 / (16 * u) : 0;
    const double least = std::ldexp(n_, -largest_exponent_of_x), most = std::ldexp(1, largest_exponent_of_x);
    for (int lane = 0; lane < lanes; ++lane) {
      Answer& answer = answers_[lane];
      answer.residual =
          std::max(answer.residual, input_.shape.wants_inverse() ? residual(lane) : residual(lane) / norm(lane));
      answer.norm = std::max(answer.norm, norm(lane));
      answer.forward = std::max(answer.forward, difference(lane) / largest(lane));
      // False of a NaN, too, which the maxima may not have seen.
      answer.is_well_scaled = answer.is_well_scaled && norm(lane) >= least && norm(lane) <= most &&
                              exact_norm(lane) > n_ * least_norm && exact_norm(lane) < infinity &&
                              residual(lane) < infinity;
    }
  }

  [[nodiscard]] LaneJudgement judgement(int lane) const {
    const Answer& answer = answers_[lane];
    constexpr double eps = 2 * u, e = spd_ratio_limit * u;
    const double rcond = 1 / (norm_(lane) * norm_of_inverse_(lane));
    if (!answer.is_well_scaled || !(rcond >= least_rcond) || !(asymmetry_(lane) <= n_ * eps / 2) ||
        !std::isfinite(sum_(lane)))
      return {};
    LaneJudgement certain{true, {}};
    SpdJudgement& found = certain.judgement;
    found.rcond = rcond;
    found.bounds.rcond = e * (1 + rcond) + n_ * u * rcond;

    double smallest = infinity, lowest = infinity, error_of_smallest = 0, sum_of_errors = 0, product = 1;
    std::int64_t exponents = 0, magnitude = 0;
    for (int k = 0; k < n_; ++k) {
      const double d = pivots_[k](lane), relative = e * weights_[k](lane) * weights_[k](lane);
      if (d < smallest) {
        smallest = d;
        error_of_smallest = relative * d;
      }
      lowest = std::min(lowest, d - relative * d);
      sum_of_errors += relative;
      int exponent = 0;
      product *= 2 * std::frexp(d, &exponent);
      exponents += exponent - 1 + exponents_[lane];
      magnitude += std::abs(exponent - 1 + exponents_[lane]);
    }
    found.smallest_pivot = std::ldexp(smallest, exponents_[lane]);
    found.bounds.smallest_pivot = std::ldexp(std::max(error_of_smallest, smallest - lowest), exponents_[lane]) +
                                  static_cast<double>(std::numeric_limits<T>::denorm_min());
    const double log_product = std::log(product);
    found.log_determinant =
        static_cast<double>(log_product + static_cast<long double>(exponents) * std::numbers::ln2_v<long double>);
    found.bounds.log_determinant =
        sum_of_errors + (n_ + 3) * 0x1p-53 * (log_product + static_cast<double>(magnitude) * std::numbers::ln2);
    found.perturbation = found.bounds.perturbation = 0;
    found.bounds.repaired = 0;
    if (columns_ == 0) return certain;

    const bool inverse = input_.shape.wants_inverse();
    found.backward_error = answer.residual / (inverse ? norm_(lane) * answer.norm : norm_(lane));
    found.bounds.backward_error = 0.01 * found.backward_error + (std::is_same_v<T, float> ? n_ * 0x1p-53 : 0x1p-59);
    found.residual_ratio = found.backward_error / (inverse ? n_ * u : u);
    found.forward_ratio = answer.forward * rcond / u;
    return certain;
  }

  SolvedSystems<T> input_;
  const std::int64_t* systems_;
  int n_, padded_, columns_;
  std::array<int, lanes> exponents_;  // g
  std::array<Answer, lanes> answers_{};
  Lanes scale_;  // 2^-g
  Lanes norm_, norm_of_inverse_, asymmetry_;
  Lanes sum_;  // of all |a_ij| and |(A^-1)_ij|: finite where all of them are
  // 2^-g A, and factor() and invert_factor(); by rows of padded_ elements.
  std::array<Lanes, max_system_size * max_system_size> matrix_, factor_;
  Column roots_, pivots_, weights_;  // sqrt(a_kk), d_k, sum_i |z_ki| sqrt(a_ii)
  // Two columns each.
  std::array<Lanes, tile_columns * max_system_size> x_, leading_x_, rest_x_, rhs_, residual_, solved_, difference_;
};

template <class T>
void judge_in_lanes(const SolvedSystems<T>& solved, const std::int64_t* systems, LaneJudgement* judgements) {
  SystemsInLanes<T>(solved, systems).judge(judgements);
}

constexpr RefereeLanes lanes_named(const char* name) {
  return {name, {lanes, judge_in_lanes<float>}, {lanes, judge_in_lanes<double>}};
}

}  // namespace

}  // namespace smallbatch
