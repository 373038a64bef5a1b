#include "io/hdf5/written_extents.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "io/integrity/hashes.hpp"

namespace smallbatch {

void WrittenExtents::add(const Extent& extent, const void* bytes) noexcept {
  forget(extent);
  try {
    written_[extent.address] = {extent.size, hash_number(bytes, extent.size)};
  } catch (const std::bad_alloc&) {
    is_whole_ = false;
  }
}

void WrittenExtents::forget(const Extent& extent) noexcept {
  auto first = written_.lower_bound(extent.address);
  if (first != written_.begin()) {
    const auto& [address, bytes] = *std::prev(first);
    if (address + bytes.size > extent.address) --first;
  }
  written_.erase(first, written_.lower_bound(extent.address + extent.size));
}

std::optional<Extent> WrittenExtents::find_lost(FileWindow& file) const {
  if (!is_whole_) throw std::bad_alloc();
  for (const auto& [address, bytes] : written_) {
    Hash hash(HashBits::of_64);
    for (std::uint64_t done = 0, size = 0; done < bytes.size; done += size) {
      size = std::min(bytes.size - done, FileWindow::bytes);
      const char* const found = file.find({address + done, size});
      if (!found) return Extent{address, bytes.size};
      hash.add(found, size);
    }
    if (hash.number() != bytes.hash) return Extent{address, bytes.size};
  }
  return std::nullopt;
}

}  // namespace smallbatch
