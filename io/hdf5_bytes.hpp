// Numbers and checksums as HDF5's own bytes have them. Private to io/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "io/hdf5_object_headers.hpp"

namespace smallbatch {

inline constexpr std::uint64_t undefined_address = UINT64_MAX;
inline constexpr std::size_t checksum_bytes = 4;

/// Over the bytes that are there, so many, the lowest first.
inline void set(char* bytes, std::uint64_t number, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(number >> (8 * i) & 0xFF);
}

/// Of so many bytes, the lowest first.
inline void put(std::string& bytes, std::uint64_t number, std::size_t count) {
  std::array<char, sizeof number> all{};
  set(all.data(), number, all.size());
  bytes.append(all.data(), count);
}

inline std::uint32_t checksum_of(const std::string& bytes, std::size_t begin, std::size_t end) {
  return metadata_checksum({reinterpret_cast<const unsigned char*>(bytes.data()) + begin, end - begin});
}
/// Behind all bytes, theirs.
inline void put_checksum(std::string& bytes) { put(bytes, checksum_of(bytes, 0, bytes.size()), checksum_bytes); }

}  // namespace smallbatch
