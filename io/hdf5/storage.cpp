#include "io/hdf5/storage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/handles.hpp"
#include "io/hdf5/input.hpp"  // shape_text(), quoted()
#include "io/hdf5/input_errors.hpp"

namespace smallbatch {
namespace {

/// Returns the filters of a dataset, in the order in which they were applied.
std::vector<ChunkFilter> filters_of(const InputBytes& file, hid_t creation) {
  constexpr H5Z_filter_t lzf = 32000, zstandard = 32015;  // as the HDF Group has registered them
  constexpr std::array<std::pair<H5Z_filter_t, ChunkFilter::Kind>, 5> known{
      {{lzf, ChunkFilter::Kind::lzf},
       {zstandard, ChunkFilter::Kind::zstandard},
       {H5Z_FILTER_DEFLATE, ChunkFilter::Kind::deflate},
       {H5Z_FILTER_SHUFFLE, ChunkFilter::Kind::shuffle},
       {H5Z_FILTER_FLETCHER32, ChunkFilter::Kind::fletcher32}}};
  const int count = H5Pget_nfilters(creation);
  if (count < 0) throw damage(file);
  std::vector<ChunkFilter> filters;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    std::array<unsigned, 4> values{};
    std::size_t value_count = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &value_count, values.data(),
                                               name.size() - 1, name.data(), &config);
    if (filter < 0) throw damage(file);
    const auto found = std::ranges::find(known, filter, &std::pair<H5Z_filter_t, ChunkFilter::Kind>::first);
    if (found == known.end()) {
      throw Defect{"expected only the filters shuffle, deflate (gzip), LZF, Zstandard and fletcher32, found filter " +
                       std::to_string(filter) + " " + quoted(name.data()),
                   "Store it without compression or with gzip."};
    }
    if (std::ranges::find(filters, found->second, &ChunkFilter::kind) != filters.end()) {
      throw Defect{"expected each filter once, found filter " + quoted(name.data()) + " twice",
                   "Store it without compression or with gzip."};
    }
    if (packs({found->second, 0}) && std::ranges::any_of(filters, packs)) {
      throw Defect{"expected at most one filter that compresses, found " + quoted(name.data()) + " and another",
                   "Store it without compression or with gzip."};
    }
    const bool is_shuffle = found->second == ChunkFilter::Kind::shuffle;
    if (is_shuffle && (value_count != 1 || values[0] == 0)) {
      throw Defect{"its filter shuffle does not say how many bytes an element has", damaged};
    }
    filters.push_back({found->second, is_shuffle ? values[0] : 0});
  }
  return filters;
}

Defect missing_chunks(std::uint64_t chunks, std::uint64_t written) {
  return {"expected " + std::to_string(chunks) + " chunks, found " + std::to_string(written) + " written",
          "Fill the dataset and close the file."};
}

/// The size that a dataset declares, for messages that compare it with what is there.
class Declaration {
 public:
  Declaration(std::uint64_t file_bytes, const std::vector<std::int64_t>& shape, std::uint64_t element_bytes)
      : bytes(declared_bytes(shape, element_bytes)),
        words_("shape " + shape_text(shape) + " declares " + (bytes ? std::to_string(*bytes) : "more than 2^64") +
               " bytes"),
        of_file_("the file has " + std::to_string(file_bytes) + " bytes") {
    if (!bytes) throw Defect{words_ + ", " + of_file_, damaged};
  }
  const std::optional<std::uint64_t> bytes;
  [[nodiscard]] Defect wrong_size(std::uint64_t stored) const {
    return {words_ + ", found " + std::to_string(stored) + " stored, " + of_file_, damaged};
  }
  [[nodiscard]] Defect never_written() const {
    return {words_ + ", but they were never written", "Fill the dataset and close the file."};
  }

 private:
  std::string words_, of_file_;
};

}  // namespace

DatasetStorage check_storage(const InputBytes& file, hid_t dataset, hid_t space, hid_t type,
                             const std::vector<std::int64_t>& shape) {
  const std::uint64_t file_bytes = file.size();
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  if (!creation.valid()) throw damage(file);
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL) {
    throw Defect{"it is a virtual dataset, expected the data themselves", "Copy the data into this file."};
  }
  if (H5Pget_external_count(creation.get()) != 0) {
    throw Defect{"its data are in an external file, expected them in this one", "Copy the data into this file."};
  }
  const std::vector<ChunkFilter> filters = filters_of(file, creation.get());

  const Declaration declared(file_bytes, shape, H5Tget_size(type));
  if (*declared.bytes == 0) return {};
  if (layout == H5D_CONTIGUOUS && filters.empty()) {
    const haddr_t address = H5Dget_offset(dataset);
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (address == HADDR_UNDEF) throw declared.never_written();
    if (stored < *declared.bytes || *declared.bytes > file_bytes || address > file_bytes - *declared.bytes)
      throw declared.wrong_size(stored);
    return {address, {}, 0, 0};
  }
  if (layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    if (H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data()) != static_cast<int>(shape.size())) {
      throw damage(file);
    }
    std::vector<std::int64_t> chunks, chunk_shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto length = static_cast<std::int64_t>(chunk[axis]);
      if (length <= 0) throw Defect{"its chunks are empty", damaged};
      chunk_shape.push_back(length);
      chunks.push_back((shape[axis] - 1) / length + 1);
    }
    const auto chunk_count = declared_bytes(chunks, 1);
    const auto chunk_bytes = declared_bytes(chunk_shape, H5Tget_size(type));
    std::uint64_t in_chunks = 0;
    // Each chunk takes at least one byte, so a file cannot have more chunks than bytes.
    if (!chunk_count || !chunk_bytes || *chunk_count > file_bytes ||
        __builtin_mul_overflow(*chunk_count, *chunk_bytes, &in_chunks)) {
      throw declared.wrong_size(0);
    }
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (stored == 0) throw declared.never_written();
    if (filters.empty() && stored <= file_bytes && stored < in_chunks && stored % *chunk_bytes == 0)
      throw missing_chunks(*chunk_count, stored / *chunk_bytes);
    if (stored > file_bytes || in_chunks / largest_unpacked_ratio(filters) > stored) throw declared.wrong_size(stored);
    if (*chunk_bytes > largest_packed_chunk && std::ranges::any_of(filters, packs)) {
      throw Defect{"its chunks have " + std::to_string(*chunk_bytes) + " bytes, expected at most " +
                       std::to_string(largest_packed_chunk) + " where they are compressed",
                   "Store it in smaller chunks. A few MB are best."};
    }
    hsize_t written = 0;
    if (H5Dget_num_chunks(dataset, space, &written) < 0) throw damage(file);
    if (written != *chunk_count) throw missing_chunks(*chunk_count, written);
    unsigned options = 0;
    if (H5Pget_chunk_opts(creation.get(), &options) < 0) throw damage(file);
    return {std::nullopt,
            ChunkLayout{shape, chunk_shape, filters, (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0}, written,
            0};
  }
  if (!filters.empty()) throw Defect{"it has filters, but no chunks", damaged};
  if (layout != H5D_COMPACT) throw Defect{"its storage layout is unknown", damaged};
  const std::uint64_t stored = H5Dget_storage_size(dataset);
  if (stored < *declared.bytes) throw declared.wrong_size(stored);
  return {{}, {}, 0, *declared.bytes};
}

}  // namespace smallbatch
