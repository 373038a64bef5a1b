// Numbers of chunked datasets, read and decoded here (io/chunk_filters.hpp) on several threads: HDF5 says once where
// the chunks lie. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "io/chunk_filters.hpp"
#include "io/hdf5_handles.hpp"
#include "io/hdf5_input_driver.hpp"

namespace smallbatch {

/// What a chunked dataset declares; its rank is at least 1, and a chunk has at most 2^32 bytes.
struct ChunkLayout {
  std::vector<std::int64_t> shape, chunk;
  std::vector<ChunkFilter> filters;
  bool filters_edges = true;  ///< false: chunks that reach over the end of an axis are stored as they are
};

/// Numbers as memory has them.
struct MemoryType {
  std::size_t element_bytes = 0;
  hid_t converted_to = -1;  ///< a native type; negative where the numbers are stored as memory has them
};

class ChunkedDataset {
 public:
  /// `type` is that of the numbers in the file.
  ChunkedDataset(ChunkLayout layout, Hdf5Handle type);

  /// Asks HDF5 where every chunk lies; false where it fails. To be called once, before anything is read.
  bool locate(hid_t dataset, InputBytes& file);

  /// Elements [start, start + count) of each axis, none of them 0, as `memory` has them, into `values`. Nothing where
  /// all is right, else what is wrong with the first chunk that is not; that is empty where HDF5 or the file knows.
  /// Each chunk is decoded by one thread. Those that reach beyond what was asked for are kept for the next call, up to
  /// a gigabyte, and one in any case, so that whoever reads on from there decodes none twice. Where no number is
  /// converted, HDF5 is not called, and several threads may call this at a time.
  std::optional<std::string> read(InputBytes& file, const MemoryType& memory, const std::vector<std::int64_t>& start,
                                  const std::vector<std::int64_t>& count, void* values);

 private:
  using Origin = std::vector<std::int64_t>;    ///< of a chunk: its first element
  using Bytes = AlignedVector<unsigned char>;  ///< of a chunk, as numbers in memory
  struct StoredChunk {
    Extent extent;
    std::uint32_t skipped = 0;  ///< filters
  };
  struct KeptChunk {
    Origin origin;
    hid_t converted_to;
    std::shared_ptr<const Bytes> bytes;
  };

  /// Of a chunk, in the order of their first elements.
  [[nodiscard]] std::size_t index_of(const Origin& origin) const;
  /// The chunk after this one in the box of chunks from `first` that holds `last`; false where there is none.
  bool advance(Origin& origin, const Origin& first, const std::vector<std::int64_t>& last) const;
  [[nodiscard]] bool is_edge(const Origin& origin) const;
  std::shared_ptr<const Bytes> kept(const Origin& origin, hid_t converted_to);
  std::optional<std::string> load(InputBytes& file, const MemoryType& memory, const Origin& origin, Bytes& bytes);

  ChunkLayout layout_;
  Hdf5Handle type_;
  std::size_t stored_element_bytes_, chunk_elements_ = 1;
  std::vector<StoredChunk> stored_;
  std::mutex keeping_, converting_;
  std::vector<KeptChunk> kept_;
};

}  // namespace smallbatch
