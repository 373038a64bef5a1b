// The body of the judgement of systems in lanes: an Eigen array has one number of each system. Each file that includes
// it is compiled for one instruction set. The files for AVX2 and AVX-512 rename Eigen's namespace
// (solvers/CMakeLists.txt), so that their functions cannot replace those of the baseline.
//
// The judgements are those of judge_spd_solution() except for roundings. Only well-behaved systems are judged here.
// Systems with a pivot floor, a failure or numbers near the limits of a type are left to RefereeSystem, which takes
// several times as long.
//
// A = L L^T is computed by rows. Z = L^-1 says how certain the pivots are. The sums of |A^-1| = |Z^T Z| are computed
// without storing A^-1. The residual r of an answer x is computed in twice the precision of its numbers. The difference
// x* - x is computed from r as Z^T Z r, so that no digits cancel. All of these are products of rows with rows, with a
// tile in registers.
//
// This is one file, because it has one class, for the same lanes throughout.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/reference/lanes.hpp"

namespace smallbatch {

namespace {

constexpr int lanes = Eigen::internal::packet_traits<double>::size;

template <class T>
class SystemsInLanes {
 public:
  using Lanes = Eigen::Array<double, lanes, 1>;

  /// Takes the first of these systems, as many as there are lanes. If there are fewer, the last one is repeated. The
  /// object uses `memory` exclusively during its lifetime.
  SystemsInLanes(const SolvedSystems<T>& solved, std::span<const std::int64_t> systems, std::vector<Lanes>& memory)
      : input_(solved),
        systems_(systems),
        n_(solved.shape.n),
        padded_((n_ + tile_rows - 1) / tile_rows * tile_rows),
        stride_(padded_ + 1),
        columns_(solved.shape.wants_inverse() ? n_ : solved.shape.nrhs) {
    // All arrays are on the heap, because the stack of a thread may be small.
    const auto rows = static_cast<std::size_t>(padded_);
    const std::size_t elements = rows * stride_, columns = rows * std::min(most_together, columns_),
                      tile = rows * tile_columns;
    memory.resize(2 * elements + 2 * columns + 5 * tile + 4 * rows);
    Lanes* next = memory.data();
    const auto take = [&next](std::size_t size) { return std::exchange(next, next + size); };
    matrix_ = take(elements);
    factor_ = take(elements);
    x_ = take(columns);
    rhs_ = take(columns);
    for (Lanes** array : {&leading_x_, &rest_x_, &residual_, &solved_, &difference_}) *array = take(tile);
    for (Lanes** array : {&roots_, &pivots_, &weights_, &sums_}) *array = take(rows);
  }

  void judge(LaneJudgement* judgements) {
    next_ = numbers(input_.a, input_.shape.matrix_size(), lanes);
    load_matrices();
    find_norms();
    factor();
    invert_factor();
    find_pivot_numbers();
    sum_inverse();
    for (int first = 0; first < columns_; first += together_) {
      load_columns(first);
      int c = 0;
      for (; c + tile_columns <= together_; c += tile_columns) judge_columns<tile_columns>(c);
      for (; c + 2 <= together_; c += 2) judge_columns<2>(c);
      for (; c < together_; ++c) judge_columns<1>(c);
    }
    for (int lane = 0; lane < std::ssize(systems_) && lane < lanes; ++lane) judgements[lane] = judgement(lane);
  }

 private:
  /// The size of a tile that registers hold. AVX-512 has 32 registers, other instruction sets have 16.
  static constexpr int tile_rows = 4, tile_columns = lanes == 8 ? 4 : 2;
  template <int C, int R = tile_rows>
  using Tile = std::array<std::array<Lanes, C>, R>;
  static constexpr int most_together = 8;

  static constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// The range of exponents of A and x in which no product leaves the range of double.
  static constexpr int largest_exponent_of_matrix = 1000;
  static constexpr double largest_x = 0x1p500, smallest_x = 0x1p-500;
  /// Numbers below 2 are rounded to multiples of 2^-21 or 2^-22 if one of these constants is added and then subtracted.
  /// A product of two such multiples is a multiple of 2^-43 up to 4. Products, and sums of 256 products, are exact.
  static constexpr double splitter_of_a = 1.5 * 0x1p31, splitter_of_x = 1.5 * 0x1p30;
  static_assert(max_system_size <= 256);
  /// Below this rcond, A^-1 has too few digits for a judgement here.
  static constexpr double least_rcond = 0x1p-36;

  /// Calls visit(r, c) for each element of a tile. Its arguments are constants, so the tile can stay in registers if
  /// all calls are inlined. The attribute gnu::flatten below inlines them.
  template <int C, int R = tile_rows, class Visit>
  static void for_tile(const Visit& visit) {
    for_indices<R>([&](auto r) { for_indices<C>([&](auto c) { visit(r, c); }); });
  }
  template <int count, class Visit>
  static void for_indices(const Visit& visit) {
    [&]<int... i>(std::integer_sequence<int, i...>) { (visit(std::integral_constant<int, i>()), ...); }
    (std::make_integer_sequence<int, count>());
  }

  /// Computes tile(r, c) -= sum over k in [first, last) of a(r, k) b(c, k). The element b(c, k) is b[c column_stride +
  /// k row_stride].
  template <int C>
  void subtract_products(Tile<C>& tile, const Lanes* a, const Lanes* b, int column_stride, int row_stride, int first,
                         int last) const {
    for (int k = first; k < last; ++k)
      for_tile<C>([&](auto r, auto c) { tile[r][c] -= a[r * stride_ + k] * b[c * column_stride + k * row_stride]; });
  }
  /// Computes tile(r, c) -= sum over k in [first, last) of f(i + r, k) f(j + c, k), where f is factor_.
  template <int C>
  void subtract_products_of_rows(Tile<C>& tile, int i, int j, int first, int last) {
    subtract_products<C>(tile, row_of_factor(i), row_of_factor(j), stride_, 1, first, last);
  }
  Lanes* row_of_matrix(int i) { return &matrix_[static_cast<std::size_t>(i) * stride_]; }
  Lanes* row_of_factor(int i) { return &factor_[static_cast<std::size_t>(i) * stride_]; }

  /// Addresses of the numbers of each system.
  using Numbers = std::array<const T*, lanes>;
  [[nodiscard]] Numbers numbers(const T* of_all, std::int64_t size, std::size_t first_system = 0) const {
    Numbers numbers;
    for (int lane = 0; lane < lanes; ++lane)
      numbers[lane] = of_all + systems_[std::min(first_system + lane, systems_.size() - 1)] * size;
    return numbers;
  }
  /// Loads to[i](lane) = from[lane][first + i] factor(lane) for i < lanes.
  static void load_block(const Numbers& from, int first, const Lanes& factor, Lanes* to) {
    Eigen::Array<double, lanes, lanes> block;
    for (int lane = 0; lane < lanes; ++lane)
      block.col(lane) = Eigen::Map<const Eigen::Array<T, lanes, 1>>(from[lane] + first).template cast<double>();
    block.transposeInPlace();
    for (int i = 0; i < lanes; ++i) to[i] = block.col(i) * factor;
  }
  /// Loads to[i](lane) = from[lane][first + i] factor(lane) for i < count.
  static void load(const Numbers& from, int first, int count, const Lanes& factor, Lanes* to) {
    int i = 0;
    for (; i + lanes <= count; i += lanes) load_block(from, first + i, factor, to + i);
    if (i == count) return;
    if (count >= lanes) return load_block(from, first + count - lanes, factor, to + count - lanes);
    for (; i < count; ++i)
      for (int lane = 0; lane < lanes; ++lane) to[i](lane) = static_cast<double>(from[lane][first + i]) * factor(lane);
  }

  /// Loads 2^-g A, padded with an identity matrix.
  void load_matrices() {
    const SpdShape& shape = input_.shape;
    const bool is_whole = shape.storage == Storage::dense;
    const auto start_of_row = [&](int i) { return row_begin(shape.storage, n_, i); };
    const Numbers a = numbers(input_.a, shape.matrix_size());
    for (int lane = 0; lane < lanes; ++lane) {
      // In a positive definite matrix, no element is larger than the largest diagonal element.
      T largest = 0;
      for (int i = 0; i < n_; ++i) largest = std::max(largest, a[lane][start_of_row(i) + i]);
      const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
      is_well_scaled_[lane] = std::abs(exponent) <= largest_exponent_of_matrix;
      exponents_[lane] = is_well_scaled_[lane] ? exponent : 0;
      scale_(lane) = std::ldexp(1.0, -exponents_[lane]);
    }
    for (int i = 0; i < n_; ++i) load(a, start_of_row(i), is_whole ? n_ : i + 1, scale_, row_of_matrix(i));
    for (int i = 0; i < n_ && !is_whole; ++i)
      for (int j = 0; j < i; ++j) row_of_matrix(j)[i] = row_of_matrix(i)[j];
    for (int i = 0; i < padded_; ++i)
      for (int j = i < n_ ? n_ : 0; j < padded_; ++j) row_of_matrix(i)[j] = Lanes::Constant(i == j ? 1 : 0);
    for (int i = 0; i < padded_; ++i) roots_[i] = row_of_matrix(i)[i].sqrt();
  }

  /// Computes ||2^-g A||_1 and max |a_ij - a_ji| / min a_ii.
  void find_norms() {
    Lanes least = Lanes::Constant(infinity), most = Lanes::Zero();
    for (int i = 0; i < n_; ++i) {
      const Lanes* row = row_of_matrix(i);
      least = least.min(row[i]);
      for (int j = 0; j < i; ++j) most = most.max((row[j] - row_of_matrix(j)[i]).abs());
    }
    asymmetry_ = most / least;
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

  /// Prefetches a part of the next matrices, so that they arrive while the current matrices are factored.
  void prefetch() {
    constexpr int line = 64 / sizeof(T), lines = std::is_same_v<T, double> ? 2 : 1;
    for (int i = 0; i < lines && fetched_ < input_.shape.matrix_size(); ++i, fetched_ += line)
      for (const T* matrix : next_) __builtin_prefetch(matrix + fetched_, 0, 2);
  }

  /// Calls visit(j, diagonal) for the tiles of rows i, ... on and left of the diagonal. The argument `diagonal` is a
  /// constant: the tile's row, counted from 0, where the tile's first column meets the diagonal. It is negative if the
  /// tile is left of the diagonal.
  template <class Visit>
  void for_tiles_of_rows(int i, const Visit& visit) {
    for (int j = 0; j < i; j += tile_columns) {
      prefetch();
      visit(j, std::integral_constant<int, -1>());
    }
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (visit(i + k * tile_columns, std::integral_constant<int, k * tile_columns>()), ...);
    }
    (std::make_integer_sequence<int, tile_rows / tile_columns>());
  }

  /// Factors A = L L^T. L goes to the strict lower triangle of factor_, and the reciprocals of its diagonal to the
  /// diagonal of factor_.
  [[gnu::flatten]] void factor() {
    for (int i = 0; i < padded_; i += tile_rows)
      for_tiles_of_rows(i, [&](int j, auto diagonal) {
        Tile<tile_columns> tile;
        for_tile<tile_columns>([&](auto r, auto c) { tile[r][c] = row_of_matrix(i + r)[j + c]; });
        subtract_products_of_rows<tile_columns>(tile, i, j, 0, j);
        for_indices<tile_columns>([&](auto c) {
          if constexpr (diagonal >= 0) {
            pivots_[j + c] = tile[diagonal + c][c];
            row_of_factor(j + c)[j + c] = tile[diagonal + c][c].sqrt().inverse();
          }
          const Lanes& reciprocal = row_of_factor(j + c)[j + c];
          for_indices<tile_rows>([&](auto r) { tile[r][c] *= reciprocal; });
          for_indices<tile_columns - c - 1>([&](auto after) {
            constexpr int m = c + 1 + after;
            const Lanes& l = diagonal >= 0 ? tile[std::max(0, diagonal + m)][c] : row_of_factor(j + m)[j + c];
            for_indices<tile_rows>([&](auto r) { tile[r][m] -= tile[r][c] * l; });
          });
        });
        for_tile<tile_columns>([&](auto r, auto c) {
          if (diagonal < 0 || r > diagonal + c) row_of_factor(i + r)[j + c] = tile[r][c];
        });
      });
  }

  /// Computes Z = L^-1, transposed in the upper triangle of factor_, and the weights sum_i |z_ki| sqrt(a_ii).
  [[gnu::flatten]] void invert_factor() {
    std::fill_n(weights_, padded_, Lanes::Zero());
    for (int i = 0; i < padded_; i += tile_rows)
      for_tiles_of_rows(i, [&](int j, auto diagonal) {
        Tile<tile_columns> tile;  // the part of -L Z that comes from known rows of Z
        for_tile<tile_columns>([&](auto r, auto c) {
          tile[r][c].setZero();
          if constexpr (diagonal < 0)
            for_indices<tile_columns - c>(
                [&](auto k) { tile[r][c] -= row_of_factor(i + r)[j + c + k] * row_of_factor(j + c)[j + c + k]; });
        });
        if constexpr (diagonal < 0) subtract_products_of_rows<tile_columns>(tile, i, j, j + tile_columns, i);
        for_tile<tile_columns>([&](auto r, auto c) {
          constexpr int first = diagonal < 0 ? 0 : diagonal + c;  // the row of the tile where column c of Z begins
          if constexpr (r >= first) {
            const Lanes* l = row_of_factor(i + r);
            if constexpr (diagonal >= 0 && r == first) {
              tile[r][c] = l[i + r];
            } else {
              for_indices<r - first>([&](auto m) { tile[r][c] -= l[i + first + m] * tile[first + m][c]; });
              tile[r][c] *= l[i + r];
            }
            row_of_factor(j + c)[i + r] = tile[r][c];
            weights_[i + r] += tile[r][c].abs() * roots_[j + c];
          }
        });
      });
  }

  /// Computes the numbers that depend on the pivots. The pragma keeps the compiler from unrolling the loop over lanes.
  /// The compiler then turns this loop into vector instructions.
  void find_pivot_numbers() {
    constexpr double e = spd_ratio_limit * u;
    smallest_.fill(infinity);
    lowest_.fill(infinity);
    product_.fill(1);
    for (int k = 0; k < n_; ++k)
#pragma GCC unroll 1
      for (int lane = 0; lane < lanes; ++lane) {
        const double d = pivots_[k](lane), relative = e * weights_[k](lane) * weights_[k](lane), error = relative * d;
        error_of_smallest_[lane] = d < smallest_[lane] ? error : error_of_smallest_[lane];
        smallest_[lane] = d < smallest_[lane] ? d : smallest_[lane];
        lowest_[lane] = d - error < lowest_[lane] ? d - error : lowest_[lane];
        sum_of_errors_[lane] += relative;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(d);
        const std::int64_t exponent = static_cast<std::int64_t>(bits >> 52) - 1023 + exponents_[lane];
        product_[lane] *= std::bit_cast<double>((bits & 0xfffffffffffffU) | std::bit_cast<std::uint64_t>(1.0));
        exponent_of_product_[lane] += exponent;
        magnitude_[lane] += exponent < 0 ? -exponent : exponent;
      }
  }

  /// Computes ||A^-1||_1.
  [[gnu::flatten]] void sum_inverse() {
    std::fill_n(sums_, padded_, Lanes::Zero());
    for (int i = 0; i < padded_; i += tile_rows)
      for_tiles_of_rows(i, [&](int j, auto diagonal) {
        Tile<tile_columns> tile;  // of -A^-1
        for_tile<tile_columns>([&](auto r, auto c) {
          constexpr int first = diagonal < 0 ? r : std::max<int>(r, diagonal + c);
          tile[r][c].setZero();
          for_indices<tile_rows - first>(
              [&](auto k) { tile[r][c] -= row_of_factor(i + r)[i + first + k] * row_of_factor(j + c)[i + first + k]; });
        });
        subtract_products_of_rows<tile_columns>(tile, i, j, i + tile_rows, padded_);
        for_tile<tile_columns>([&](auto r, auto c) {
          const Lanes magnitude = tile[r][c].abs();
          sums_[i + r] += magnitude;
          if constexpr (diagonal < 0) sums_[j + c] += magnitude;
        });
      });
    norm_of_inverse_.setZero();
    for (int i = 0; i < n_; ++i) {
      norm_of_inverse_ = norm_of_inverse_.max(sums_[i]);
      sum_ += sums_[i];
    }
  }

  /// Loads x and 2^-g b of the columns from `first` on.
  void load_columns(int first) {
    const SpdShape& shape = input_.shape;
    together_ = std::min(most_together, columns_ - first);
    const auto load_rows = [&](const Numbers& from, const Lanes& factor, Lanes* to) {
      if (together_ == columns_) return load(from, 0, n_ * columns_, factor, to);
      for (int i = 0; i < n_; ++i) load(from, i * columns_ + first, together_, factor, &to[i * together_]);
    };
    load_rows(numbers(input_.x, shape.solution_size()), Lanes::Ones(), x_);
    if (!shape.wants_inverse()) load_rows(numbers(input_.b, shape.rhs_size()), scale_, rhs_);
    for (int i = shape.wants_inverse() ? 0 : n_; i < padded_; ++i)
      for (int c = 0; c < together_; ++c) rhs_[i * together_ + c] = i == first + c ? scale_ : Lanes::Zero();
    for (int i = n_; i < padded_; ++i)
      for (int c = 0; c < together_; ++c) x_[i * together_ + c].setZero();
  }

  template <int C>
  void judge_columns(int first) {
    if constexpr (std::is_same_v<T, float>) {
      find_residuals<C>(first);
    } else {
      split_columns<C>(first);
      find_split_residuals<C>(first);
    }
    find_differences<C>();
    add_columns<C>(first);
  }

  /// Computes r = 2^-g b - A x for C columns.
  template <int C>
  [[gnu::flatten]] void find_residuals(int first) {
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      for_tile<C>([&](auto r, auto c) { tile[r][c] = rhs_[(i + r) * together_ + first + c]; });
      subtract_products<C>(tile, row_of_matrix(i), &x_[first], 1, together_, 0, padded_);
      for_tile<C>([&](auto r, auto c) { residual_[(i + r) * C + c] = tile[r][c]; });
    }
  }

  /// Splits x = leading_x + rest_x.
  template <int C>
  void split_columns(int first) {
    for (int c = 0; c < C; ++c) {
      Lanes largest = Lanes::Zero();
      for (int i = 0; i < n_; ++i) largest = largest.max(x_[i * together_ + first + c].abs());
      Lanes splitter;
      for (int lane = 0; lane < lanes; ++lane)
        splitter(lane) = splitter_of_x * std::clamp(power_of_two(largest(lane)), smallest_x, largest_x);
      for (int i = 0; i < padded_; ++i) {
        const Lanes& x = x_[i * together_ + first + c];
        const Lanes leading = (x + splitter) - splitter;
        leading_x_[i * C + c] = leading;
        rest_x_[i * C + c] = x - leading;
      }
    }
  }
  /// Returns 2^floor(log2 v) of a normal number.
  static double power_of_two(double v) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0x7ff0000000000000U);
  }

  /// Computes r = 2^-g b - A x with twice the digits.
  template <int C>
  [[gnu::flatten]] void find_split_residuals(int first) {
    constexpr int rows = std::min(tile_rows, 2 * tile_columns / C);  // each element has two sums
    for (int i = 0; i < padded_; i += rows) {
      Tile<C, rows> leading, rest;
      for_tile<C, rows>([&](auto r, auto c) { leading[r][c] = rest[r][c] = Lanes::Zero(); });
      for (int k = 0; k < padded_; ++k)
        for_indices<rows>([&](auto r) {
          const Lanes& a = row_of_matrix(i + r)[k];
          const Lanes leading_a = (a + splitter_of_a) - splitter_of_a;
          const Lanes rest_a = a - leading_a;
          for_indices<C>([&](auto c) {
            leading[r][c] += leading_a * leading_x_[k * C + c];
            rest[r][c] += leading_a * rest_x_[k * C + c];
            rest[r][c] += rest_a * x_[k * together_ + first + c];
          });
        });
      for_tile<C, rows>([&](auto r, auto c) {
        const Lanes& b = rhs_[(i + r) * together_ + first + c];
        const Lanes difference = b - leading[r][c];
        const Lanes part = difference - b;
        const Lanes error = (b - (difference - part)) - (leading[r][c] + part);
        residual_[(i + r) * C + c] = difference + (error - rest[r][c]);
      });
    }
  }

  /// Computes x* - x = Z^T Z r for C columns.
  template <int C>
  [[gnu::flatten]] void find_differences() {
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      for_tile<C>([&](auto r, auto c) { tile[r][c] = residual_[(i + r) * C + c]; });
      subtract_products<C>(tile, row_of_factor(i), solved_, 1, C, 0, i);
      for_tile<C>([&](auto r, auto c) {
        const Lanes* l = row_of_factor(i + r);
        for_indices<r>([&](auto m) { tile[r][c] -= l[i + m] * tile[m][c]; });
        tile[r][c] *= l[i + r];
        solved_[(i + r) * C + c] = tile[r][c];
      });
    }
    for (int i = 0; i < padded_; i += tile_rows) {
      Tile<C> tile;
      for_tile<C>([&](auto r, auto c) {
        tile[r][c].setZero();
        for_indices<tile_rows - r>(
            [&](auto k) { tile[r][c] -= row_of_factor(i + r)[i + r + k] * solved_[(i + r + k) * C + c]; });
      });
      subtract_products<C>(tile, row_of_factor(i), solved_, 1, C, i + tile_rows, padded_);
      for_tile<C>([&](auto r, auto c) { difference_[(i + r) * C + c] = -tile[r][c]; });
    }
  }

  template <int C>
  void add_columns(int first) {
    for (int c = 0; c < C; ++c) {
      Lanes residual = Lanes::Zero(), norm = residual, exact_norm = residual, difference = residual, largest = residual;
      for (int i = 0; i < n_; ++i) {
        const Lanes& x = x_[i * together_ + first + c];
        const Lanes& d = difference_[i * C + c];
        const Lanes exact = (x + d).abs();
        residual += residual_[i * C + c].abs();
        norm += x.abs();
        exact_norm += exact;
        difference = difference.max(d.abs());
        largest = largest.max(exact);
      }
      answer_.residual =
          answer_.residual.max(input_.shape.wants_inverse() ? residual : static_cast<const Lanes&>(residual / norm));
      answer_.forward = answer_.forward.max(difference / largest);
      answer_.norm = answer_.norm.max(norm);
      answer_.least_norm = answer_.least_norm.min(norm);
      answer_.least_exact_norm = answer_.least_exact_norm.min(exact_norm);
      answer_.sum += norm + exact_norm + residual;
    }
  }

  /// Returns whether all numbers are well within their ranges.
  [[nodiscard]] bool is_well_behaved(int lane) const {
    if (!is_well_scaled_[lane] || !std::isfinite(sum_(lane)) || !(asymmetry_(lane) <= n_ * u)) return false;
    // Rounding to T changes an element by at most u times the element, or denorm_min / 2. If ||x*||_1 > n least_norm,
    // this changes x* by less than 9 u ||x*||_1, so x* has not underflowed.
    constexpr double least_norm = std::is_same_v<T, float> ? 0x1p-149 / (16 * u) : 0;
    return columns_ == 0 || (std::isfinite(answer_.sum(lane)) && answer_.least_norm(lane) >= n_ * smallest_x &&
                             answer_.norm(lane) <= largest_x && answer_.least_exact_norm(lane) > n_ * least_norm);
  }

  [[nodiscard]] LaneJudgement judgement(int lane) const {
    constexpr double e = spd_ratio_limit * u;
    const double rcond = 1 / (norm_(lane) * norm_of_inverse_(lane));
    if (!is_well_behaved(lane) || !(rcond >= least_rcond)) return {};
    LaneJudgement certain{true, {}};
    SpdJudgement& found = certain.judgement;
    found.rcond = rcond;
    found.bounds.rcond = e * (1 + rcond) + n_ * u * rcond;

    found.smallest_pivot = std::ldexp(smallest_[lane], exponents_[lane]);
    found.bounds.smallest_pivot =
        std::ldexp(std::max(error_of_smallest_[lane], smallest_[lane] - lowest_[lane]), exponents_[lane]) +
        static_cast<double>(std::numeric_limits<T>::denorm_min());
    const double log_product = std::log(product_[lane]);
    found.log_determinant = static_cast<double>(log_product + static_cast<long double>(exponent_of_product_[lane]) *
                                                                  std::numbers::ln2_v<long double>);
    found.bounds.log_determinant =
        sum_of_errors_[lane] +
        (n_ + 3) * 0x1p-53 * (log_product + static_cast<double>(magnitude_[lane]) * std::numbers::ln2);
    found.perturbation = found.bounds.perturbation = 0;
    found.bounds.repaired = 0;
    if (columns_ == 0) return certain;

    const bool inverse = input_.shape.wants_inverse();
    found.backward_error = answer_.residual(lane) / (inverse ? norm_(lane) * answer_.norm(lane) : norm_(lane));
    found.bounds.backward_error = 0.01 * found.backward_error + (std::is_same_v<T, float> ? n_ * 0x1p-53 : 0x1p-59);
    found.residual_ratio = found.backward_error / (inverse ? n_ * u : u);
    found.forward_ratio = answer_.forward(lane) * rcond / u;
    return certain;
  }

  /// Norms over all columns.
  struct Answer {
    Lanes residual = Lanes::Zero();  ///< max ||r||_1 / ||x||_1; for an inverse max ||r||_1
    Lanes norm = Lanes::Zero();      ///< max ||x||_1
    Lanes forward = Lanes::Zero();   ///< max ||x - x*||_inf / ||x*||_inf
    Lanes least_norm = Lanes::Constant(infinity), least_exact_norm = least_norm;  ///< min ||x||_1, min ||x*||_1
    Lanes sum = Lanes::Zero();  ///< of all norms: finite only if all of them are (maxima and minima may miss a NaN)
  };

  SolvedSystems<T> input_;
  std::span<const std::int64_t> systems_;
  Numbers next_;              ///< the matrices to prefetch
  std::int64_t fetched_ = 0;  ///< numbers of each next matrix that have been prefetched
  int n_, padded_;
  int stride_;  ///< odd, so that elements of a column lie in different sets of the cache
  int columns_;
  int together_ = 0;                        ///< columns that are judged together
  std::array<int, lanes> exponents_;        ///< g
  std::array<bool, lanes> is_well_scaled_;  ///< whether the exponents of A are in range
  Lanes scale_;                             ///< 2^-g
  Answer answer_;
  // The pivots of 2^-g A are d_k. The least d_k is smallest_, and its error |d d_k| is error_of_smallest_. The least
  // d_k - |d d_k| is lowest_. The sum of |d d_k| / d_k is sum_of_errors_. The pivots of A are m_k 2^c_k. The product of
  // m_k is product_, the sum of c_k is exponent_of_product_, and the sum of |c_k| is magnitude_.
  alignas(64) std::array<double, lanes> smallest_, error_of_smallest_{}, lowest_, sum_of_errors_{}, product_;
  alignas(64) std::array<std::int64_t, lanes> exponent_of_product_{}, magnitude_{};
  Lanes norm_, norm_of_inverse_, asymmetry_;
  Lanes sum_;                ///< of all |a_ij| and |(A^-1)_ij|: finite only if all of them are
  Lanes *matrix_, *factor_;  ///< 2^-g A, and its factors and their inverse; by rows of stride_ elements
  Lanes *x_, *rhs_;          ///< by rows of together_ elements
  // Numbers of C columns, by rows of C elements.
  Lanes *leading_x_, *rest_x_, *residual_, *solved_, *difference_;
  // One element a row: sqrt(a_kk), d_k, sum_i |z_ki| sqrt(a_ii), sum_i |(A^-1)_ik|.
  Lanes *roots_, *pivots_, *weights_, *sums_;
};

template <class T>
void judge_in_lanes(const SolvedSystems<T>& solved, std::span<const std::int64_t> systems, LaneJudgement* judgements) {
  std::vector<typename SystemsInLanes<T>::Lanes> memory;
  for (std::size_t first = 0; first < systems.size(); first += lanes)
    SystemsInLanes<T>(solved, systems.subspan(first), memory).judge(judgements + first);
}

constexpr RefereeLanes lanes_named(const char* name) {
  return {name, {lanes, judge_in_lanes<float>}, {lanes, judge_in_lanes<double>}};
}

}  // namespace

}  // namespace smallbatch
