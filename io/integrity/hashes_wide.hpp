// XXH3 with the vectors that every processor has, and with wider ones, built for x86-64 alone: io/integrity/hashes.cpp
// chooses. A hash that was begun with some vectors may go on with others. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smallbatch {

/// What takes long of hashing; to the bit the same with any vectors.
struct HashFunctions {
  std::uint64_t (*of_64)(const void* bytes, std::size_t count);
  /// Add bytes to an XXH3_state_t.
  void (*add_to_64)(void* state, const void* bytes, std::size_t count);
  void (*add_to_128)(void* state, const void* bytes, std::size_t count);
};

extern const HashFunctions hashes_baseline, hashes_avx2, hashes_avx512;

}  // namespace smallbatch
