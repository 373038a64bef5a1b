// Undoes HDF5's filters of a chunk: deflate, shuffle, fletcher32, h5py's LZF, and Zstandard. No HDF5 is needed here.
//
// A chunk must come out with exactly the bytes that its shape declares. Memory is allocated for these bytes alone.
// HDF5's own pipeline does not check this: if a stream inflates to fewer bytes, the missing bytes are whatever the
// memory held.
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
  std::size_t element_bytes = 0;  ///< for shuffle
};

/// Returns the most bytes that one stored byte of a chunk can become.
std::uint64_t largest_unpacked_ratio(std::span<const ChunkFilter> filters);

/// Whether undoing the filter can make a chunk larger. A chunk may have one such filter at most: two such filters could
/// turn one byte into a million bytes.
inline bool packs(const ChunkFilter& filter) { return largest_unpacked_ratio({&filter, 1}) > 1; }

/// Size of the largest compressed chunk, in bytes after unpacking. A chunk is unpacked as a whole, even if little of it
/// is read.
inline constexpr std::uint64_t largest_packed_chunk = std::uint64_t{1} << 28;

/// Returns the most bytes that a chunk of `expected` bytes may take in a file.
std::uint64_t largest_stored_bytes(std::span<const ChunkFilter> filters, std::uint64_t expected);

/// Undoes the filters of a chunk. `filters` lists them in the order in which they were applied, at most one of a kind.
/// Bit i of `skipped` is set if filter i was not applied. `bytes` holds the stored bytes before the call, and the
/// `expected` unpacked bytes after it. Returns nothing on success, or else what is wrong, as the end of a sentence that
/// begins with "its chunk": "inflates to 12 bytes, expected 48 bytes".
std::optional<std::string> undo_filters(std::span<const ChunkFilter> filters, std::uint32_t skipped,
                                        std::size_t expected, AlignedVector<unsigned char>& bytes);

}  // namespace smallbatch
