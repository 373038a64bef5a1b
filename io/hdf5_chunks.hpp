// Numbers of chunked datasets, decoded here (io/chunk_filters.hpp): HDF5 only says where a chunk lies. Private to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

class ChunkedDataset {
 public:
  /// `type` is that of the numbers in the file.
  ChunkedDataset(ChunkLayout layout, Hdf5Handle type);

  /// Elements [start, start + count) of each axis, converted to `memory_type`, a native one of `element_bytes` bytes,
  /// into `values`. Nothing where all is right, else what is wrong with a chunk; that is empty where HDF5 or the file
  /// knows. Chunks of a few megabytes are kept for the next call, and the last one in any case.
  std::optional<std::string> read(hid_t dataset, InputBytes& file, hid_t memory_type, std::size_t element_bytes,
                                  const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& count,
                                  void* values);

 private:
  using Origin = std::vector<hsize_t>;       ///< of a chunk: its first element
  using Key = std::pair<hid_t, Origin>;      ///< type in memory, and which chunk
  using Bytes = std::vector<unsigned char>;  ///< of a chunk, as numbers in memory

  std::optional<std::string> load(hid_t dataset, InputBytes& file, std::size_t element_bytes, const Key& key,
                                  Bytes& bytes) const;
  [[nodiscard]] bool is_edge(const Origin& origin) const;

  ChunkLayout layout_;
  Hdf5Handle type_;
  std::size_t chunk_elements_ = 1;
  std::map<Key, Bytes> kept_;
  std::deque<Key> kept_keys_;  ///< the latest first
  std::size_t kept_bytes_ = 0;
};

}  // namespace smallbatch
