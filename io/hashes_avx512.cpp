// The loop over long inputs is XXH3's, step by step to the same bits, in fewer instructions than xxhash.h has it. XXH3
// adds to 8 accumulators of 64 bits, for each stripe of 8 words d of the input and 8 words k of its secret,
//
//   acc[i] += d[i ^ 1] + low32(d[i] ^ k[i]) high32(d[i] ^ k[i])     modulo 2^64,
//
// and scrambles them after every 16 stripes. Sums may be put in another order: here the d are added up as they are, and
// change places once before a scramble in place of 16 times. Secrets stay in 16 of the 32 registers.
#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#pragma GCC target("avx512f")
#define XXH_VECTOR XXH_AVX512  // the header sees no macros of that target
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/hashes_compiled.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t stripe_bytes = 64, stripes_per_block = 16, block_bytes = stripe_bytes * stripes_per_block;
constexpr std::size_t secret_step = 8;  // from one stripe's to the next one's

/// What xxhash.h hashes without stripes.
constexpr std::size_t longest_without_stripes = 240;

__m512i load(const unsigned char* bytes) { return _mm512_loadu_si512(bytes); }

/// Of some stripes: both parts of what they add.
struct Sums {
  __m512i products, words = _mm512_setzero_si512();

  void add(const unsigned char* stripe, __m512i secret) {
    const __m512i word = load(stripe), keyed = _mm512_xor_si512(word, secret);
    products = _mm512_add_epi64(products, _mm512_mul_epu32(keyed, _mm512_srli_epi64(keyed, 32)));
    words = _mm512_add_epi64(words, word);
  }
  /// Words of a pair change places.
  [[nodiscard]] __m512i accumulators() const {
    return _mm512_add_epi64(products, _mm512_shuffle_epi32(words, _MM_PERM_BADC));
  }
};

__m512i scramble(__m512i accumulators, __m512i secret) {
  const __m512i prime = _mm512_set1_epi32(static_cast<int>(XXH_PRIME32_1));
  const __m512i mixed = _mm512_xor_si512(_mm512_xor_si512(accumulators, _mm512_srli_epi64(accumulators, 47)), secret);
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(mixed, 32), prime);
  return _mm512_add_epi64(_mm512_mul_epu32(mixed, prime), _mm512_slli_epi64(high, 32));
}

std::uint64_t hash_of_64(const void* input, std::size_t count) {
  if (count <= longest_without_stripes) return XXH3_64bits(input, count);
  const auto* next = static_cast<const unsigned char*>(input);
  const unsigned char* const secret = XXH3_kSecret;
  const unsigned char* const end_of_secret = secret + XXH_SECRET_DEFAULT_SIZE - stripe_bytes;
  __m512i secrets[stripes_per_block];
  for (std::size_t s = 0; s < stripes_per_block; ++s) secrets[s] = load(secret + s * secret_step);
  const __m512i of_scramble = load(end_of_secret);
  alignas(stripe_bytes) std::uint64_t accumulators[stripe_bytes / sizeof(std::uint64_t)] = XXH3_INIT_ACC;
  Sums sums{_mm512_load_si512(accumulators)};
  std::size_t left = count;
  for (; left > block_bytes; left -= block_bytes, next += block_bytes) {  // at least one byte is left
#pragma GCC unroll 16
    for (std::size_t s = 0; s < stripes_per_block; ++s) sums.add(next + s * stripe_bytes, secrets[s]);
    sums = {scramble(sums.accumulators(), of_scramble)};
  }
  for (std::size_t s = 0; left > stripe_bytes; ++s, left -= stripe_bytes, next += stripe_bytes)
    sums.add(next, load(secret + s * secret_step));
  constexpr std::size_t before_end = 7;  // where the last stripe's secret begins
  sums.add(static_cast<const unsigned char*>(input) + count - stripe_bytes, load(end_of_secret - before_end));
  _mm512_store_si512(accumulators, sums.accumulators());
  return XXH3_mergeAccs(reinterpret_cast<const xxh_u64*>(accumulators), secret + XXH_SECRET_MERGEACCS_START,
                        count * XXH_PRIME64_1);
}

}  // namespace

constinit const HashFunctions hashes_avx512{hash_of_64, compiled_hashes.add_to_64, compiled_hashes.add_to_128};

}  // namespace smallbatch
