#include "io/integrity/checksums.hpp"

#include <algorithm>

namespace smallbatch {
namespace {

/// Adds bytes of a file to the hash, part by part.
void add_bytes(Hash& hash, const Extent& extent, const ReadBytes& read) {
  std::vector<char> part(std::min(extent.size, bytes_per_hashed_piece));
  for (std::uint64_t done = 0; done < extent.size; done += part.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(part.size(), extent.size - done);
    if (!read({extent.address + done, count}, part.data())) return;
    hash.add(part.data(), count);
  }
}

}  // namespace

const char* FileWindow::find(const Extent& extent) {
  if (extent.address > file_bytes_ || extent.size > file_bytes_ - extent.address) return nullptr;
  if (extent.address < address_ || extent.address + extent.size > address_ + window_.size()) {
    address_ = extent.address;
    window_.resize(std::min(bytes, file_bytes_ - address_));
    if (!read_({address_, window_.size()}, window_.data())) {
      window_.clear();
      return nullptr;
    }
  }
  return window_.data() + (extent.address - address_);
}

std::string hashes_of_rest(const FileExtents& extents, std::uint64_t size, const ReadBytes& read) {
  Hash tables(HashBits::of_64), others(HashBits::of_64);
  for (const Extent& table : extents.tables) add_bytes(tables, table, read);
  std::vector<Extent> taken = extents.listed;
  taken.insert(taken.end(), extents.tables.begin(), extents.tables.end());
  taken.push_back(extents.rest);
  std::ranges::sort(taken, {}, &Extent::address);
  std::uint64_t next = 0;
  FileWindow window(size, read);  // with very many datasets, few bytes lie between two of them
  const auto add_until = [&](std::uint64_t end) {
    const Extent between{next, end - next};
    if (between.size > FileWindow::bytes)
      add_bytes(others, between, read);
    else if (const char* const found = window.find(between))
      others.add(found, between.size);
  };
  for (const Extent& extent : taken) {
    if (extent.address > next) add_until(extent.address);
    next = std::max(next, extent.address + extent.size);
  }
  if (next < size) add_until(size);
  return tables.digits() + others.digits();
}

}  // namespace smallbatch
