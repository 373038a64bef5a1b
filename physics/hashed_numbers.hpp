// Random numbers that are hashes (splitmix64) of seed, problem, stream and index. They are the same in any order and in
// any split of a batch, because the generator has no state.
#pragma once

#include <cstdint>

namespace smallbatch {

/// Mixes all 64 bits: the finaliser of splitmix64 (Steele, Lea and Flood, 2014), a bijection.
constexpr std::uint64_t hash_bits(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// Random numbers of one stream of a problem.
class HashedStream {
 public:
  constexpr HashedStream(std::uint64_t seed, std::int64_t problem, std::uint64_t stream)
      : key_(hash_bits(hash_bits(hash_bits(seed) ^ static_cast<std::uint64_t>(problem)) ^ stream)) {}
  /// Returns 64 bits for the number `index`.
  [[nodiscard]] constexpr std::uint64_t bits(std::int64_t index) const {
    return hash_bits(key_ ^ static_cast<std::uint64_t>(index));
  }

 private:
  std::uint64_t key_;
};

}  // namespace smallbatch
