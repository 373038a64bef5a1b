// XXH3 for several widths of vector registers. The versions for AVX2 and AVX-512 are built for x86-64 alone.
// io/integrity/hashes.cpp chooses a version. A hash may begin with one width and continue with another. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smallbatch {

/// The functions that take most of the time of hashing. All widths give the same hashes.
struct HashFunctions {
  std::uint64_t (*of_64)(const void* bytes, std::size_t count);
  /// Add bytes to an XXH3_state_t.
  void (*add_to_64)(void* state, const void* bytes, std::size_t count);
  void (*add_to_128)(void* state, const void* bytes, std::size_t count);
};

extern const HashFunctions hashes_baseline, hashes_avx2, hashes_avx512;

}  // namespace smallbatch
