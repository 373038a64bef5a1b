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
  /// What was written there before, also in part, no longer counts: HDF5 has given its room to others, or to nobody.
  void forget(const Extent& extent) noexcept;
  /// The first one that does not have these bytes in the file. Throws std::bad_alloc where there was no memory to add
  /// one.
  [[nodiscard]] std::optional<Extent> find_lost(FileWindow& file) const;

 private:
  struct Bytes {
    std::uint64_t size = 0, hash = 0;
  };
  std::map<std::uint64_t, Bytes> written_;  ///< by their addresses; no two overlap
  bool is_whole_ = true;
};

}  // namespace smallbatch
