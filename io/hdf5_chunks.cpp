#include "io/hdf5_chunks.hpp"

#include <algorithm>
#include <cstring>

#include "io/hdf5_input.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t most_kept_bytes = std::size_t{32} << 20;

/// Where the chunk of the dataset that begins at `origin` lies, and the filters that it skipped. False where HDF5
/// fails.
bool locate(hid_t dataset, InputBytes& file, const std::vector<hsize_t>& origin, Extent& found,
            std::uint32_t& skipped) {
  unsigned char unused = 0;  // nothing is read
  file.located = &found;
  const herr_t status = H5Dread_chunk(dataset, H5P_DEFAULT, origin.data(), &skipped, &unused);
  file.located = nullptr;
  return status >= 0;
}

/// Elements of a box that two arrays share, from one to the other, in runs that are as long as both allow.
class BoxCopy {
 public:
  /// The shapes of the arrays, where the box begins in each, and its own shape.
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
  std::size_t outer_ = 0;  ///< axes before this one are counted, the others are one run
  std::int64_t run_ = 1;
};

}  // namespace

ChunkedDataset::ChunkedDataset(ChunkLayout layout, Hdf5Handle type)
    : layout_(std::move(layout)), type_(std::move(type)) {
  for (const std::int64_t length : layout_.chunk) chunk_elements_ *= static_cast<std::size_t>(length);
}

bool ChunkedDataset::is_edge(const Origin& origin) const {
  for (std::size_t axis = 0; axis < origin.size(); ++axis) {
    if (static_cast<std::int64_t>(origin[axis]) > layout_.shape[axis] - layout_.chunk[axis]) return true;
  }
  return false;
}

std::optional<std::string> ChunkedDataset::load(hid_t dataset, InputBytes& file, std::size_t element_bytes,
                                                const Key& key, Bytes& bytes) const {
  const auto& [memory_type, origin] = key;
  Extent extent;
  std::uint32_t skipped = 0;
  if (!locate(dataset, file, origin, extent, skipped)) return "";
  const std::size_t stored_element_bytes = H5Tget_size(type_.get()), expected = chunk_elements_ * stored_element_bytes;
  const bool is_filtered = layout_.filters_edges || !is_edge(origin);
  const std::vector<ChunkFilter> filters = is_filtered ? layout_.filters : std::vector<ChunkFilter>{};
  if (const std::uint64_t largest = largest_stored_bytes(filters, expected); extent.size > largest) {
    return "has " + std::to_string(extent.size) + " bytes, expected at most " + std::to_string(largest);
  }
  bytes.resize(extent.size);
  if (!file.read(extent, bytes.data())) return "";
  if (auto wrong = undo_filters(filters, is_filtered ? skipped : 0, expected, bytes)) return wrong;
  bytes.resize(chunk_elements_ * std::max(stored_element_bytes, element_bytes));
  if (H5Tconvert(type_.get(), memory_type, chunk_elements_, bytes.data(), nullptr, H5P_DEFAULT) < 0) return "";
  bytes.resize(chunk_elements_ * element_bytes);
  return std::nullopt;
}

std::optional<std::string> ChunkedDataset::read(hid_t dataset, InputBytes& file, hid_t memory_type,
                                                std::size_t element_bytes, const std::vector<std::int64_t>& start,
                                                const std::vector<std::int64_t>& count, void* values) {
  const std::size_t rank = start.size();
  Origin first(rank), origin(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t begin = start[axis] / layout_.chunk[axis] * layout_.chunk[axis];
    first[axis] = static_cast<hsize_t>(begin);
  }
  for (origin = first;;) {
    const Key key{memory_type, origin};
    auto kept = kept_.find(key);
    if (kept == kept_.end()) {
      const std::size_t bytes = chunk_elements_ * element_bytes;
      for (; !kept_keys_.empty() && kept_bytes_ + bytes > most_kept_bytes; kept_keys_.pop_back()) {
        const auto oldest = kept_.find(kept_keys_.back());
        kept_bytes_ -= oldest->second.size();
        kept_.erase(oldest);
      }
      Bytes chunk;
      if (const auto wrong = load(dataset, file, element_bytes, key, chunk)) {
        const std::vector<std::int64_t> where(origin.begin(), origin.end());
        return wrong->empty() ? *wrong : "its chunk at " + shape_text(where) + " " + *wrong;
      }
      kept_bytes_ += bytes;
      kept_keys_.push_front(key);
      kept = kept_.emplace(key, std::move(chunk)).first;
    }
    std::vector<std::int64_t> from(rank), to(rank), box(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto begin = static_cast<std::int64_t>(origin[axis]);
      const std::int64_t low = std::max(begin, start[axis]);
      box[axis] = std::min(begin + layout_.chunk[axis], start[axis] + count[axis]) - low;
      from[axis] = low - begin;
      to[axis] = low - start[axis];
    }
    BoxCopy(layout_.chunk, count, box)(kept->second.data(), static_cast<unsigned char*>(values), from, to,
                                       element_bytes);
    std::size_t axis = rank;  // the next chunk, the last axis first
    for (; axis > 0; --axis) {
      origin[axis - 1] += static_cast<hsize_t>(layout_.chunk[axis - 1]);
      if (static_cast<std::int64_t>(origin[axis - 1]) < start[axis - 1] + count[axis - 1]) break;
      origin[axis - 1] = first[axis - 1];
    }
    if (axis == 0) return std::nullopt;
  }
}

}  // namespace smallbatch
