#include "io/checksums.hpp"

#include <algorithm>

namespace smallbatch {
namespace {

using Read = std::function<bool(const Extent&, char*)>;

/// Adds bytes of a file, a part at a time.
void add_bytes(Hash& hash, const Extent& extent, const Read& read) {
  std::vector<char> part(std::min(extent.size, bytes_per_hashed_piece));
  for (std::uint64_t done = 0; done < extent.size; done += part.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(part.size(), extent.size - done);
    if (!read({extent.address + done, count}, part.data())) return;
    hash.add(part.data(), count);
  }
}

/// What lies between datasets, in the order of the bytes. Where there are very many, little of it lies between two:
/// then it is read with them.
class BytesBetween {
 public:
  BytesBetween(std::uint64_t file_bytes, const Read& read) : file_bytes_(file_bytes), read_(read) {}
  void add(Hash& hash, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t window_bytes = std::uint64_t{1} << 16;
    if (end - begin >= window_bytes) return add_bytes(hash, {begin, end - begin}, read_);
    while (begin < end) {
      if (begin < first_ || begin >= first_ + window_.size()) {
        first_ = begin;
        window_.resize(std::min(window_bytes, file_bytes_ > begin ? file_bytes_ - begin : 0));
        if (window_.empty() || !read_({first_, window_.size()}, window_.data())) return window_.clear();
      }
      const std::uint64_t here = std::min(end, first_ + window_.size()) - begin;
      hash.add(window_.data() + (begin - first_), here);
      begin += here;
    }
  }

 private:
  std::uint64_t file_bytes_, first_ = 0;
  const Read& read_;
  std::vector<char> window_;
};

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
  BytesBetween between(size, read);
  for (const Extent& extent : taken) {
    if (extent.address > next) between.add(others, next, extent.address);
    next = std::max(next, extent.address + extent.size);
  }
  if (next < size) between.add(others, next, size);
  return tables.digits() + others.digits();
}

}  // namespace smallbatch
