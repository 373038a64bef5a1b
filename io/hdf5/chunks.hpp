// Reads and decodes the numbers of chunked datasets on several threads (io/hdf5/chunk_filters.hpp). HDF5 has located
// the chunks before, and is not used here. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "io/hdf5/chunk_filters.hpp"
#include "io/hdf5/input_driver.hpp"
#include "io/hdf5/number_conversion.hpp"

namespace smallbatch {

/// Indices of the first element of a chunk.
using ChunkOrigin = std::vector<std::int64_t>;

/// Layout that a chunked dataset declares. Its rank is at least 1, and a chunk has at most 2^32 bytes.
struct ChunkLayout {
  std::vector<std::int64_t> shape, chunk;
  std::vector<ChunkFilter> filters;
  bool filters_edges = true;  ///< false: chunks that reach beyond the end of an axis are stored without filters

  /// Moves `origin` on to the next chunk in a box of chunks. The box begins at the chunk `first` and ends with the
  /// chunk that has the element `last`. Returns false after the last chunk.
  bool advance(ChunkOrigin& origin, const ChunkOrigin& first, const std::vector<std::int64_t>& last) const;
};

struct StoredChunk {
  Extent extent;
  std::uint32_t skipped = 0;  ///< bit i is set if filter i was not applied
};

class ChunkedDataset {
 public:
  /// `type` is the type of the numbers in the file. All chunks are in `stored`, in the order of their first elements.
  /// Both `layout` and `stored` must outlive this object.
  ChunkedDataset(const ChunkLayout& layout, NumberType type, std::span<const StoredChunk> stored);

  /// Reads elements [start, start + count) along each axis into `values`, as numbers of type `wanted`. Every count is
  /// at least 1. Returns nothing on success, or else what is wrong with the first bad chunk. The text is empty if
  /// file.why() has the reason.
  ///
  /// Each chunk is decoded by one thread. Chunks with elements after the requested ones are kept for the next call: up
  /// to half a gigabyte, and at least one chunk. A caller that reads on therefore decodes no chunk twice. Several
  /// threads may call this at a time.
  std::optional<std::string> read(InputBytes& file, ElementType wanted, const std::vector<std::int64_t>& start,
                                  const std::vector<std::int64_t>& count, void* values);

 private:
  using Bytes = AlignedVector<unsigned char>;  ///< of a chunk, as numbers in memory
  struct KeptChunk {
    ChunkOrigin origin;
    ElementType type;
    std::shared_ptr<const Bytes> bytes;
  };

  /// Returns the index of a chunk in `stored_`.
  [[nodiscard]] std::size_t index_of(const ChunkOrigin& origin) const;
  [[nodiscard]] bool is_edge(const ChunkOrigin& origin) const;
  std::shared_ptr<const Bytes> kept(const ChunkOrigin& origin, ElementType type);
  std::optional<std::string> load(InputBytes& file, ElementType wanted, const ChunkOrigin& origin, Bytes& bytes);

  const ChunkLayout& layout_;
  NumberType type_;
  std::size_t chunk_elements_ = 1;
  std::span<const StoredChunk> stored_;
  std::mutex keeping_;
  std::vector<KeptChunk> kept_;
};

}  // namespace smallbatch
