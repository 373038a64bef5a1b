// XXH3 as the file that includes this compiles it: behind xxhash.h, and whatever that was told of vectors. Private to
// io/.
#pragma once

#include "io/integrity/hashes_wide.hpp"

namespace smallbatch {
namespace {

constexpr HashFunctions compiled_hashes{
    [](const void* bytes, std::size_t count) -> std::uint64_t { return XXH3_64bits(bytes, count); },
    [](void* state, const void* bytes, std::size_t count) {
      XXH3_64bits_update(static_cast<XXH3_state_t*>(state), bytes, count);
    },
    [](void* state, const void* bytes, std::size_t count) {
      XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, count);
    }};

}  // namespace
}  // namespace smallbatch
