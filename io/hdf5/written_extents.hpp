// Records where HDF5 has written in a file, with hashes of the bytes. A disk may lose a write that it has reported as
// successful. An older header is then at that address, and HDF5 would accept it. Private to io/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "io/integrity/checksums.hpp"
#include "io/integrity/extent.hpp"

namespace smallbatch {

class WrittenExtents {
 public:
  /// Records bytes that HDF5 writes.
  void add(const Extent& extent, const void* bytes) noexcept;
  /// Forgets every earlier write that overlaps this extent, even in part. Call this when HDF5 has freed this room, or
  /// when numbers will be written there without HDF5.
  void forget(const Extent& extent) noexcept;
  /// Returns the first extent where the file does not have the bytes that HDF5 wrote. Throws std::bad_alloc if there
  /// was no memory to record an extent.
  [[nodiscard]] std::optional<Extent> find_lost(FileWindow& file) const;

 private:
  struct Bytes {
    std::uint64_t size = 0, hash = 0;
  };
  std::map<std::uint64_t, Bytes> written_;  ///< by address; no two overlap
  bool is_whole_ = true;
};

}  // namespace smallbatch
