// What HDF5 has written of a file: where, and the hash of the bytes. A disk may lose a write that it has called a
// success. Then it has an older header in that place, which HDF5 takes for a good one. Private to io/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "io/integrity/checksums.hpp"
#include "io/integrity/extent.hpp"

namespace smallbatch {

class WrittenExtents {
 public:
  /// Bytes that HDF5 writes.
  void add(const Extent& extent, const void* bytes) noexcept;
  /// Forgets every earlier write that overlaps this extent, even in part: HDF5 has given its room to others, or freed
  /// it.
  void forget(const Extent& extent) noexcept;
  /// The first extent whose bytes in the file are not those that HDF5 wrote. Throws std::bad_alloc where there was no
  /// memory to note an extent.
  [[nodiscard]] std::optional<Extent> find_lost(FileWindow& file) const;

 private:
  struct Bytes {
    std::uint64_t size = 0, hash = 0;
  };
  std::map<std::uint64_t, Bytes> written_;  ///< by their addresses; no two overlap
  bool is_whole_ = true;
};

}  // namespace smallbatch
