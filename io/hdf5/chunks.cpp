#include "io/hdf5/chunks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/parallel.hpp"
#include "io/hdf5/input.hpp"  // shape_text()

namespace smallbatch {
namespace {

constexpr std::size_t most_kept_bytes = std::size_t{1} << 29;
/// Fewer bytes are not worth another thread.
constexpr std::size_t least_bytes_per_piece = std::size_t{1} << 18;
/// Limit on the total size of the chunks that are decoded at the same time.
constexpr std::size_t most_bytes_at_work = std::size_t{1} << 29;

/// Copies a box of elements from one array to another, in runs that are as long as both arrays allow.
class BoxCopy {
 public:
  /// Takes the shapes of the two arrays and of the box.
  BoxCopy(const std::vector<std::int64_t>& from_shape, const std::vector<std::int64_t>& to_shape,
          std::vector<std::int64_t> box)
      : box_(std::move(box)), from_stride_(box_.size(), 1), to_stride_(box_.size(), 1) {
    for (std::size_t axis = box_.size() - 1; axis > 0; --axis) {
      from_stride_[axis - 1] = from_stride_[axis] * from_shape[axis];
      to_stride_[axis - 1] = to_stride_[axis] * to_shape[axis];
    }
    outer_ = box_.size() - 1;
    run_ = box_[outer_];
    while (outer_ > 0 && box_[outer_] == from_shape[outer_] && box_[outer_] == to_shape[outer_]) run_ *= box_[--outer_];
  }

  void operator()(const unsigned char* from, unsigned char* to, const std::vector<std::int64_t>& from_start,
                  const std::vector<std::int64_t>& to_start, std::size_t element_bytes) const {
    std::vector<std::int64_t> index(outer_, 0);
    const auto offset = [&](const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& stride) {
      std::int64_t sum = 0;
      for (std::size_t axis = 0; axis < box_.size(); ++axis) {
        sum += (start[axis] + (axis < outer_ ? index[axis] : 0)) * stride[axis];
      }
      return static_cast<std::size_t>(sum) * element_bytes;
    };
    for (;;) {
      std::memcpy(to + offset(to_start, to_stride_), from + offset(from_start, from_stride_),
                  static_cast<std::size_t>(run_) * element_bytes);
      std::size_t axis = outer_;
      while (axis > 0 && ++index[axis - 1] == box_[axis - 1]) index[--axis] = 0;
      if (axis == 0) return;
    }
  }

 private:
  std::vector<std::int64_t> box_, from_stride_, to_stride_;
  std::size_t outer_ = 0;  ///< the axes from this one on form one run; operator() counts through the axes before it
  std::int64_t run_ = 1;
};

}  // namespace

bool ChunkLayout::advance(ChunkOrigin& origin, const ChunkOrigin& first, const std::vector<std::int64_t>& last) const {
  for (std::size_t axis = origin.size(); axis > 0; --axis) {
    origin[axis - 1] += chunk[axis - 1];
    if (origin[axis - 1] <= last[axis - 1]) return true;
    origin[axis - 1] = first[axis - 1];
  }
  return false;
}

ChunkedDataset::ChunkedDataset(const ChunkLayout& layout, NumberType type, std::span<const StoredChunk> stored)
    : layout_(layout), type_(type), stored_(stored) {
  for (const std::int64_t length : layout_.chunk) chunk_elements_ *= static_cast<std::size_t>(length);
}

std::size_t ChunkedDataset::index_of(const ChunkOrigin& origin) const {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < origin.size(); ++axis) {
    index = index * ((layout_.shape[axis] - 1) / layout_.chunk[axis] + 1) + origin[axis] / layout_.chunk[axis];
  }
  return static_cast<std::size_t>(index);
}

bool ChunkedDataset::is_edge(const ChunkOrigin& origin) const {
  for (std::size_t axis = 0; axis < origin.size(); ++axis) {
    if (origin[axis] > layout_.shape[axis] - layout_.chunk[axis]) return true;
  }
  return false;
}

std::shared_ptr<const ChunkedDataset::Bytes> ChunkedDataset::kept(const ChunkOrigin& origin, ElementType type) {
  const std::lock_guard lock(keeping_);
  const auto found =
      std::ranges::find_if(kept_, [&](const KeptChunk& chunk) { return chunk.type == type && chunk.origin == origin; });
  return found == kept_.end() ? nullptr : found->bytes;
}

std::optional<std::string> ChunkedDataset::load(InputBytes& file, ElementType wanted, const ChunkOrigin& origin,
                                                Bytes& bytes) {
  const auto& [extent, skipped] = stored_[index_of(origin)];
  const std::size_t expected = chunk_elements_ * bytes_of(type_.type);
  const bool is_filtered = layout_.filters_edges || !is_edge(origin);
  const std::vector<ChunkFilter> filters = is_filtered ? layout_.filters : std::vector<ChunkFilter>{};
  if (const std::uint64_t largest = largest_stored_bytes(filters, expected); extent.size > largest) {
    return "has " + std::to_string(extent.size) + " bytes, expected at most " + std::to_string(largest);
  }
  bytes.resize(extent.size);
  if (!file.read(extent, bytes.data())) return "";
  if (auto wrong = undo_filters(filters, is_filtered ? skipped : 0, expected, bytes)) return wrong;
  if (type_ == NumberType{wanted}) return std::nullopt;
  Bytes converted(chunk_elements_ * bytes_of(wanted));
  convert_numbers(type_, bytes.data(), wanted, converted.data(), chunk_elements_);
  bytes = std::move(converted);
  return std::nullopt;
}

std::optional<std::string> ChunkedDataset::read(InputBytes& file, ElementType wanted,
                                                const std::vector<std::int64_t>& start,
                                                const std::vector<std::int64_t>& count, void* values) {
  const std::size_t rank = start.size(), element_bytes = bytes_of(wanted);
  ChunkOrigin first(rank);
  std::vector<std::int64_t> last(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    first[axis] = start[axis] / layout_.chunk[axis] * layout_.chunk[axis];
    last[axis] = start[axis] + count[axis] - 1;
  }
  std::vector<ChunkOrigin> origins;
  ChunkOrigin next = first;
  do origins.push_back(next);
  while (layout_.advance(next, first, last));

  const auto copy = [&](const ChunkOrigin& origin, const Bytes& bytes) {
    std::vector<std::int64_t> from(rank), to(rank), box(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t low = std::max(origin[axis], start[axis]);
      box[axis] = std::min(origin[axis] + layout_.chunk[axis], start[axis] + count[axis]) - low;
      from[axis] = low - origin[axis];
      to[axis] = low - start[axis];
    }
    BoxCopy(layout_.chunk, count, box)(bytes.data(), static_cast<unsigned char*>(values), from, to, element_bytes);
  };
  /// Whether a chunk has elements that come after the requested ones, in the order of the dataset.
  const auto reaches_beyond = [&](const ChunkOrigin& origin) {
    std::vector<std::int64_t> end(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      end[axis] = std::min(origin[axis] + layout_.chunk[axis], layout_.shape[axis]) - 1;
    }
    return end > last;
  };

  std::vector<std::shared_ptr<const Bytes>> to_keep(origins.size());
  std::mutex finding;
  std::size_t first_wrong = origins.size(), kept_bytes = 0;
  std::string why;
  const std::size_t chunk_bytes = chunk_elements_ * element_bytes;
  const auto take = [&](std::size_t i) {
    std::shared_ptr<const Bytes> chunk = kept(origins[i], wanted);
    if (!chunk) {
      auto loaded = std::make_shared<Bytes>();
      if (const auto wrong = load(file, wanted, origins[i], *loaded)) {
        const std::lock_guard lock(finding);
        if (i >= first_wrong) return;
        first_wrong = i;
        why = wrong->empty() ? *wrong : "its chunk at " + shape_text(origins[i]) + " " + *wrong;
        return;
      }
      chunk = std::move(loaded);
    }
    copy(origins[i], *chunk);
    if (!reaches_beyond(origins[i])) return;
    const std::lock_guard lock(finding);
    if (kept_bytes > 0 && kept_bytes + chunk_bytes > most_kept_bytes) return;
    kept_bytes += chunk_bytes;
    to_keep[i] = std::move(chunk);
  };
  const auto chunks_per_piece = static_cast<std::int64_t>(least_bytes_per_piece / chunk_bytes);
  const auto threads =
      static_cast<unsigned>(std::clamp<std::size_t>(most_bytes_at_work / chunk_bytes, 1, file.threads()));
  parallel_for(static_cast<std::int64_t>(origins.size()), chunks_per_piece, threads,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) take(static_cast<std::size_t>(i));
               });
  if (first_wrong < origins.size()) return why;

  const std::lock_guard lock(keeping_);
  kept_.clear();
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (to_keep[i]) kept_.push_back({origins[i], wanted, std::move(to_keep[i])});
  }
  return std::nullopt;
}

}  // namespace smallbatch
