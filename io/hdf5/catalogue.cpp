#include "io/hdf5/catalogue.hpp"

#include <algorithm>
#include <utility>

namespace smallbatch {

std::optional<std::uint64_t> declared_bytes(const std::vector<std::int64_t>& shape, std::uint64_t element_bytes) {
  if (std::ranges::any_of(shape, [](std::int64_t length) { return length < 0; })) return std::nullopt;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::uint64_t bytes = element_bytes;
  for (const std::int64_t length : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(length), &bytes)) return std::nullopt;
  }
  return bytes;
}

bool can_be_in_file(const StoredDataset& dataset, std::uint64_t file_bytes) {
  const auto& [info, is_swapped, address, stored_chunks, compact, fill] = dataset;
  if (info.type == ElementType::other)
    return !address && !stored_chunks && !compact && !fill;  // such numbers are never read
  if (fill && fill->size() != bytes_of(info.type)) return false;
  if (address && stored_chunks) return false;
  const auto bytes = declared_bytes(info.shape, bytes_of(info.type));
  if (!bytes) return false;
  if (*bytes == 0) return true;
  if (address) return *bytes <= file_bytes && *address <= file_bytes - *bytes;
  if (!stored_chunks) return compact && compact->size() == *bytes;
  const auto& [layout, chunks] = *stored_chunks;
  if (layout.shape != info.shape || layout.chunk.size() != info.shape.size()) return false;
  std::vector<std::int64_t> counts;
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    if (layout.chunk[axis] <= 0) return false;
    counts.push_back((info.shape[axis] - 1) / layout.chunk[axis] + 1);
  }
  const auto chunk_bytes = declared_bytes(layout.chunk, bytes_of(info.type));
  const auto packing = std::ranges::count_if(layout.filters, packs);
  if (packing > 1 || (packing > 0 && chunk_bytes > largest_packed_chunk)) return false;
  std::uint64_t in_chunks = 0;
  return !counts.empty() && declared_bytes(counts, 1) == chunks.size() && chunk_bytes && *chunk_bytes <= UINT32_MAX &&
         !__builtin_mul_overflow(*chunk_bytes, chunks.size(), &in_chunks) &&
         in_chunks / largest_unpacked_ratio(layout.filters) <= file_bytes;
}

void put_together(StoredObject& object, int depth, const std::function<StoredObject()>& next) {
  StoredObject described = next();
  described.name = std::move(object.name);
  object = std::move(described);
  if (depth == 0) return;
  for (StoredObject& member : object.members) put_together(member, depth - 1, next);
}

}  // namespace smallbatch
