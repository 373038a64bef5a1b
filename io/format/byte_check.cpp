#include "io/format/byte_check.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "core/parallel.hpp"
#include "io/format/common.hpp"
#include "io/integrity/checksums.hpp"

namespace smallbatch {
namespace {

constexpr std::int64_t first_minor_with_checksums = 7;
constexpr const char* remedy = "Take the file from a copy, or run the problem file again.";

/// Returns the indices of an element of an array, "[3, 0]", from its index among all elements.
std::string indices_text(const std::vector<std::int64_t>& shape, std::uint64_t index) {
  if (shape.empty()) return "";
  std::vector<std::int64_t> indices = shape;
  for (std::int64_t& of_axis : std::views::reverse(indices)) {
    const auto length = static_cast<std::uint64_t>(of_axis);
    of_axis = static_cast<std::int64_t>(index % length);
    index /= length;
  }
  std::string text;
  for (const std::int64_t of_axis : indices) text += (text.empty() ? "[" : ", ") + std::to_string(of_axis);
  return text + "]";
}

/// Returns the name and the range of the elements that have bytes in [begin, end) of a dataset.
std::string range_text(const InputFile& file, const std::string& name, const Extent& extent, std::uint64_t begin,
                       std::uint64_t end) {
  const DatasetInfo& info = file.dataset(name);
  std::vector<std::int64_t> shape = info.shape;
  // A complex number or a text is one element here.
  if (info.form == NumberForm::complex || info.form == NumberForm::text) shape.pop_back();
  std::uint64_t elements = 1;
  for (const std::int64_t length : shape) elements *= static_cast<std::uint64_t>(length);
  const std::uint64_t bytes_of_one = extent.size / elements;
  const std::string first = indices_text(shape, begin / bytes_of_one);
  const std::string last = indices_text(shape, (end - 1) / bytes_of_one);
  return name + (first == last ? first : " from " + first + " to " + last);
}

/// Returns the name and the range of the elements that have bytes in pieces first ... last of a dataset.
std::string range_of_pieces(const InputFile& file, const std::string& name, const Extent& extent, std::size_t first,
                            std::size_t last) {
  return range_text(file, name, extent, begin_of_piece(first), std::min(begin_of_piece(last + 1), extent.size));
}

/// Bytes and pieces of a dataset that can be compared with its checksums.
struct Pieces {
  Extent extent;
  std::size_t first = 0, count = 0;  ///< first: index among the pieces of all datasets
};

/// Reads piece `k` of a dataset into the beginning of `buffer`. Returns the number of its bytes.
std::uint64_t read_piece(const InputFile& file, const Pieces& pieces, std::size_t k, std::vector<char>& buffer) {
  const std::uint64_t from = begin_of_piece(k);
  const std::uint64_t size = std::min(bytes_per_hashed_piece, pieces.extent.size - from);
  buffer.resize(std::min(bytes_per_hashed_piece, pieces.extent.size));
  file.read_bytes({pieces.extent.address + from, size}, buffer.data());
  return size;
}

class Check {
 public:
  /// Reads the checksums in the file. Throws if they are damaged.
  Check(const InputFile& file, unsigned threads, std::function<void()> between)
      : file_(file), threads_(threads), between_(std::move(between)) {
    found_.has_checksums = true;
    found_.bytes = file_.size();
    read_tables();
    const std::vector<std::string> stored = texts(checksums_rest);
    const std::string rest = hashes_of_rest(extents_, file_.size(), read_);
    const std::size_t digits = rest.size() / 2;
    if (stored.size() != 2 || stored[0] != rest.substr(0, digits)) throw useless();
    found_.is_rest_unchanged = stored[1] == rest.substr(digits);
  }

  Check(const Check&) = delete;  // read_ holds the address of this object

  ByteCheck run() {
    for (std::size_t d = 0; d < sums_.dataset.size(); ++d) compare(d);
    if (!found_.is_rest_unchanged) name_damage();
    return std::move(found_);
  }

  [[nodiscard]] const Checksums& sums() const { return sums_; }

  /// Returns the pieces of dataset `d`, or nothing if it is stored in another way than it was written.
  [[nodiscard]] std::optional<Pieces> pieces_of(std::size_t d) const {
    const auto first = static_cast<std::size_t>(sums_.piece_offset[d]);
    const auto count = static_cast<std::size_t>(sums_.piece_offset[d + 1]) - first;
    const std::optional<Extent> extent = extent_of(sums_.dataset[d]);  // name_damage() reports damaged headers
    if (!extent || PieceHashes(extent->size).count() != count) return {};
    return Pieces{*extent, first, count};
  }

 private:
  [[nodiscard]] bool is_changed(std::size_t piece, const char* bytes, std::uint64_t size) const {
    return hash_digits(bytes, size) != sums_.hash[piece];
  }

  [[nodiscard]] Error useless() const {
    return file_.error(checksums_group, "the checksums themselves were changed", remedy);
  }

  std::vector<std::string> texts(const char* dataset) {
    std::vector<std::string> found = file_.texts(dataset);
    const auto extent = file_.extent(dataset);
    if (!extent && !found.empty()) throw useless();
    if (extent) dataset == checksums_rest ? extents_.rest = *extent : extents_.tables.emplace_back(*extent);
    return found;
  }

  /// Fetches the descriptions of the groups of the listed datasets, many objects at a time. Groups that other programs
  /// have added are not described.
  void describe_listed() const {
    constexpr int deepest = 3;  // /verification/<kind>/<set>/verdict
    std::string described;
    for (const std::string& name : sums_.dataset) {
      const std::string group = name.substr(0, name.find('/', 1));
      if (group != described) file_.describe(group, deepest);
      described = group;
    }
  }

  void read_tables() {
    sums_.dataset = texts(checksums_dataset);
    describe_listed();
    const DatasetInfo& offset = file_.dataset(checksums_offset);
    const auto extent = file_.extent(checksums_offset);
    const auto count = static_cast<std::int64_t>(sums_.dataset.size());
    if (offset.shape != std::vector{count + 1} || offset.type != ElementType::int64 || !extent) throw useless();
    extents_.tables.push_back(*extent);
    sums_.piece_offset.resize(static_cast<std::size_t>(count) + 1);
    file_.read(checksums_offset, {}, sums_.piece_offset.data());
    sums_.hash = texts(checksums_hash);
    const std::vector<std::int64_t>& pieces = sums_.piece_offset;
    const bool are_in_order = std::ranges::is_sorted(pieces) && pieces.front() == 0 &&
                              pieces.back() == static_cast<std::int64_t>(sums_.hash.size()) &&
                              std::ranges::adjacent_find(sums_.dataset, std::greater_equal<>()) == sums_.dataset.end();
    if (!are_in_order) throw useless();
    for (const std::string& name : sums_.dataset)
      if (const auto found = extent_of(name)) extents_.listed.push_back(*found);
    // Datasets that overlap are refused, so that no byte is read twice.
    std::vector<Extent> sorted = extents_.listed;
    std::ranges::sort(sorted, {}, &Extent::address);
    for (std::size_t k = 1; k < sorted.size(); ++k)
      if (sorted[k].address < sorted[k - 1].address + sorted[k - 1].size) throw useless();
  }

  /// Must be called in a catch block. Rethrows the error if the disk or the memory is at fault, and not the file.
  static void rethrow_others(const Error& error) {
    if (error.kind() == ErrorKind::missing_file || error.kind() == ErrorKind::out_of_memory) throw;
  }

  /// Returns the extent of a dataset, or nothing if the dataset cannot be read or is not contiguous.
  [[nodiscard]] std::optional<Extent> extent_of(const std::string& name) const {
    if (!name.starts_with('/') || name.starts_with(checksums_group + std::string("/"))) throw useless();
    try {
      return file_.extent(name);
    } catch (const Error& error) {
      rethrow_others(error);
      return {};
    }
  }

  void compare(std::size_t d) {
    const std::string& name = sums_.dataset[d];
    const std::optional<Pieces> pieces = pieces_of(d);
    if (!pieces) {
      found_.moved.push_back(name);
      return;
    }
    const auto& [extent, first, count] = *pieces;
    std::vector<char> are_changed(count, 0);
    constexpr std::uint64_t small = FileWindow::bytes / 4;
    if (const char* const bytes = count == 1 && extent.size <= small ? window_.find(extent) : nullptr)
      are_changed[0] = is_changed(first, bytes, extent.size);
    else
      compare_large(*pieces, are_changed);
    ++found_.datasets;
    for (std::size_t k = 0; k < count; ++k) {
      if (!are_changed[k]) continue;
      const std::size_t begin = k;
      while (k + 1 < count && are_changed[k + 1]) ++k;
      found_.changed.push_back(range_of_pieces(file_, name, extent, begin, k));
    }
  }

  void compare_large(const Pieces& pieces, std::vector<char>& are_changed) const {
    parallel_for(static_cast<std::int64_t>(pieces.count), 8, threads_, [&](std::int64_t begin, std::int64_t end) {
      std::vector<char> buffer;
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
        if (between_) between_();
        const std::uint64_t size = read_piece(file_, pieces, k, buffer);
        are_changed[k] = is_changed(pieces.first + k, buffer.data(), size);
      }
    });
  }

  /// Finds objects with damaged headers. HDF5 reads the headers of all objects in the groups of the listed datasets.
  void name_damage() {
    std::set<std::string> groups{"/", "/provenance", checksums_group}, seen;
    for (const std::string& name : sums_.dataset) {
      for (std::size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0;
           slash = name.rfind('/', slash - 1))
        groups.insert(name.substr(0, slash));
      // Each set also has a group /provenance/<kind>/<set>.
      if (name.starts_with("/verification/") && name.ends_with("/verdict"))
        groups.insert("/provenance" + name.substr(13, name.size() - 13 - 8));
    }
    for (const std::string& group : groups) {
      check_header(group, seen);
      for (const std::string& member : members_of(group))
        check_header((group == "/" ? "" : group) + "/" + member, seen);
    }
  }

  /// Returns the members of a group, or none if they cannot be read. check_header() reports such a group.
  [[nodiscard]] std::vector<std::string> members_of(const std::string& group) const {
    try {
      return file_.members(group);
    } catch (const Error& error) {
      rethrow_others(error);
      return {};
    }
  }

  void check_header(const std::string& object, std::set<std::string>& seen) {
    if (!seen.insert(object).second) return;
    try {
      (void)file_.attributes(object);
    } catch (const Error& error) {
      rethrow_others(error);
      if (std::string(error.what()).find("HDF5: ") != std::string::npos) found_.damaged.push_back(object);
    }
  }

  const InputFile& file_;
  unsigned threads_;
  std::function<void()> between_;
  const ReadBytes read_ = [this](const Extent& extent, char* bytes) {
    if (between_) between_();
    file_.read_bytes(extent, bytes);
    return true;
  };
  FileWindow window_{file_.size(), read_};  ///< reads neighbouring small datasets together
  ByteCheck found_;
  Checksums sums_;
  FileExtents extents_;
};

/// Compares the bytes of every read with their checksums, piece by piece. Stores few bytes per dataset, because a file
/// may have millions of datasets.
class ComparedReads {
 public:
  explicit ComparedReads(const InputFile& file) : file_(file) {
    Check check(file, 1, {});
    for (std::size_t d = 0; d < check.sums().dataset.size(); ++d)
      if (const auto pieces = check.pieces_of(d)) datasets_.push_back(*pieces);
    std::ranges::sort(datasets_, {}, address_of);
    hashes_.reserve(check.sums().hash.size());
    for (const std::string& digits : check.sums().hash) hashes_.push_back(parse_hash_digits(digits));
    is_compared_.resize(hashes_.size());
  }
  /// Throws if a piece that overlaps `bytes` was changed. All of `bytes` belongs to one dataset. The address identifies
  /// this dataset, because listed datasets do not overlap.
  void expect_unchanged(const std::string& object, const Extent& bytes) {
    const std::lock_guard lock(mutex_);
    const auto behind = std::ranges::upper_bound(datasets_, bytes.address, {}, address_of);
    if (behind == datasets_.begin() || bytes.size == 0) return;
    const Pieces& pieces = *std::prev(behind);
    const std::uint64_t first = bytes.address - pieces.extent.address, last = first + bytes.size - 1;
    if (last >= pieces.extent.size) return;  // the dataset is not listed
    for (std::size_t k = first / bytes_per_hashed_piece; k <= last / bytes_per_hashed_piece; ++k) {
      if (is_compared_[pieces.first + k]) continue;
      const std::uint64_t size = read_piece(file_, pieces, k, buffer_);
      if (hash_number(buffer_.data(), size) != hashes_[pieces.first + k]) {
        throw file_.error(range_of_pieces(file_, object, pieces.extent, k, k), "it is not what was written", remedy);
      }
      is_compared_[pieces.first + k] = true;
    }
  }

 private:
  static std::uint64_t address_of(const Pieces& pieces) { return pieces.extent.address; }

  const InputFile& file_;
  std::mutex mutex_;
  std::vector<char> buffer_;
  std::vector<Pieces> datasets_;
  std::vector<std::optional<std::uint64_t>> hashes_;  ///< nothing if the text is no hash
  std::vector<bool> is_compared_;
};

/// Returns whether the file has checksums. Throws if it has none and its version of the format requires them.
bool has_checksums(const InputFile& file, std::int64_t minor) {
  if (file.kind(checksums_group) != ObjectKind::none) return true;
  if (minor < first_minor_with_checksums) return false;
  throw file.error("/", "it has no group " + quoted(checksums_group + 1) + ", which results have from format 1.7 on",
                   remedy);
}

}  // namespace

ByteCheck check_bytes(const std::string& path, unsigned threads, const std::function<void()>& between) {
  return check_bytes(InputFile(path, threads), threads, between);
}

ByteCheck check_bytes(const InputFile& file, unsigned threads, const std::function<void()>& between) {
  std::vector<std::string> ignored;
  const std::int64_t minor = check_format(file, ignored);
  if (!is_result_file(file) || !has_checksums(file, minor)) return {};
  return Check(file, threads, between).run();
}

void compare_reads(InputFile& file) {
  std::vector<std::string> ignored;
  if (!has_checksums(file, check_format(file, ignored))) return;
  file.set_before_read([reads = std::make_shared<ComparedReads>(file)](const std::string& object, const Extent& bytes) {
    reads->expect_unchanged(object, bytes);
  });
}

}  // namespace smallbatch
