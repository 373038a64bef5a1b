#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#pragma GCC target("avx512f")
#define XXH_VECTOR XXH_AVX512  // set here, because the header sees no macros of this target
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/integrity/hashes_compiled.hpp"

namespace smallbatch {

constinit const HashFunctions hashes_avx512 = compiled_hashes;

}  // namespace smallbatch
