#include "app/verification/piece_sums.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/grid_stride.hpp"
#include "core/parallel.hpp"
#include "physics/correlation.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t together = 1 << 16;  // numbers that a thread takes at a time

/// Adds the numbers of a piece to the totals. With the last piece, the totals replace the numbers of the piece.
template <class Part, class Total>
void add_parts(AlignedVector<Total>& totals, Part* parts, std::int64_t count, bool is_first, bool is_last,
               unsigned threads) {
  totals.resize(static_cast<std::size_t>(count));
  for_each_index_on_threads(count, together, threads, [&](std::int64_t k) {
    Total& total = totals[static_cast<std::size_t>(k)];
    total = (is_first ? Total{0} : total) + static_cast<Total>(parts[k]);
    if (is_last) parts[k] = static_cast<Part>(total);
  });
}

}  // namespace

bool is_piece(const SignalBlock& block, const CorrelationSet& set) {
  return block.first_time % set.integrate != 0 || !ends_integration(block, set);
}

bool ends_integration(const SignalBlock& block, const CorrelationSet& set) {
  const std::int64_t end = block.first_time + block.times;
  return end == set.times || end % set.integrate == 0;
}

void PieceSums::add(const CorrelationSet& set, SignalBlock& block, unsigned threads) {
  const bool is_first = block.first_time % set.integrate == 0, is_last = ends_integration(block, set);
  const std::int64_t baselines = set.baselines(), count = block.channels * baselines;
  std::byte* const sums = block.visibility.data();
  add_parts(weight_, block.weight.data(), count, is_first, is_last, threads);
  if (block.sum == SumType::complex_int32)
    add_parts(integers_, reinterpret_cast<std::int32_t*>(sums), 2 * count, is_first, is_last, threads);
  if (block.sum == SumType::complex_int64)
    add_parts(integers_, reinterpret_cast<std::int64_t*>(sums), 2 * count, is_first, is_last, threads);
  if (block.sum != SumType::complex_float32) return;
  auto* const parts = reinterpret_cast<float*>(sums);
  add_parts(floats_, parts, 2 * count, is_first, is_last, threads);
  if (!is_last) return;
  for (std::int64_t c = 0; c < block.channels; ++c) {
    std::int32_t& info = block.info[static_cast<std::size_t>(c)];
    if (info != 0) continue;
    std::atomic<bool> is_beyond = false;
    parallel_for(2 * baselines, together, threads, [&](std::int64_t first, std::int64_t last) {
      bool found = false;
      for (std::int64_t k = first; k < last; ++k) found |= !std::isfinite(parts[2 * c * baselines + k]);
      if (found) is_beyond = true;
    });
    // If an earlier piece had a bad sample, CorrelationTally::count() keeps the info of that piece.
    if (is_beyond) info = info_visibility_out_of_range;
  }
}

void take_means(SignalBlock& block, unsigned threads) {
  const auto count = static_cast<std::int64_t>(block.weight.size());
  const std::int64_t bytes = bytes_of(block.sum), bytes_of_mean = bytes_of(SumType::complex_float32);
  std::byte* const values = block.visibility.data();
  // Means are narrower than int64 sums, so a thread would overwrite sums that another thread still needs. One thread
  // therefore takes all means, in order.
  const std::int64_t grain = bytes == bytes_of_mean ? together : std::max<std::int64_t>(1, count);
  parallel_for(count, grain, threads, [&](std::int64_t first, std::int64_t last) {
    means_of(block.sum, values + first * bytes, block.weight.data() + first, last - first,
             reinterpret_cast<float*>(values + first * bytes_of_mean));
  });
  block.sum = SumType::complex_float32;
}

}  // namespace smallbatch
