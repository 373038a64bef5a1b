#include "io/written_extents.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "io/hashes.hpp"

namespace smallbatch {

void WrittenExtents::add(const Extent& extent, const void* bytes) noexcept {
  const std::uint64_t end = extent.address + extent.size;
  auto first = written_.upper_bound(extent.address);
  if (first != written_.begin()) {
    const auto before = std::prev(first);
    if (before->first + before->second.size > extent.address) first = before;
  }
  const Bytes added{extent.size, hash_number(bytes, extent.size)};
  try {
    auto last = first;
    while (last != written_.end() && last->first < end) ++last;
    const auto behind = written_.erase(first, last);
    written_.emplace_hint(behind, extent.address, added);
  } catch (const std::bad_alloc&) {
    is_whole_ = false;
  }
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
