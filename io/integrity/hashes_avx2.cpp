#include <immintrin.h>

#include <cstdlib>
#include <cstring>

#pragma GCC target("avx2")
#define XXH_VECTOR XXH_AVX2  // set here, because the header sees no macros of this target
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/integrity/hashes_compiled.hpp"

namespace smallbatch {

constinit const HashFunctions hashes_avx2 = compiled_hashes;

}  // namespace smallbatch
