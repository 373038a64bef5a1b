// The body of correlation's inner loops, written once and compiled per instruction set. Include it in
// rank_update_<set>.cpp only, after that set's `#pragma GCC target`, and before that every header from elsewhere.
//
// With x_i = a + ib and x_j = c + id, V_ij = sum (ac + bd) + i (bc - ad): four multiply-adds. Inputs are packed into
// panels, one input per lane, real and imaginary parts apart, and a tile of V, some rows i by a panel of j, stays in
// registers while the times pass: two vectors are loaded per time, and two numbers per row. Tiles above the diagonal
// are left out. Samples that are flagged, and inputs that are not there, are packed as 0.
//
// Integers go the same way and are exact: sums of times_per_sum products are integers that float has, and their totals
// (fewer than 2^31 samples, of at most 2^15 each) integers that double has.
//
// Everything here has internal linkage: an inline function with external linkage compiled with AVX-512 could be the
// copy that the linker keeps for the whole program.
//
// A Lanes type names the set's vector of floats (a GCC vector type, so that + - * work) and how many rows a tile has,
// which divide a panel.
#pragma once

#include <type_traits>

#include "physics/cpu/rank_update.hpp"

namespace smallbatch {
namespace {

template <class Lanes>
inline constexpr int lanes_of = sizeof(typename Lanes::Float) / sizeof(float);

/// Vectors of `lanes` numbers.
template <class T, int lanes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * lanes)));
};
template <class T, int lanes>
using Vector = typename VectorOf<T, lanes>::Type;

template <class V, class T>
V load(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}

/// Sums of a tile: real and imaginary parts of each row.
template <class Lanes, class T>
struct Tile {
  alignas(64) T sum[Lanes::rows][2][lanes_of<Lanes>];
};

/// `rows` rows, whose numbers begin at `row` in their panel.
template <class Lanes, int rows>
void multiply(const float* row, const float* column, std::int64_t times, Tile<Lanes, float>& tile) {
  using Float = typename Lanes::Float;
  constexpr int lanes = lanes_of<Lanes>;
  Float re[rows]{}, im[rows]{};
  for (std::int64_t t = 0; t < times; ++t, row += 2 * lanes, column += 2 * lanes) {
    const Float c = load<Float>(column), d = load<Float>(column + lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      re[r] += row[r] * c;
      im[r] += row[lanes + r] * c;
      re[r] += row[lanes + r] * d;
      im[r] -= row[r] * d;
    }
  }
  for (int r = 0; r < rows; ++r) {
    __builtin_memcpy(tile.sum[r][0], &re[r], sizeof(Float));
    __builtin_memcpy(tile.sum[r][1], &im[r], sizeof(Float));
  }
}

/// The same for the last of the inputs, of which there may be fewer.
template <class Lanes, int rows = Lanes::rows>
[[gnu::always_inline]] inline void multiply_rows(std::int64_t wanted, const float* row, const float* column,
                                                 std::int64_t times, Tile<Lanes, float>& tile) {
  if constexpr (rows > 1)
    if (wanted < rows) return multiply_rows<Lanes, rows - 1>(wanted, row, column, times, tile);
  multiply<Lanes, rows>(row, column, times, tile);
}

/// A panel's samples of one time, parts apart. Of integers the first byte, or half of one, is a number's lowest.
template <class Lanes, SampleType type>
[[gnu::always_inline]] inline void load_parts(const std::byte* from, typename Lanes::Float& re,
                                              typename Lanes::Float& im) {
  using Float = typename Lanes::Float;
  constexpr int lanes = lanes_of<Lanes>;
  using Integers = Vector<std::int32_t, lanes>;
  if constexpr (type == SampleType::complex_float32) {
    const Float first = load<Float>(from), second = load<Float>(from + sizeof(Float));
    Integers even{};
    for (int lane = 0; lane < lanes; ++lane) even[lane] = 2 * lane;
    re = __builtin_shuffle(first, second, even);
    im = __builtin_shuffle(first, second, even + 1);
  } else {
    constexpr int width = type == SampleType::complex_int8 ? 8 : 4;
    using Packed = std::conditional_t<width == 8, std::int16_t, std::int8_t>;
    const Integers both = __builtin_convertvector(load<Vector<Packed, lanes>>(from), Integers);
    const Integers high = both >> width, low = (both << (32 - width)) >> (32 - width);
    re = __builtin_convertvector(width == 8 ? low : high, Float);
    im = __builtin_convertvector(width == 8 ? high : low, Float);
  }
}

/// Some times of up to inputs_per_call inputs in panels, (panels, times, 2, lanes), and which times count, a bit each.
template <class Lanes>
struct Panels {
  static constexpr int lanes = lanes_of<Lanes>;
  static constexpr int words = times_per_sum / 64;
  float* samples;
  std::int64_t first, count;  // inputs
  std::uint64_t counts[words][inputs_per_call];
  bool flagged;  // any of them

  template <SampleType type, bool with_flags>
  void pack(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    using Float = typename Lanes::Float;
    using Integers = Vector<std::int32_t, lanes>;
    constexpr std::int64_t bytes = bytes_of(type);
    Integers lane_numbers{};
    for (int lane = 0; lane < lanes; ++lane) lane_numbers[lane] = lane;
    const std::int64_t samples_of_call = call.times * call.inputs;
    for (std::int64_t t = 0; t < times; ++t)
      for (std::int64_t i = 0; i < count; i += lanes) {
        const std::int64_t sample = (first_time + t) * call.inputs + first + i;
        const auto* from = static_cast<const std::byte*>(call.signal) + sample * bytes;
        const std::uint8_t* flag = with_flags ? call.flag + sample : nullptr;
        // What lies behind the last input is left out below, but has to be there.
        std::byte copied[lanes * bytes];
        std::uint8_t copied_flag[lanes];
        if (sample + lanes > samples_of_call) {
          const auto left = static_cast<std::size_t>(samples_of_call - sample);
          __builtin_memcpy(copied, from, left * bytes);
          from = copied;
          if constexpr (with_flags) {
            __builtin_memcpy(copied_flag, flag, left);
            flag = copied_flag;
          }
        }
        Float re, im;
        load_parts<Lanes, type>(from, re, im);
        Integers in = lane_numbers < static_cast<std::int32_t>(count - i);
        if constexpr (with_flags) in &= __builtin_convertvector(load<Vector<std::uint8_t, lanes>>(flag), Integers) == 0;
        if (with_flags || count - i < lanes) {
          re = reinterpret_cast<Float>(reinterpret_cast<Integers>(re) & in);
          im = reinterpret_cast<Float>(reinterpret_cast<Integers>(im) & in);
        }
        float* const to = samples + (i * times + t * lanes) * 2;
        __builtin_memcpy(to, &re, sizeof(re));
        __builtin_memcpy(to + lanes, &im, sizeof(im));
      }
  }

  /// Sets `flagged` and `counts`.
  void look_at_flags(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    for (int word = 0; word < words; ++word) {
      const std::int64_t bits = times - 64 * word;
      const std::uint64_t all = bits >= 64 ? ~0ULL : bits <= 0 ? 0 : (1ULL << bits) - 1;
      for (std::int64_t i = 0; i < count; ++i) counts[word][i] = all;
    }
    flagged = false;
    if (call.flag == nullptr) return;
    const std::uint8_t* const flag = call.flag + first_time * call.inputs + first;
    // Of all inputs together where these are all.
    const std::int64_t run = count == call.inputs ? count * times : count, runs = count == call.inputs ? 1 : times;
    std::uint8_t any = 0;
    for (std::int64_t t = 0; t < runs; ++t)
      for (std::int64_t i = 0; i < run; ++i) any |= flag[t * call.inputs + i];
    flagged = any != 0;
    if (!flagged) return;
    for (std::int64_t t = 0; t < times; ++t)
      for (std::int64_t i = 0; i < count; ++i)
        counts[t / 64][i] &= ~(static_cast<std::uint64_t>(flag[t * call.inputs + i] != 0) << (t % 64));
  }

  void pack(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    look_at_flags(call, first_time, times);
    const auto pack_type = [&]<SampleType type>() {
      if (flagged)
        pack<type, true>(call, first_time, times);
      else
        pack<type, false>(call, first_time, times);
    };
    switch (call.type) {
      case SampleType::complex_float32:
        return pack_type.template operator()<SampleType::complex_float32>();
      case SampleType::complex_int8:
        return pack_type.template operator()<SampleType::complex_int8>();
      case SampleType::complex_int4:
        return pack_type.template operator()<SampleType::complex_int4>();
    }
  }

  /// Where the numbers of input `first` + i begin.
  [[nodiscard]] const float* at(std::int64_t i, std::int64_t times) const {
    return samples + i / lanes * lanes * times * 2 + i % lanes;
  }
};

/// The baselines (i, j), (i, j + 1) .. (i, j + count - 1), at most a panel. Says whether they are finite.
template <class Out, class T, int lanes>
bool store(const T (&sum)[2][lanes], std::int64_t i, std::int64_t j, std::int64_t count, void* visibility) {
  constexpr bool is_float = Out(0.5) != 0;
  constexpr float largest = 0x1.fffffep127F;
  Out parts[lanes][2];
  for (int lane = 0; lane < lanes; ++lane) {
    parts[lane][0] = static_cast<Out>(sum[0][lane]);
    parts[lane][1] = static_cast<Out>(sum[1][lane]);
  }
  if (j + count - 1 == i) parts[count - 1][1] = 0;
  bool finite = true;
  if constexpr (is_float)
    for (int lane = 0; lane < count; ++lane)
      finite &= __builtin_fabsf(parts[lane][0]) <= largest && __builtin_fabsf(parts[lane][1]) <= largest;
  __builtin_memcpy(static_cast<Out*>(visibility) + 2 * baseline_of(i, j), parts,
                   static_cast<std::size_t>(count) * sizeof(parts[0]));
  return finite;
}

/// Rows i .. i + rows - 1 of a tile whose panel begins with j.
template <class Lanes, class T>
bool store_tile(const RankUpdate& call, const Tile<Lanes, T>& tile, std::int64_t i, std::int64_t rows, std::int64_t j) {
  bool finite = true;
  for (std::int64_t r = j > i ? j - i : 0; r < rows; ++r) {
    const std::int64_t on_or_below = i + r - j + 1;
    const std::int64_t count = on_or_below < lanes_of<Lanes> ? on_or_below : lanes_of<Lanes>;
    switch (call.sum) {
      case SumType::complex_float32:
        finite &= store<float>(tile.sum[r], i + r, j, count, call.visibility);
        break;
      case SumType::complex_int32:
        store<std::int32_t>(tile.sum[r], i + r, j, count, call.visibility);
        break;
      case SumType::complex_int64:
        store<std::int64_t>(tile.sum[r], i + r, j, count, call.visibility);
        break;
    }
  }
  return finite;
}

/// Adds the samples that count of `times` times to the weights.
template <class Lanes>
void add_weights(const RankUpdate& call, const Panels<Lanes>& rows, const Panels<Lanes>& columns, std::int64_t times,
                 bool is_first) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t i = rows.first + r;
    const std::int64_t count = i - columns.first + 1 < columns.count ? i - columns.first + 1 : columns.count;
    std::int32_t* const weight = call.weight + baseline_of(i, columns.first);
    if (is_first)
      for (std::int64_t k = 0; k < count; ++k) weight[k] = 0;
    if (!rows.flagged && !columns.flagged) {
      for (std::int64_t k = 0; k < count; ++k) weight[k] += static_cast<std::int32_t>(times);
      continue;
    }
    for (int word = 0; word < Panels<Lanes>::words; ++word) {
      const std::uint64_t row = rows.counts[word][r];
      if (row == 0) continue;
      for (std::int64_t k = 0; k < count; ++k)
        weight[k] += static_cast<std::int32_t>(__builtin_popcountll(row & columns.counts[word][k]));
    }
  }
}

template <class Lanes>
bool update(const RankUpdate& call, RankUpdateMemory& memory) {
  constexpr int lanes = lanes_of<Lanes>;
  static_assert(lanes % Lanes::rows == 0 && inputs_per_call % lanes == 0);
  const auto inputs_from = [&](std::int64_t first) {
    return call.inputs - first < inputs_per_call ? call.inputs - first : inputs_per_call;
  };
  const bool on_diagonal = call.first_i == call.first_j;
  Panels<Lanes> columns{memory.samples.data(), call.first_j, inputs_from(call.first_j), {}, false};
  Panels<Lanes> others{
      memory.samples.data() + 2 * inputs_per_call * times_per_sum, call.first_i, inputs_from(call.first_i), {}, false};
  const Panels<Lanes>& rows = on_diagonal ? columns : others;
  bool finite = true;
  for (std::int64_t first_time = 0; first_time < call.times; first_time += times_per_sum) {
    const std::int64_t left = call.times - first_time, times = left < times_per_sum ? left : times_per_sum;
    const bool is_first = first_time == 0, is_last = left == times;
    columns.pack(call, first_time, times);
    if (!on_diagonal) others.pack(call, first_time, times);
    if (call.weight != nullptr) add_weights(call, rows, columns, times, is_first);
    auto* total = reinterpret_cast<Tile<Lanes, double>*>(memory.totals.data());
    for (std::int64_t k = 0; k < columns.count; k += lanes)
      for (std::int64_t r = on_diagonal ? k : 0; r < rows.count; r += Lanes::rows, ++total) {
        const std::int64_t rows_left = rows.count - r, rows_here = rows_left < Lanes::rows ? rows_left : Lanes::rows;
        Tile<Lanes, float> tile;
        multiply_rows<Lanes>(rows_here, rows.at(r, times), columns.at(k, times), times, tile);
        if (is_first && is_last) {
          finite &= store_tile(call, tile, rows.first + r, rows_here, columns.first + k);
          continue;
        }
        for (std::int64_t row = 0; row < rows_here; ++row)
          for (int part = 0; part < 2; ++part)
            for (int lane = 0; lane < lanes; ++lane) {
              const double before = is_first ? 0 : total->sum[row][part][lane];
              total->sum[row][part][lane] = before + static_cast<double>(tile.sum[row][part][lane]);
            }
        if (is_last) finite &= store_tile(call, *total, rows.first + r, rows_here, columns.first + k);
      }
  }
  return finite;
}

}  // namespace
}  // namespace smallbatch
