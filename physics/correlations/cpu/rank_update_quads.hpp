// Correlation of integers by AVX-512 VNNI. One instruction adds four products of bytes to each of 16 sums, without
// saturation of intermediate results. The rules for including rank_update_body.hpp hold here too.
//
// The four products belong to two times of one input. The bytes (a, b, a', b') of row i with (c, d, c', d') of column j
// give ac + bd + a'c' + b'd', a real part. With (-d, c, -d', c') they give the imaginary part.
//
// The instruction takes one operand, here the columns, as unsigned bytes. So columns are stored with offsets, as (c +
// 128, d + 128) and (127 - d, c + 128). (128 - d would not fit a byte if d is -128.) In every column, the offsets add
// 128 sum (a + b) to the real part, and sum (127 a + 128 b) to the imaginary part. These amounts are subtracted at the
// end.
#pragma once

#include <immintrin.h>

#include "physics/correlations/cpu/rank_update_body.hpp"

namespace smallbatch {
namespace {

/// Samples as bytes, in panels: (panels, pairs of times, 3, lanes). The three are a row's four bytes and a column's
/// four bytes in the two forms above.
struct QuadPanels : Inputs {
  using Sum = std::int32_t;
  static constexpr int rows = 8, lanes = 16;
  static constexpr std::int64_t most_times = times_per_integer_sum;
  using Integers = Vector<std::int32_t, lanes>;
  std::int32_t* samples;
  alignas(64) std::int32_t added[2][inputs_per_call];  // amounts added to the real and imaginary parts of a row's sums

  QuadPanels(AlignedVector<std::byte>& memory, std::int64_t first_input, std::int64_t inputs)
      : Inputs{first_input, inputs, {}, false}, samples(reinterpret_cast<std::int32_t*>(memory.data())) {}

  void pack(const RankUpdate& call, std::int64_t first_time, std::int64_t times) {
    const std::int64_t pairs = (times + 1) / 2;
    for_type(call, flagged, [&]<SampleType type, bool with_flags>() {
      if constexpr (type != SampleType::complex_float32)
        for (std::int64_t i = 0; i < count; i += lanes) {
          std::int32_t* to = samples + i * pairs * 3;
          Integers sum_a{}, sum_b{};
          for (std::int64_t t = 0; t < times; t += 2, to += 3 * lanes) {
            LaneSamples<type, lanes> panel;
            panel.template find<with_flags>(call, (first_time + t) * call.inputs + first + i, count - i);
            Integers row = panel.byte_pairs();
            if (t + 1 < times) {
              panel.template find<with_flags>(call, (first_time + t + 1) * call.inputs + first + i, count - i);
              row |= panel.byte_pairs() << 16;
            }
            constexpr std::int32_t lower = 0x00ff00ff;  // selects the lower of the two bytes of each sample
            const Integers turned = (row >> 8 & lower) | (row & lower) << 8;
            sum_a = plus_products(sum_a, Integers{} + 0x00010001, row);
            sum_b = plus_products(sum_b, Integers{} + 0x01000100, row);
            store(to, row);
            store(to + lanes, row ^ static_cast<std::int32_t>(0x80808080));
            store(to + 2 * lanes, turned ^ static_cast<std::int32_t>(0x807f807f));
          }
          store(added[0] + i, 128 * (sum_a + sum_b));
          store(added[1] + i, 127 * sum_a + 128 * sum_b);
        }
    });
  }

  template <int wanted>
  static void multiply(const QuadPanels& of_rows, std::int64_t r, const QuadPanels& of_columns, std::int64_t k,
                       std::int64_t times, Tile<std::int32_t, rows, lanes>& tile) {
    const std::int64_t pairs = (times + 1) / 2;
    const std::int32_t* row = of_rows.samples + r / lanes * lanes * pairs * 3 + r % lanes;
    const std::int32_t* column = of_columns.samples + k * pairs * 3;
    Integers re[wanted], im[wanted];
    for (int n = 0; n < wanted; ++n) {
      re[n] = Integers{} - of_rows.added[0][r + n];
      im[n] = Integers{} - of_rows.added[1][r + n];
    }
    for (std::int64_t pair = 0; pair < pairs; ++pair, row += 3 * lanes, column += 3 * lanes) {
      const auto c = load<Integers>(column + lanes), turned = load<Integers>(column + 2 * lanes);
#pragma GCC unroll 16
      for (int n = 0; n < wanted; ++n) {
        const Integers a = Integers{} + row[n];
        re[n] = plus_products(re[n], c, a);
        im[n] = plus_products(im[n], turned, a);
      }
    }
    for (int n = 0; n < wanted; ++n) {
      store(tile.sum[n][0], re[n]);
      store(tile.sum[n][1], im[n]);
    }
  }

 private:
  // The sums are vectors of int32, as the instruction needs them. With another type, GCC 12 copies each sum in each
  // step.
  static Integers plus_products(Integers sum, Integers without_sign, Integers with_sign) {
    return reinterpret_cast<Integers>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(without_sign), reinterpret_cast<__m512i>(with_sign)));
  }
};

}  // namespace
}  // namespace smallbatch
