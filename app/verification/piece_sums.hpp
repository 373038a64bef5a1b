// Visibilities of integrations that come in pieces, because one integration is larger than a block.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Returns whether the block has only some of the times of an integration, and no whole integration.
bool is_piece(const SignalBlock& block, const CorrelationSet& set);
/// Returns whether the block's last time is the last time of an integration.
bool ends_integration(const SignalBlock& block, const CorrelationSet& set);

/// Adds up pieces in the order of time. Integers are added exactly, in int64, and float32 in double precision.
class PieceSums {
 public:
  /// Adds the sums of a block that is a piece. After the last piece, the block holds the sums and weights of the whole
  /// integration. Its info then says whether sums are beyond the range of float32.
  void add(const CorrelationSet& set, SignalBlock& block, unsigned threads);

 private:
  AlignedVector<std::int64_t> integers_;  // totals (channels, baselines, 2) of integer samples
  AlignedVector<double> floats_;          // totals (channels, baselines, 2) of float32 samples
  AlignedVector<std::int32_t> weight_;    // (channels, baselines)
};

/// Replaces a block's sums by means, in place.
void take_means(SignalBlock& block, unsigned threads);

}  // namespace smallbatch
