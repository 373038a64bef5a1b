// XXH3 functions, compiled for the vectors that the including file chose. Include this after xxhash.h. Private to io/.
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
