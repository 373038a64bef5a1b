// Visibilities of integrations that come in pieces, because one of them is larger than a block.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/signals.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Whether the block has some times of an integration rather than whole ones, and whether its last time is that of an
/// integration.
bool is_piece(const SignalBlock& block, const CorrelationSet& set);
bool ends_integration(const SignalBlock& block, const CorrelationSet& set);

/// Adds pieces up, one after the other in the order of time: integers in int64, exactly, float32 in double precision.
class PieceSums {
 public:
  /// Adds the sums of a block that is a piece. With the last piece of an integration its sums and weights become those
  /// of all, and its info says where they leave the range of float32.
  void add(const CorrelationSet& set, SignalBlock& block, unsigned threads);

 private:
  AlignedVector<std::int64_t> integers_;  // (channels, baselines, 2), as the pieces have them; one of the two
  AlignedVector<double> floats_;
  AlignedVector<std::int32_t> weight_;  // (channels, baselines)
};

/// Makes means of a block's sums, in their place.
void take_means(SignalBlock& block, unsigned threads);

}  // namespace smallbatch
