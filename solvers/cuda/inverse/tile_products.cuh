// Inverses as 8 x 8 tiles in the shared memory of a warp: storing them to global memory, and judging them. Private to
// solvers/cuda.
//
// The residual `R = X A - I` is computed on the tensor cores, in twice the precision of the numbers. (R is the
// transpose of `A X - I`, because both matrices are symmetric.) Rows of X are left factors; rows of A are transposes of
// right factors. For floats, products in double precision are exact. For doubles, products of 21-bit halves add up
// without rounding, as in Residual<double>. Three products of halves replace one product. This is one file, because all
// ways of reading A and X feed the same products.
#pragma once

#include "solvers/cuda/common/status.cuh"
#include "solvers/cuda/inverse/fragments.cuh"

namespace smallbatch {

namespace {

/// The shared memory of a warp that works on one system of up to `8 * B` rows.
template <int B>
struct alignas(16) InverseMemory {
  double tiles[B * (B + 1) / 2][tile_numbers];  // the lower triangle of X, by rows of tiles
  double pivots[tile_rows * B];
  double powers[tile_rows * B];  // the diagonal of D
};

/// Shared memory that also keeps halves of X for the residual, for whole tiles of doubles.
template <int B>
struct alignas(16) HalvedMemory : InverseMemory<B> {
  double highs[B * (B + 1) / 2][tile_numbers];  // the high halves of X
  double residual[B][warp_lanes];               // the lane's part of each row's sum of |X A - I|
};

/// Keeps the compiler from moving later loads before this point. Otherwise the compiler would keep more loaded numbers
/// than there are registers. The whole warp calls.
__device__ __forceinline__ void no_loads_ahead() { __syncwarp(); }

constexpr int tile_index(int i, int j) { return i * (i + 1) / 2 + j; }

/// Ways to read a matrix.
enum class Reading {
  whole,  // full tiles of whole rows, two numbers at a time
  pairs,  // whole rows, two numbers at a time
  single  // any matrix, one number at a time
};

/// Returns whether rows of n numbers can be read two numbers at a time. The first system begins at `first`, and each
/// next one `step` elements later.
template <class T>
constexpr bool in_pairs(const T* first, std::int64_t step, int n) {
  return n % 2 == 0 && step % 2 == 0 && reinterpret_cast<std::uintptr_t>(first) % (2 * sizeof(T)) == 0;
}

/// Returns elements (row, column) and (row, column + 1) of A. Beyond its end, A continues with rows of the identity
/// times `diagonal`.
template <Reading how, int B, class T>
__device__ __forceinline__ Vector<T, 2> read_pair(const Arguments<T>& args, const T* a, int row, int column,
                                                  T diagonal) {
  if constexpr (how == Reading::whole) {
    return *reinterpret_cast<const Vector<T, 2>*>(a + row * (tile_rows * B) + column);
  } else {
    Vector<T, 2> pair{row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0)};
    if constexpr (how == Reading::pairs) {
      if (row < args.n && column < args.n) pair = *reinterpret_cast<const Vector<T, 2>*>(a + row * args.n + column);
    } else {
      row = fresh(row), column = fresh(column);  // so that the compiler does not compute addresses ahead
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int c = column + h;
        const bool swapped = args.storage != Storage::dense && c > row;
        const int i = swapped ? c : row, j = swapped ? row : c;
        const int place = (args.storage == Storage::packed_lower ? i * (i + 1) / 2 : i * args.n) + j;
        if (row < args.n && c < args.n) pair.value[h] = a[place];
      }
    }
    return pair;
  }
}

/// Calls work(how) with the constant `how`, the best way to read A. Reading::pairs is used only if `Paired`.
template <bool Whole, bool Paired = true, class T, class Work>
__device__ __forceinline__ auto with_reading(const Arguments<T>& args, Work&& work) {
  if constexpr (Whole) {
    return work(std::integral_constant<Reading, Reading::whole>{});
  } else {
    if constexpr (Paired)
      if (args.vectors && args.storage == Storage::dense)
        return work(std::integral_constant<Reading, Reading::pairs>{});
    return work(std::integral_constant<Reading, Reading::single>{});
  }
}

/// Loads the tiles of A. Returns whether its triangles differ in the lane's numbers.
template <Reading how, int B, class T>
__device__ __forceinline__ bool load_tiles(const Arguments<T>& args, std::int64_t system, Fragment (&tiles)[B][B]) {
  const int row = fragment_row(), column = fragment_column(), n = how == Reading::whole ? tile_rows * B : args.n;
  const T* const a = args.a + system * args.a_step;
  unsigned bits = 0;
  unrolled<B>([&](auto index) __attribute__((always_inline)) {
    constexpr int i = index;
    Vector<T, 2> lower[B], upper[B];
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      const bool ahead = how == Reading::whole || B <= 4;  // addresses may be computed ahead
      const int r = tile_rows * i + (ahead ? row : fresh(row)), c = tile_rows * j + (ahead ? column : fresh(column));
      if (how == Reading::single && B > 4) no_loads_ahead();
      lower[j] = upper[j] = read_pair<how, B>(args, a, r, c, T(1));
      if (how == Reading::single && args.storage != Storage::dense) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if (r < n && c + h < n) upper[j].value[h] = a[(c + h) * n + r];
    }
#pragma unroll
    for (int j = 0; j <= i; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        bits |= differing_bits(lower[j].value[h], upper[j].value[h]);
        tiles[i][j].value[h] = lower[j].value[h];
      }
    if (B > 6) {
      bits = static_cast<unsigned>(fresh(static_cast<int>(bits)));
      no_loads_ahead();
    }
  });
  return bits != 0;
}

/// Returns the largest diagonal element. The whole warp calls.
template <int B>
__device__ __forceinline__ double largest_diagonal(const Fragment (&a)[B][B], int n) {
  const int row = fragment_row(), column = fragment_column();
  double largest = 0;
#pragma unroll
  for (int i = 0; i < B; ++i)
    if (row / 2 * 2 == column && tile_rows * i + row < n)
      largest = max(largest, abs(row % 2 == 0 ? a[i][i].value[0] : a[i][i].value[1]));
  return max_of_group<warp_lanes>(largest);
}

/// Powers of two that bring the largest elements of A and X near 1, and their exponents. For floats, the powers are 1.
struct Factors {
  int a_exponent = 0, x_exponent = 0;
  double of_a = 1, of_x = 1;
};

template <class T>
__device__ __forceinline__ Factors factors_of(int a_exponent, int x_exponent) {
  if constexpr (sizeof(T) == sizeof(float)) return {};
  return {a_exponent, x_exponent, power_of_two<double>(a_exponent), power_of_two<double>(x_exponent)};
}

/// 1-norms of `X A - I`, A and X, multiplied by their factors.
struct InverseNorms {
  double residual = 0, matrix = 0, inverse = 0;
};

/// Returns tile (i, j) of a symmetric matrix with the lower triangle of tiles in shared memory.
template <int B>
__device__ __forceinline__ Fragment load_lower(const double (&tiles)[B * (B + 1) / 2][tile_numbers], int i, int j) {
  return i >= j ? load_fragment(tiles[tile_index(i, j)]) : load_transposed(tiles[tile_index(j, i)]);
}
/// Returns tile (i, j) of X.
template <int B>
__device__ __forceinline__ Fragment load_tile(const InverseMemory<B>& memory, int i, int j) {
  return load_lower<B>(memory.tiles, i, j);
}

/// Returns the larger of each norm.
__device__ __forceinline__ InverseNorms larger(const InverseNorms& a, const InverseNorms& b) {
  return {max(a.residual, b.residual), max(a.matrix, b.matrix), max(a.inverse, b.inverse)};
}

/// Returns the lane's part of a row's sum of |a|.
__device__ __forceinline__ double magnitude(const Fragment& a) { return abs(a.value[0]) + abs(a.value[1]); }

/// Number of rows of tiles of A that are in registers at a time. In double precision, each number is kept as two
/// halves.
template <class T, int B, Reading how>
constexpr int tile_rows_at_once = how != Reading::whole        ? (B <= 2 ? B : 1)
                                  : sizeof(T) == sizeof(float) ? (B <= 4       ? B
                                                                  : B == 6     ? 3
                                                                  : B % 2 == 0 ? 2
                                                                               : 1)
                                                               : (B <= 2 ? B : 1);

/// Reads a row of tiles of A times its factor; in double precision, each number is split into two halves. Returns the
/// lane's part of the sum of |a|. `i` is the row of A that the lane has a part of.
template <Reading how, int B, class T>
__device__ __forceinline__ double read_row(const Arguments<T>& args, const T* a, int i, int column, double factor,
                                           Fragment (&high)[B], [[maybe_unused]] Fragment (&low)[B]) {
  constexpr bool twice = sizeof(T) == sizeof(double);
  Vector<T, 2> stored[B];
#pragma unroll
  for (int k = 0; k < B; ++k) {
    if (how == Reading::single && B > 4) no_loads_ahead();
    stored[k] = read_pair<how, B>(args, a, i, tile_rows * k + column, T(0));
  }
  double sum = 0;
#pragma unroll
  for (int k = 0; k < B; ++k) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      high[k].value[h] = static_cast<double>(stored[k].value[h]) * factor;
      if (twice) sum += abs(high[k].value[h]);
    }
    if (!twice) sum += magnitude(high[k]);
    if constexpr (twice)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const Halves halves = halved<Residual<double>::bits>(high[k].value[h]);
        high[k].value[h] = halves.high;
        low[k].value[h] = halves.low;
      }
  }
  return sum;
}

/// Returns the largest sums of the rows that the lane has a part of. The norms are the largest of these over all lanes
/// (over_rows()). Tile (i, j) of X is x_tile(i, j). The whole warp calls.
template <Reading how, int B, class T, class X>
__device__ __forceinline__ InverseNorms row_norms(const Arguments<T>& args, std::int64_t system, X&& x_tile,
                                                  const Factors& factors) {
  constexpr bool twice = sizeof(T) == sizeof(double);
  constexpr int J = tile_rows_at_once<T, B, how>;
  static_assert(B % J == 0);
  // computed again for each use, because the sweep needs the registers
  const int row = fresh(fragment_row()), column = fresh(fragment_column());
  const int n = how == Reading::whole ? tile_rows * B : args.n;
  const T* const a = args.a + system * args.a_step;
  const double minus_one = -with_factors(1.0, factors.of_a, factors.of_x);
  InverseNorms norms;
  [[maybe_unused]] double residual[B];  // the lane's part of each row's sum of |X A - I|
  const auto scaled_tile = [&](int i, int k) __attribute__((always_inline)) {
    Fragment x = x_tile(i, k);
#pragma unroll
    for (int h = 0; h < 2; ++h) x.value[h] *= factors.of_x;
    return x;
  };
  const auto is_row = [&](int i) { return tile_rows * i + row < n; };
  const auto note_row = [&](double& norm, int i, double part) __attribute__((always_inline)) {
    if (const double sum = sum_of_row(part); is_row(i)) norm = max(norm, sum);
  };
#pragma unroll
  for (int i = 0; i < B; ++i) {
    residual[i] = 0;
    if (J == B) continue;
    double sum = 0;
    if (B > 4) no_loads_ahead();
#pragma unroll
    for (int k = 0; k < B; ++k) sum += magnitude(scaled_tile(i, k));
    note_row(norms.inverse, i, sum);
  }
#pragma unroll 1
  for (int first = 0; first < B; first += J) {
    [[maybe_unused]] Fragment high[J][B], low[twice ? J : 1][B];
    no_loads_ahead();  // so that no tile of X is kept in registers for all turns
#pragma unroll
    for (int t = 0; t < J; ++t) {
      const double sum =
          read_row<how, B>(args, a, tile_rows * (first + t) + row, column, factors.of_a, high[t], low[twice ? t : 0]);
      norms.matrix = max(norms.matrix, sum_of_row(sum));
    }
    // Multiplies two rows of tiles of X at a time, if there are registers for them. Products with two rows take no
    // longer than with one.
    constexpr int together = how != Reading::whole && B + (twice ? 3 : 0) > 7 ? 1 : 2;
    unrolled<(B + together - 1) / together>([&](auto index) __attribute__((always_inline)) {
      constexpr int i = together * index, I = i + together <= B ? together : 1;
      if (B > 3) no_loads_ahead();
      [[maybe_unused]] Fragment sums[J][I], rest[twice ? J : 1][I];
#pragma unroll
      for (int t = 0; t < J; ++t)
#pragma unroll
        for (int u = 0; u < I; ++u)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const bool on_diagonal = tile_rows * (i + u) + row == tile_rows * (first + t) + column + h;
            const double of_identity = on_diagonal && is_row(i + u) ? minus_one : 0.0;
            if constexpr (twice) {
              const Halves halves = halved<2 * Residual<double>::bits>(of_identity);
              sums[t][u].value[h] = halves.high;
              rest[t][u].value[h] = halves.low;
            } else {
              sums[t][u].value[h] = of_identity;
            }
          }
      double sum[I]{};
#pragma unroll
      for (int k = 0; k < B; ++k) {
        if (together == 2 && B > 2 && k > 0) no_loads_ahead();
        Fragment x[I];
#pragma unroll
        for (int u = 0; u < I; ++u) {
          x[u] = scaled_tile(i + u, k);
          if (J == B) sum[u] += magnitude(x[u]);
        }
        if constexpr (twice) {
          Fragment x_high[I], x_low[I];
#pragma unroll
          for (int u = 0; u < I; ++u)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              const Halves halves = halved<Residual<double>::bits>(x[u].value[h]);
              x_high[u].value[h] = halves.high;
              x_low[u].value[h] = halves.low;
            }
#pragma unroll
          for (int t = 0; t < J; ++t) {
            multiply_add<I>(x_high, high[t][k], sums[t]);
            multiply_add<I>(x, low[t][k], rest[t]);
            multiply_add<I>(x_low, high[t][k], rest[t]);
          }
        } else {
#pragma unroll
          for (int t = 0; t < J; ++t) multiply_add<I>(x, high[t][k], sums[t]);
        }
      }
#pragma unroll
      for (int u = 0; u < I; ++u) {
        double part = 0;
#pragma unroll
        for (int t = 0; t < J; ++t)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            if constexpr (twice)
              part += abs(sums[t][u].value[h] + rest[t][u].value[h]);
            else
              part += abs(sums[t][u].value[h]);
          }
        if constexpr (J == B) {
          note_row(norms.inverse, i + u, sum[u]);
          note_row(norms.residual, i + u, part);
        } else {
          residual[i + u] += part;
        }
      }
    });
  }
  if constexpr (J < B)
#pragma unroll
    for (int i = 0; i < B; ++i) note_row(norms.residual, i, residual[i]);
  return norms;
}

/// Returns the same norms as row_norms(), for whole tiles of doubles. X is scaled and halved in shared memory once, for
/// all rows of A. Rows of A are loaded one row ahead. The exponents are in shared memory, too. The whole warp calls.
template <int B>
__device__ __forceinline__ InverseNorms row_norms_by_halves(const Arguments<double>& args, std::int64_t system,
                                                            HalvedMemory<B>& memory, const int& a_exponent,
                                                            const int& x_exponent) {
  constexpr int n = tile_rows * B;
  const int row = fresh(fragment_row()), column = fresh(fragment_column());
  const double* const a = args.a + system * args.a_step;
  Vector<double, 2> stored[B];  // next row of tiles of A
  const auto load_row = [&](int t) __attribute__((always_inline)) {
#pragma unroll
    for (int k = 0; k < B; ++k)
      stored[k] = *reinterpret_cast<const Vector<double, 2>*>(a + (tile_rows * t + row) * n + tile_rows * k + column);
  };
  {
    const double of_x = power_of_two<double>(x_exponent);
#pragma unroll
    for (int i = 0; i < B; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j) {
        no_loads_ahead();
        Fragment x = load_fragment(memory.tiles[tile_index(i, j)]), high;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          x.value[h] *= of_x;
          high.value[h] = halved<Residual<double>::bits>(x.value[h]).high;
        }
        store_fragment(memory.tiles[tile_index(i, j)], x);
        store_fragment(memory.highs[tile_index(i, j)], high);
      }
    if (threadIdx.x == 0) {
      const Halves minus_one =
          halved<2 * Residual<double>::bits>(-with_factors(1.0, power_of_two<double>(a_exponent), of_x));
      memory.pivots[0] = minus_one.high, memory.pivots[1] = minus_one.low;
    }
  }
#pragma unroll
  for (int i = 0; i < B; ++i) memory.residual[i][threadIdx.x] = 0;
  __syncwarp();  // the halves are complete
  load_row(0);
  InverseNorms norms;
#pragma unroll 1
  for (int t = 0; t < B; ++t) {
    Fragment high[B], low[B];
    double sum = 0;
    no_loads_ahead();
    const double of_a = power_of_two<double>(a_exponent);
#pragma unroll
    for (int k = 0; k < B; ++k)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const double value = stored[k].value[h] * of_a;
        sum += abs(value);
        const Halves halves = halved<Residual<double>::bits>(value);
        high[k].value[h] = halves.high;
        low[k].value[h] = halves.low;
      }
    norms.matrix = max(norms.matrix, sum_of_row(sum));
    no_loads_ahead();
    load_row(min(t + 1, B - 1));
    unrolled<(B + 1) / 2>([&](auto index) __attribute__((always_inline)) {
      constexpr int i = 2 * index, I = i + 2 <= B ? 2 : 1;
      Fragment sums[I], rest[I];
#pragma unroll
      for (int u = 0; u < I; ++u)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const bool on_diagonal = tile_rows * (i + u) + row == tile_rows * t + column + h;
          sums[u].value[h] = on_diagonal ? memory.pivots[0] : 0.0;
          rest[u].value[h] = on_diagonal ? memory.pivots[1] : 0.0;
        }
#pragma unroll
      for (int k = 0; k < B; ++k) {
        no_loads_ahead();
        Fragment x[I], x_high[I], x_low[I];
#pragma unroll
        for (int u = 0; u < I; ++u) {
          x[u] = load_lower<B>(memory.tiles, i + u, k);
          x_high[u] = load_lower<B>(memory.highs, i + u, k);
#pragma unroll
          for (int h = 0; h < 2; ++h) x_low[u].value[h] = x[u].value[h] - x_high[u].value[h];
        }
        multiply_add<I>(x_high, high[k], sums);
        multiply_add<I>(x, low[k], rest);
        multiply_add<I>(x_low, high[k], rest);
      }
#pragma unroll
      for (int u = 0; u < I; ++u)
        memory.residual[i + u][threadIdx.x] +=
            abs(sums[u].value[0] + rest[u].value[0]) + abs(sums[u].value[1] + rest[u].value[1]);
    });
  }
#pragma unroll
  for (int i = 0; i < B; ++i) {
    no_loads_ahead();
    double sum = 0;
#pragma unroll
    for (int k = 0; k < B; ++k) sum += magnitude(load_lower<B>(memory.tiles, i, k));
    norms.inverse = max(norms.inverse, sum_of_row(sum));
    norms.residual = max(norms.residual, sum_of_row(memory.residual[i][threadIdx.x]));
  }
  return norms;
}

/// Returns the largest norms over all rows. The whole warp calls.
__device__ __forceinline__ InverseNorms over_rows(const InverseNorms& norms) {
  InverseNorms largest = norms;
#pragma unroll
  for (int step = 4; step < warp_lanes; step *= 2)
    largest = larger(largest, {__shfl_xor_sync(whole_warp, largest.residual, step),
                               __shfl_xor_sync(whole_warp, largest.matrix, step),
                               __shfl_xor_sync(whole_warp, largest.inverse, step)});
  return largest;
}

/// Returns the norms for the inverse in shared memory. The whole warp calls.
template <Reading how, int B, class T>
__device__ __forceinline__ InverseNorms norms_of(const Arguments<T>& args, std::int64_t system,
                                                 const InverseMemory<B>& memory, const Factors& factors) {
  return over_rows(row_norms<how, B>(
      args, system, [&](int i, int j) __attribute__((always_inline)) { return load_tile<B>(memory, i, j); }, factors));
}

/// Returns the mark of a solved system with this backward error of its inverse.
template <class T>
__device__ Mark mark_of(const Arguments<T>& args, T error) {
  return args.resolve_above >= 0 && !(error <= args.resolve_above) ? Mark::unsettled : Mark::settled;
}

/// Stores the backward error and rcond of an inverse (NaN if the system failed), and its mark. With args.resolve_above,
/// a system with a bad pivot is marked unsettled, and L D L^T decides whether it fails. One lane calls.
template <class T>
__device__ __forceinline__ void tell(const Arguments<T>& args, std::int64_t system, std::int32_t status, bool differs,
                                     const InverseNorms& norms, const Factors& factors) {
  T error = not_a_number<T>(), rcond = error;
  if (status == 0) {
    error = norms.residual == 0 ? T(0) : static_cast<T>(norms.residual / (norms.matrix * norms.inverse));
    rcond = static_cast<T>(scale(1 / norms.matrix / norms.inverse, factors.a_exponent + factors.x_exponent));
  }
  if (args.to.backward_error != nullptr) args.to.backward_error[system] = error;
  if (args.to.rcond != nullptr) args.to.rcond[system] = rcond;
  args.marks[system] = status == 0                             ? (differs ? Mark::as_stored : mark_of(args, error))
                       : status > 0 && args.resolve_above >= 0 ? Mark::unsettled
                                                               : Mark::settled;
}

/// Returns whether the norms of the inverses are needed.
template <class T>
__device__ __forceinline__ bool is_judged(const Arguments<T>& args) {
  return args.to.backward_error != nullptr || args.to.rcond != nullptr || args.resolve_above >= 0;
}

/// Stores X from shared memory, or NaN if the system is not `solved`. The whole warp calls.
template <bool Whole, int B, class T>
__device__ __forceinline__ void store_inverse(const Arguments<T>& args, std::int64_t system, bool solved,
                                              const InverseMemory<B>& memory) {
  const int row = fragment_row(), column = fragment_column(), n = Whole ? tile_rows * B : args.n;
  T* const x = args.to.x + system * args.to.x_stride;
  const bool pairs = Whole || in_pairs(args.to.x, args.to.x_stride, n);
  unrolled<B>([&](auto outer) __attribute__((always_inline)) {
    if (B > 4) no_loads_ahead();
    unrolled<B>([&](auto inner) __attribute__((always_inline)) {
      constexpr int i = outer, j = inner;
      const Fragment tile = load_tile<B>(memory, i, j);
      const int r = tile_rows * i + (Whole ? row : fresh(row)), c = tile_rows * j + (Whole ? column : fresh(column));
      Vector<T, 2> out;
#pragma unroll
      for (int h = 0; h < 2; ++h) out.value[h] = solved ? static_cast<T>(tile.value[h]) : not_a_number<T>();
      if (pairs) {
        if (r < n && c < n) *reinterpret_cast<Vector<T, 2>*>(x + r * n + c) = out;
      } else {
#pragma unroll
        for (int h = 0; h < 2; ++h)
          if (r < n && c + h < n) x[r * n + c + h] = out.value[h];
      }
    });
  });
}

}  // namespace

}  // namespace smallbatch
