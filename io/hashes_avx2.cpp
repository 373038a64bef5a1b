#include "io/hashes_wide.hpp"

#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#pragma GCC target("avx2")
#define XXH_VECTOR XXH_AVX2  // the header sees no macros of that target
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace smallbatch {

std::uint64_t xxh3_avx2(const void* bytes, std::size_t count) { return XXH3_64bits(bytes, count); }

}  // namespace smallbatch
