#include "io/checksums.hpp"

#include <algorithm>

namespace smallbatch {
namespace {

/// Adds bytes of a file, a part at a time.
void add_bytes(Hash& hash, const Extent& extent, const std::function<bool(const Extent&, char*)>& read) {
  std::vector<char> part(std::min(extent.size, bytes_per_hashed_piece));
  for (std::uint64_t done = 0; done < extent.size; done += part.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(part.size(), extent.size - done);
    if (!read({extent.address + done, count}, part.data())) return;
    hash.add(part.data(), count);
  }
}

}  // namespace

std::string hashes_of_rest(const FilePlaces& places, std::uint64_t size,
                           const std::function<bool(const Extent&, char*)>& read) {
  Hash tables(HashBits::of_64), others(HashBits::of_64);
  for (const Extent& table : places.tables) add_bytes(tables, table, read);
  std::vector<Extent> taken = places.listed;
  taken.insert(taken.end(), places.tables.begin(), places.tables.end());
  taken.push_back(places.rest);
  std::ranges::sort(taken, {}, &Extent::address);
  std::uint64_t next = 0;
  for (const Extent& extent : taken) {
    if (extent.address > next) add_bytes(others, {next, extent.address - next}, read);
    next = std::max(next, extent.address + extent.size);
  }
  if (next < size) add_bytes(others, {next, size - next}, read);
  return tables.digits() + others.digits();
}

}  // namespace smallbatch
