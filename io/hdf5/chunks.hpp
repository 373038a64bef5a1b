// Numbers of chunked datasets, read and decoded here (io/hdf5/chunk_filters.hpp) on several threads: HDF5 has said
// where the chunks lie. Knows no HDF5. Private to io/.
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

/// Of a chunk: its first element.
using ChunkOrigin = std::vector<std::int64_t>;

/// What a chunked dataset declares; its rank is at least 1, and a chunk has at most 2^32 bytes.
struct ChunkLayout {
  std::vector<std::int64_t> shape, chunk;
  std::vector<ChunkFilter> filters;
  bool filters_edges = true;  ///< false: chunks that reach over the end of an axis are stored as they are

  /// The chunk after this one in the box of chunks from `first` that holds `last`; false where there is none.
  bool advance(ChunkOrigin& origin, const ChunkOrigin& first, const std::vector<std::int64_t>& last) const;
};

struct StoredChunk {
  Extent extent;
  std::uint32_t skipped = 0;  ///< filters
};

class ChunkedDataset {
 public:
  /// `type` is that of the numbers in the file; `stored` are all chunks, in the order of their first elements. They and
  /// the layout must outlive this object.
  ChunkedDataset(const ChunkLayout& layout, NumberType type, std::span<const StoredChunk> stored);

  /// Elements [start, start + count) of each axis, none of them 0, as numbers of type `wanted`, into `values`. Nothing
  /// where all is right, else what is wrong with the first chunk that is not; that is empty where the file knows. Each
  /// chunk is decoded by one thread. Those that reach beyond what was asked for are kept for the next call, up to half
  /// a gigabyte, and one in any case, so that whoever reads on from there decodes none twice. Several threads may call
  /// this at a time.
  std::optional<std::string> read(InputBytes& file, ElementType wanted, const std::vector<std::int64_t>& start,
                                  const std::vector<std::int64_t>& count, void* values);

 private:
  using Bytes = AlignedVector<unsigned char>;  ///< of a chunk, as numbers in memory
  struct KeptChunk {
    ChunkOrigin origin;
    ElementType type;
    std::shared_ptr<const Bytes> bytes;
  };

  /// Of a chunk, in the order of their first elements.
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
