// Correlation in single precision. The rules for including rank_update_body.hpp hold here too.
//
// Let x_i = a + ib and x_j = c + id. Then V_ij = sum (ac + bd) + i (bc - ad): four multiply-adds. Real and imaginary
// parts are packed separately. A tile therefore loads two vectors per time, and two numbers per row.
//
// Integers are exact in this way too. A sum of times_per_float_sum products, of at most 2^15 each, is an integer that a
// float holds. A total has fewer than 2^31 samples and is an integer that a double holds.
//
// A Lanes type names the instruction set's vector of floats (a GCC vector type, so + - * work) and the number of rows
// of a tile. This number of rows divides the number of lanes.
#pragma once

#include "physics/correlations/cpu/rank_update_body.hpp"

namespace smallbatch {
namespace {

/// Samples as floats, in panels: (panels, times, 2, lanes).
template <class Lanes>
struct FloatPanels : Inputs {
  using Float = typename Lanes::Float;
  using Sum = float;
  static constexpr int rows = Lanes::rows, lanes = sizeof(Float) / sizeof(float);
  static constexpr std::int64_t most_times = times_per_float_sum;
  float* samples;

  FloatPanels(AlignedVector<std::byte>& memory, std::int64_t first_input, std::int64_t inputs)
      : Inputs{first_input, inputs, {}, false}, samples(reinterpret_cast<float*>(memory.data())) {}

  void pack(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    for_type(call, flagged, [&]<SampleType type, bool with_flags>() {
      for (std::int64_t t = 0; t < times; ++t)
        for (std::int64_t i = 0; i < count; i += lanes) {
          LaneSamples<type, lanes> panel;
          panel.template find<with_flags>(call, (first_time + t) * call.inputs + first + i, count - i);
          Float re, im;
          panel.floats(re, im);
          float* const to = samples + (i * times + t * lanes) * 2;
          store(to, re);
          store(to + lanes, im);
        }
    });
  }

  /// Multiplies rows r .. r + wanted - 1 with the panel of columns that begins with column k.
  template <int wanted>
  static void multiply(const FloatPanels& of_rows, std::int64_t r, const FloatPanels& of_columns, std::int64_t k,
                       std::int64_t times, Tile<float, rows, lanes>& tile) {
    const float* row = of_rows.samples + r / lanes * lanes * times * 2 + r % lanes;
    const float* column = of_columns.samples + k * times * 2;
    Float re[wanted]{}, im[wanted]{};
    for (std::int64_t t = 0; t < times; ++t, row += 2 * lanes, column += 2 * lanes) {
      const Float c = load<Float>(column), d = load<Float>(column + lanes);
#pragma GCC unroll 16
      for (int n = 0; n < wanted; ++n) {
        re[n] += row[n] * c;
        im[n] += row[lanes + n] * c;
        re[n] += row[lanes + n] * d;
        im[n] -= row[n] * d;
      }
    }
    for (int n = 0; n < wanted; ++n) {
      store(tile.sum[n][0], re[n]);
      store(tile.sum[n][1], im[n]);
    }
  }
};

/// Samples of few inputs, up to `most`, which is a power of two and at most half the lanes. A vector holds several
/// times: (steps, 2, times of a step, most). The sums of these times are added at the end.
template <class Lanes, int most>
struct FoldedPanels : Inputs {
  using Float = typename Lanes::Float;
  using Sum = float;
  static constexpr int rows = most, lanes = sizeof(Float) / sizeof(float), fold = lanes / most;
  static constexpr std::int64_t most_times = times_per_float_sum;
  using Integers = Vector<std::int32_t, lanes>;
  float* samples;

  FoldedPanels(AlignedVector<std::byte>& memory, std::int64_t first_input, std::int64_t inputs)
      : Inputs{first_input, inputs, {}, false}, samples(reinterpret_cast<float*>(memory.data())) {}

  void pack(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    const Integers input = lane_numbers<lanes>() % most, is_there = input < static_cast<std::int32_t>(count);
    const Integers lane = lane_numbers<lanes>() / most * static_cast<std::int32_t>(count) + input;
    const auto spread = [&](Float v) {
      return reinterpret_cast<Float>(reinterpret_cast<Integers>(__builtin_shuffle(v, lane)) & is_there);
    };
    for_type(call, flagged, [&]<SampleType type, bool with_flags>() {
      float* to = samples;
      for (std::int64_t t = 0; t < times; t += fold, to += 2 * lanes) {
        const std::int64_t times_here = times - t < fold ? times - t : fold;
        LaneSamples<type, lanes> step;
        step.template find<with_flags>(call, (first_time + t) * count, times_here * count);
        Float re, im;
        step.floats(re, im);
        store(to, count == most ? re : spread(re));
        store(to + lanes, count == most ? im : spread(im));
      }
    });
  }

  template <int wanted>
  static void multiply(const FoldedPanels& inputs, std::int64_t, const FoldedPanels&, std::int64_t, std::int64_t times,
                       Tile<float, rows, lanes>& tile) {
    const Integers first_of_time = lane_numbers<lanes>() / most * most;
    Float re[wanted]{}, im[wanted]{};
    const float* from = inputs.samples;
    for (std::int64_t t = 0; t < times; t += fold, from += 2 * lanes) {
      const Float c = load<Float>(from), d = load<Float>(from + lanes);
#pragma GCC unroll 16
      for (int n = 0; n < wanted; ++n) {
        const Float a = __builtin_shuffle(c, first_of_time + n), b = __builtin_shuffle(d, first_of_time + n);
        re[n] += a * c;
        im[n] += b * c;
        re[n] += b * d;
        im[n] -= a * d;
      }
    }
    for (int n = 0; n < wanted; ++n) {
      for (int half = lanes / 2; half >= most; half /= 2) {
        re[n] += __builtin_shuffle(re[n], lane_numbers<lanes>() ^ half);
        im[n] += __builtin_shuffle(im[n], lane_numbers<lanes>() ^ half);
      }
      store(tile.sum[n][0], re[n]);
      store(tile.sum[n][1], im[n]);
    }
  }
};

/// Whether one vector holds several times.
template <class Lanes>
bool is_folded(const RankUpdate& call) {
  return 2 * call.inputs <= FloatPanels<Lanes>::lanes;
}

template <class Lanes, int most = 1>
bool update_by_floats(const RankUpdate& call, RankUpdateMemory& memory) {
  if constexpr (2 * most <= FloatPanels<Lanes>::lanes) {
    if (call.inputs <= most) return update<FoldedPanels<Lanes, most>>(call, memory);
    return update_by_floats<Lanes, 2 * most>(call, memory);
  } else {
    return update<FloatPanels<Lanes>>(call, memory);
  }
}

}  // namespace
}  // namespace smallbatch
