// The parts that all inner loops of correlation share, written once and compiled per instruction set. Only
// rank_update_<set>.cpp includes this file. That file must include all other headers first, then set `#pragma GCC
// target`, then include this body.
//
// A tile of V has some rows i and a panel of inputs j, one per lane. It is summed in registers over the times and then
// added to totals. Tiles above the diagonal are left out. Flagged samples and missing inputs are packed as 0.
//
// Types of panels (rank_update_floats.hpp, rank_update_quads.hpp) define how samples are packed and multiplied.
//
// Everything here has internal linkage. An inline function with external linkage, compiled with AVX-512, could be the
// copy that the linker keeps for the whole program.
#pragma once

#include <type_traits>

#include "physics/correlations/cpu/rank_update.hpp"

namespace smallbatch {
namespace {

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

template <class V, class T>
void store(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

template <int lanes>
Vector<std::int32_t, lanes> lane_numbers() {
  Vector<std::int32_t, lanes> numbers{};
  for (int lane = 0; lane < lanes; ++lane) numbers[lane] = lane;
  return numbers;
}

/// Sums of a tile: real and imaginary parts of each row.
template <class T, int rows, int lanes>
struct Tile {
  alignas(64) T sum[rows][2][lanes];
};

/// Up to inputs_per_call inputs of a call at some times. In `counts`, each input has one bit for each time, set if the
/// sample counts.
struct Inputs {
  static constexpr std::int64_t most_words = times_per_integer_sum / 64;
  std::int64_t first, count;
  std::uint64_t counts[most_words][inputs_per_call];
  bool flagged;  // whether any sample is flagged

  /// Sets `flagged` and `counts`.
  void read_flags(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    for (std::int64_t word = 0; 64 * word < times; ++word) {
      const std::int64_t bits = times - 64 * word;
      const std::uint64_t all = bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
      for (std::int64_t i = 0; i < count; ++i) counts[word][i] = all;
    }
    flagged = false;
    if (call.flag == nullptr) return;
    const std::uint8_t* const flag = call.flag + first_time * call.inputs + first;
    // If the signal has no other inputs, the flags of all times follow one another in memory.
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
};

/// Consecutive samples, one per lane.
template <SampleType type, int lanes>
struct LaneSamples {
  using Integers = Vector<std::int32_t, lanes>;
  static constexpr std::int64_t bytes = bytes_of(type);
  const std::byte* from;
  Integers in;  // mask of the samples that count: all bits, or none
  std::byte copied[lanes * bytes];

  /// Sets `from` and `in`. Lane 0 has the sample with index `first` in the call. Only the first `count` lanes have
  /// samples.
  template <bool with_flags>
  [[gnu::always_inline]] void find(const RankUpdate& call, std::int64_t first, std::int64_t count) {
    const std::int64_t left = call.times * call.inputs - first;
    from = static_cast<const std::byte*>(call.signal) + first * bytes;
    in = lane_numbers<lanes>() < static_cast<std::int32_t>(count);
    // A load of whole vectors would read past the call's last sample. So the last samples are copied.
    if (left < lanes) {
      __builtin_memcpy(copied, from, static_cast<std::size_t>(left * bytes));
      from = copied;
    }
    if constexpr (with_flags) {
      const std::uint8_t* flag = call.flag + first;
      std::uint8_t copied_flag[lanes];
      if (left < lanes) {
        __builtin_memcpy(copied_flag, flag, static_cast<std::size_t>(left));
        flag = copied_flag;
      }
      in &= __builtin_convertvector(load<Vector<std::uint8_t, lanes>>(flag), Integers) == 0;
    }
  }

  /// Unpacks integers. The real part of int8 is the lower byte. The real part of int4 is the upper half of the byte.
  [[gnu::always_inline]] void integers(Integers& re, Integers& im) const {
    constexpr int width = type == SampleType::complex_int8 ? 8 : 4;
    using Packed = std::conditional_t<width == 8, std::int16_t, std::int8_t>;
    const Integers both = __builtin_convertvector(load<Vector<Packed, lanes>>(from), Integers) & in;
    const Integers high = both >> width, low = (both << (32 - width)) >> (32 - width);
    re = width == 8 ? low : high;
    im = width == 8 ? high : low;
  }

  /// Returns both integers as two bytes, the real part lower.
  [[gnu::always_inline]] Integers byte_pairs() const {
    if constexpr (type == SampleType::complex_int8)
      return __builtin_convertvector(load<Vector<std::uint16_t, lanes>>(from), Integers) & in;
    Integers re, im;
    integers(re, im);
    return (re & 255) | (im & 255) << 8;
  }

  template <class Float>
  [[gnu::always_inline]] void floats(Float& re, Float& im) const {
    if constexpr (type == SampleType::complex_float32) {
      const Float first = load<Float>(from), second = load<Float>(from + sizeof(Float));
      const Integers even = 2 * lane_numbers<lanes>();
      re = reinterpret_cast<Float>(reinterpret_cast<Integers>(__builtin_shuffle(first, second, even)) & in);
      im = reinterpret_cast<Float>(reinterpret_cast<Integers>(__builtin_shuffle(first, second, even + 1)) & in);
    } else {
      Integers a, b;
      integers(a, b);
      re = __builtin_convertvector(a, Float);
      im = __builtin_convertvector(b, Float);
    }
  }
};

/// Calls pack.operator()<type, with_flags>() with the values of a call.
template <class Pack>
void for_type(const RankUpdate& call, bool with_flags, Pack&& pack) {
  const auto of = [&]<SampleType type>() {
    if (with_flags)
      pack.template operator()<type, true>();
    else
      pack.template operator()<type, false>();
  };
  switch (call.type) {
    case SampleType::complex_float32:
      return of.template operator()<SampleType::complex_float32>();
    case SampleType::complex_int8:
      return of.template operator()<SampleType::complex_int8>();
    case SampleType::complex_int4:
      return of.template operator()<SampleType::complex_int4>();
  }
}

/// Multiplies the first `wanted` rows of a tile. Only the last tiles have fewer than Panels::rows.
template <class Panels, int rows = Panels::rows, class TileOf>
[[gnu::always_inline]] inline void multiply_rows(std::int64_t wanted, const Panels& of_rows, std::int64_t r,
                                                 const Panels& of_columns, std::int64_t k, std::int64_t times,
                                                 TileOf& tile) {
  if constexpr (rows > 1)
    if (wanted < rows) return multiply_rows<Panels, rows - 1>(wanted, of_rows, r, of_columns, k, times, tile);
  Panels::template multiply<rows>(of_rows, r, of_columns, k, times, tile);
}

/// Stores the baselines (i, j), (i, j + 1) .. (i, j + count - 1), at most a panel. Returns whether they are finite.
template <class Out, class T, int lanes>
bool store_row(const T (&sum)[2][lanes], std::int64_t i, std::int64_t j, std::int64_t count, void* visibility) {
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

/// Stores rows i .. i + wanted - 1 of a tile. Its panel begins with j.
template <class T, int rows, int lanes>
bool store_tile(const RankUpdate& call, const Tile<T, rows, lanes>& tile, std::int64_t i, std::int64_t wanted,
                std::int64_t j) {
  bool finite = true;
  for (std::int64_t r = j > i ? j - i : 0; r < wanted; ++r) {
    const std::int64_t on_or_below = i + r - j + 1, count = on_or_below < lanes ? on_or_below : lanes;
    switch (call.sum) {
      case SumType::complex_float32:
        finite &= store_row<float>(tile.sum[r], i + r, j, count, call.visibility);
        break;
      case SumType::complex_int32:
        store_row<std::int32_t>(tile.sum[r], i + r, j, count, call.visibility);
        break;
      case SumType::complex_int64:
        store_row<std::int64_t>(tile.sum[r], i + r, j, count, call.visibility);
        break;
    }
  }
  return finite;
}

/// Adds to each weight the number of times, out of `times`, at which the samples of both inputs count.
void add_weights(const RankUpdate& call, const Inputs& rows, const Inputs& columns, std::int64_t times, bool is_first) {
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
    for (std::int64_t word = 0; 64 * word < times; ++word) {
      const std::uint64_t row = rows.counts[word][r];
      if (row == 0) continue;
      for (std::int64_t k = 0; k < count; ++k)
        weight[k] += static_cast<std::int32_t>(__builtin_popcountll(row & columns.counts[word][k]));
    }
  }
}

/// Fetches the samples of the next times into the cache, some cache lines before each tile. It does so only if the call
/// has all inputs of the signal and they fill several panels. Then these samples are consecutive in memory, and the
/// tiles take long enough to fetch them.
struct NextTimes {
  const std::byte *next, *end;
  std::int64_t bytes_per_tile;

  NextTimes(const RankUpdate& call, std::int64_t first_time, std::int64_t most_times, std::int64_t tiles) {
    const std::int64_t left = call.times - first_time, times = left < most_times ? left : most_times;
    const std::int64_t bytes_of_time = call.inputs * bytes_of(call.type);
    next = static_cast<const std::byte*>(call.signal) + first_time * bytes_of_time;
    end = next + (tiles > 0 ? times * bytes_of_time : 0);
    bytes_per_tile = tiles > 0 ? times * bytes_of_time / tiles + 1 : 0;
  }
  void fetch() {
    for (const std::byte* const stop = end - next < bytes_per_tile ? end : next + bytes_per_tile; next < stop;
         next += cache_line_bytes)
      __builtin_prefetch(next);
  }
};

template <class Panels>
bool update(const RankUpdate& call, RankUpdateMemory& memory) {
  constexpr int lanes = Panels::lanes, tile_rows = Panels::rows;
  static_assert(lanes % tile_rows == 0 && inputs_per_call % lanes == 0);
  const auto inputs_from = [&](std::int64_t first) {
    return call.inputs - first < inputs_per_call ? call.inputs - first : inputs_per_call;
  };
  const bool on_diagonal = call.first_i == call.first_j;
  Panels columns(memory.samples[0], call.first_j, inputs_from(call.first_j));
  Panels others(memory.samples[1], call.first_i, inputs_from(call.first_i));
  const Panels& rows = on_diagonal ? columns : others;
  const std::int64_t tiles_of_panel = (rows.count - 1) / tile_rows + 1, panels = (columns.count - 1) / lanes + 1;
  const std::int64_t tiles = (tiles_of_panel * panels + 1) / 2;  // on the diagonal, at least this many are computed
  bool finite = true;
  for (std::int64_t first_time = 0; first_time < call.times; first_time += Panels::most_times) {
    const std::int64_t left = call.times - first_time, times = left < Panels::most_times ? left : Panels::most_times;
    const bool is_first = first_time == 0, is_last = left == times;
    columns.read_flags(call, first_time, times);
    columns.pack(call, first_time, times);
    if (!on_diagonal) {
      others.read_flags(call, first_time, times);
      others.pack(call, first_time, times);
    }
    if (call.weight != nullptr) add_weights(call, rows, columns, times, is_first);
    const bool has_all_inputs = columns.count == call.inputs && columns.count > lanes;
    NextTimes next(call, first_time + times, Panels::most_times, has_all_inputs ? tiles : 0);
    auto* total = reinterpret_cast<Tile<double, tile_rows, lanes>*>(memory.totals.data());
    for (std::int64_t k = 0; k < columns.count; k += lanes)
      for (std::int64_t r = on_diagonal ? k : 0; r < rows.count; r += tile_rows, ++total) {
        const std::int64_t rows_left = rows.count - r, rows_here = rows_left < tile_rows ? rows_left : tile_rows;
        Tile<typename Panels::Sum, tile_rows, lanes> tile;
        next.fetch();
        multiply_rows<Panels>(rows_here, rows, r, columns, k, times, tile);
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
