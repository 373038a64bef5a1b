// What HDF5's filters did to a chunk, undone: deflate, shuffle and fletcher32, h5py's LZF, and Zstandard. Knows no
// HDF5.
//
// A chunk must come out with exactly the bytes that its shape declares, and memory is taken for those alone. HDF5's own
// pipeline does not ask: where a stream inflates to fewer, the rest is whatever the memory held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/aligned_allocator.hpp"

namespace smallbatch {

struct ChunkFilter {
  enum class Kind { deflate, shuffle, fletcher32, lzf, zstandard } kind = Kind::deflate;
  std::size_t element_bytes = 0;  ///< of shuffle
};

/// How many bytes one stored byte of a chunk can become at most.
std::uint64_t largest_unpacked_ratio(std::span<const ChunkFilter> filters);

/// Whether it makes more bytes of fewer. A chunk goes through one such at most: two make a million of one.
inline bool packs(const ChunkFilter& filter) { return largest_unpacked_ratio({&filter, 1}) > 1; }

/// Of a chunk that is packed, in bytes: it is unpacked as a whole, whatever is read of it.
inline constexpr std::uint64_t largest_packed_chunk = std::uint64_t{1} << 28;

/// The most bytes that a chunk of `expected` bytes may take in a file.
std::uint64_t largest_stored_bytes(std::span<const ChunkFilter> filters, std::uint64_t expected);

/// Undoes the filters, listed in the order in which they were applied, at most one of a kind; one whose bit is set in
/// `skipped` was not. `bytes` are those stored, and then the `expected` ones. Nothing where all is right, else what is
/// wrong, to follow "its chunk ...": "inflates to 12 bytes, expected 48".
std::optional<std::string> undo_filters(std::span<const ChunkFilter> filters, std::uint32_t skipped,
                                        std::size_t expected, AlignedVector<unsigned char>& bytes);

}  // namespace smallbatch
