// XXH3 of many bytes with wider vectors, on a processor that has them, which io/row_hashes.cpp asks for: built for
// x86-64 alone. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smallbatch {

std::uint64_t xxh3_avx2(const void* bytes, std::size_t count);
std::uint64_t xxh3_avx512(const void* bytes, std::size_t count);

}  // namespace smallbatch
