// Creates datasets, reserves disk space and writes numbers. Every HDF5 call is checked, and so is the file driver below
// it. One file, because the first failure of any step is kept in one place, and every later step throws it again.
#include "io/hdf5/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/parallel.hpp"
#include "io/format_version.hpp"
#include "io/hdf5/array_runs.hpp"
#include "io/hdf5/creation.hpp"
#include "io/hdf5/dimension_scales.hpp"
#include "io/hdf5/file_driver.hpp"
#include "io/hdf5/handles.hpp"
#include "io/integrity/checksums.hpp"
#include "io/integrity/hashes.hpp"
#include "io/integrity/output_file.hpp"

namespace smallbatch {
namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

H5T_cset_t characters_of(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 128; }) ? H5T_CSET_ASCII : H5T_CSET_UTF8;
}

/// Fewer bytes are hashed by the thread that writes them. They are in its core's cache, and another thread would have
/// to wake.
constexpr std::uint64_t least_bytes_hashed_beside = std::uint64_t{1} << 20;
/// At most this many bytes are hashed by a single call, without the cost of a hash's state.
constexpr std::int64_t most_bytes_of_one_hash = 4096;

/// Facts about a dataset that HDF5 has closed. An open dataset takes kilobytes, and there may be a million datasets.
struct WrittenDataset {
  std::vector<std::int64_t> shape;
  std::int64_t unwritten = 0;  ///< number of elements
  std::int64_t element_bytes = 0;
  ElementType type = ElementType::other;
  std::optional<std::uint64_t> address;  ///< in the file; nothing if it has no elements
  PieceHashes hashes;                    ///< of the bytes that this process wrote without HDF5
};

/// Splits an absolute path into the path of the group ("" is the root) and the name in that group.
std::pair<std::string, std::string> parts_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

/// A dataset of texts, which HDF5 has written.
struct WrittenText {
  Extent extent;  ///< empty if it has no bytes
  PieceHashes hashes;
};

/// Returns the hash of a box of a dataset's elements, from the bytes in the file, or nothing if the file lacks some.
/// Also adds these bytes to the hashes of the dataset's pieces, so that /checksums reveals a later change.
std::optional<std::uint64_t> hash_in_file(int source, WrittenDataset& dataset, const std::vector<std::int64_t>& start,
                                          const std::vector<std::int64_t>& count) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  Hash hash(HashBits::of_64);
  std::vector<char> buffer(std::min(most, static_cast<std::uint64_t>(elements_of(count) * dataset.element_bytes)));
  bool is_there = true;
  for_each_run(dataset.shape, start, count, [&](std::int64_t first, std::int64_t length) {
    std::uint64_t begin = *dataset.address + static_cast<std::uint64_t>(first * dataset.element_bytes);
    auto left = static_cast<std::uint64_t>(length * dataset.element_bytes);
    while (left > 0 && is_there) {
      const ssize_t found =
          ::pread(source, buffer.data(), std::min<std::uint64_t>(left, buffer.size()), static_cast<off_t>(begin));
      if (found < 0 && errno == EINTR) continue;
      is_there = found > 0;
      if (!is_there) return;
      hash.add(buffer.data(), static_cast<std::size_t>(found));
      if (dataset.hashes.count() > 0)
        dataset.hashes.add(begin - *dataset.address, static_cast<std::uint64_t>(found), buffer.data());
      begin += static_cast<std::uint64_t>(found);
      left -= static_cast<std::uint64_t>(found);
    }
  });
  return is_there ? std::optional(hash.number()) : std::nullopt;
}

/// Room on the disk. A file that the disk cannot hold is refused before its first byte is written.
class DiskRoom {
 public:
  /// If the file exists already, its bytes count as free.
  DiskRoom(std::string path, std::string temporary, bool is_there)
      : path_(std::move(path)), temporary_(std::move(temporary)), is_there_(is_there) {}

  /// Takes room for a dataset that will be written. Throws Error(output) if there is none.
  void take(const std::string& dataset, const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
    std::int64_t bytes = element_bytes;
    for (const std::int64_t length : shape) {
      if (length < 0 || __builtin_mul_overflow(bytes, length, &bytes)) {
        throw Error(ErrorKind::output, "cannot write " + dataset + " of " + path_,
                    "shape " + shape_text(shape) + " needs more bytes than a file can hold", "Make it smaller.");
      }
    }
    if (__builtin_add_overflow(pending_, bytes, &pending_)) pending_ = INT64_MAX;
    // There may be very many small datasets, so the free space is queried only after each `bytes_unasked` bytes.
    constexpr std::int64_t bytes_unasked = std::int64_t{1} << 20;
    if (asked_for_ != 0 && pending_ - asked_for_ < bytes_unasked) return;
    asked_for_ = pending_;
    const std::optional<std::int64_t> free_bytes = find_free();
    if (free_bytes && pending_ > *free_bytes) {
      throw Error(
          ErrorKind::output, "cannot write " + path_,
          "disk full: needed " + std::to_string(pending_) + " bytes, free " + std::to_string(*free_bytes) + " bytes",
          "Free some space or write to another disk.");
    }
  }
  /// Gives back the room of bytes that are written.
  void give_back(std::int64_t bytes) { pending_ -= std::min(pending_, bytes); }

 private:
  /// Returns the free bytes, or nothing if the file system does not report them.
  [[nodiscard]] std::optional<std::int64_t> find_free() const {
    struct statvfs disk {};
    if (::statvfs(temporary_.c_str(), &disk) != 0) return std::nullopt;
    std::int64_t free_bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(disk.f_bavail), static_cast<std::int64_t>(disk.f_frsize),
                               &free_bytes))
      return INT64_MAX;
    struct stat kept {};
    constexpr std::int64_t block_bytes = 512;
    if (is_there_ && ::stat(temporary_.c_str(), &kept) == 0 &&
        __builtin_add_overflow(free_bytes, kept.st_blocks * block_bytes, &free_bytes))
      return INT64_MAX;
    return free_bytes;
  }

  std::string path_, temporary_;
  bool is_there_ = false;
  std::int64_t pending_ = 0;    ///< bytes that are declared and not yet written
  std::int64_t asked_for_ = 0;  ///< the value of pending_ at the latest query of the free space
};

}  // namespace

struct Hdf5Output::Impl {
  std::optional<OutputFile> own_target;  ///< only in the process that created the file
  std::string path, temporary;
  bool writes_alone = true;  ///< one thread writes a block, while another thread hashes it
  OutputBytes file_bytes;
  Hdf5Handle driver;
  Hdf5Handle file;
  Hdf5Creation creation{[this](std::int64_t result) { check(result); }};
  /// Objects that were created or opened last, by their paths. They are needed again soon, and looking up a path takes
  /// HDF5 as long as creating a dataset.
  std::map<std::string, Hdf5Handle> at_hand;
  std::map<std::string, WrittenDataset> datasets;
  AxisNames axes;  ///< of the datasets of a set, for write_axes()
  DimensionScales scales;
  bool has_checksums = false;
  std::map<std::string, WrittenText> texts;
  DiskRoom room;
  bool keeps_numbers = false, notes_written = false;
  std::vector<WrittenRange> noted;
  std::optional<Error> failure;

  Impl(OutputFile output, bool keeps, unsigned threads)
      : own_target(std::move(output)),
        path(own_target->path()),
        temporary(own_target->temporary_path()),
        writes_alone(threads == 1),
        file_bytes(threads),
        room(path, temporary, keeps),
        keeps_numbers(keeps) {}
  explicit Impl(const OutputLayout& layout)
      : path(layout.path), temporary(layout.temporary), file_bytes(1), room(path, temporary, false) {}

  void throw_latched() const {
    if (failure) throw Error(*failure);
  }
  /// Keeps the failure of the HDF5 call that was just made, and throws it.
  [[noreturn]] void fail() {
    fail(file_bytes.system_error() ? output_error(path, file_bytes.system_error())
                                   : Error(ErrorKind::output, "cannot write " + path, "HDF5: " + hdf5_error_text(),
                                           "Check the disk and try again."));
  }
  [[noreturn]] void fail(Error error) {
    failure = std::move(error);
    throw Error(*failure);
  }
  template <class Result>
  Result check(Result result) {
    if (result < 0 || file_bytes.system_error()) fail();
    return result;
  }
  Hdf5Handle own(hid_t id, herr_t (*close)(hid_t)) { return {check(id), close}; }

  /// Closes all objects at hand if there are many. Call this before the first identifier of an operation is used,
  /// because it closes identifiers.
  void make_room() {
    constexpr std::size_t most_at_hand = 256;
    if (at_hand.size() >= most_at_hand) let_go();
  }
  void let_go() {
    for (auto& [path_of_one, handle] : at_hand)
      if (!handle.close()) fail();
    at_hand.clear();
  }
  hid_t keep_at_hand(const std::string& object, Hdf5Handle handle) {
    return (at_hand[object] = std::move(handle)).get();
  }
  /// Returns an object that exists. "/" is the root.
  hid_t object_at(const std::string& object) {
    if (object == "/") return file.get();
    if (const auto found = at_hand.find(object); found != at_hand.end()) return found->second.get();
    return keep_at_hand(object, own(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT), H5Oclose));
  }
  /// Returns a group, which is created if there is none. "" is the root.
  hid_t group_at(const std::string& group) {
    if (group.empty()) return file.get();
    if (const auto found = at_hand.find(group); found != at_hand.end()) return found->second.get();
    const auto [parent, name] = parts_of(group);
    const hid_t inside = group_at(parent);
    const bool exists = check(H5Lexists(inside, name.c_str(), H5P_DEFAULT)) > 0;
    const hid_t opened = exists ? H5Gopen2(inside, name.c_str(), H5P_DEFAULT)
                                : H5Gcreate2(inside, name.c_str(), H5P_DEFAULT, creation.groups(), H5P_DEFAULT);
    return keep_at_hand(group, own(opened, H5Gclose));
  }
  /// Creates a dataset and keeps it at hand.
  hid_t new_dataset(const std::string& dataset, hid_t type, hid_t space, hid_t creation_list) {
    const auto [group, name] = parts_of(dataset);
    const hid_t inside = group_at(group);
    return keep_at_hand(
        dataset, own(H5Dcreate2(inside, name.c_str(), type, space, H5P_DEFAULT, creation_list, H5P_DEFAULT), H5Dclose));
  }

  /// Refuses to create a dataset twice. The file would have only one of two datasets under one name.
  void refuse_again(const std::string& dataset) {
    if (!datasets.contains(dataset) && !texts.contains(dataset)) return;
    fail(Error(ErrorKind::usage, "cannot create " + dataset + " of " + path, "it exists already",
               "Add each set once, each under its own name."));
  }

  /// Creates and writes a dataset of texts, which are std::string or std::string_view.
  template <class Texts>
  void write_strings(const std::string& dataset, const std::vector<std::int64_t>& shape, const Texts& of_dataset) {
    const QuietHdf5 quiet;
    throw_latched();
    refuse_again(dataset);
    make_room();
    std::size_t length = 1;
    for (const auto& text : of_dataset) length = std::max(length, text.size());
    std::string bytes;
    bytes.reserve(of_dataset.size() * length);
    for (const auto& text : of_dataset) bytes.append(text).append(length - text.size(), '\0');
    const Hdf5Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type.get(), length));
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
    check(H5Tset_cset(type.get(), characters_of(bytes)));
    const std::vector<hsize_t> dims(shape.begin(), shape.end());
    const Hdf5Handle space = own(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    const hid_t created = new_dataset(dataset, type.get(), space.get(), creation.datasets());
    check(H5Dwrite(created, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
    const haddr_t address = H5Dget_offset(created);
    const Extent extent = address == HADDR_UNDEF ? Extent{} : Extent{address, H5Dget_storage_size(created)};
    texts[dataset] = {extent, PieceHashes(extent.size)};
  }

  void create(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
              std::optional<double> fill, NumberForm form = NumberForm::plain) {
    const QuietHdf5 quiet;
    throw_latched();
    refuse_again(dataset);
    make_room();
    const hid_t stored = creation.type(type, form);
    try {
      room.take(dataset, shape, static_cast<std::int64_t>(H5Tget_size(stored)));
    } catch (const Error& error) {
      fail(error);
    }
    const std::vector<hsize_t> dims(shape.begin(), shape.end());
    const Hdf5Handle space = own(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    const hid_t handle = new_dataset(dataset, stored, space.get(), creation.datasets(fill));
    WrittenDataset created;
    created.shape = shape;
    if (form == NumberForm::complex) created.shape.push_back(2);
    created.type = type;
    created.element_bytes = static_cast<std::int64_t>(bytes_of(type));
    const std::uint64_t bytes = H5Dget_storage_size(handle);
    const haddr_t address = H5Dget_offset(handle);
    if (address != HADDR_UNDEF) created.address = address;
    if (created.address) file_bytes.by_hdf5().forget({address, bytes});  // numbers are written there without HDF5
    if (fill && created.address && !keeps_numbers) write_fill({address, bytes}, stored, *fill);
    if (has_checksums && created.address) created.hashes = PieceHashes(bytes);
    if (fill) room.give_back(static_cast<std::int64_t>(bytes));
    created.unwritten = fill ? 0 : elements_of(created.shape);
    datasets.emplace(dataset, std::move(created));
  }

  /// Writes `fill` into every element of a dataset.
  void write_fill(const Extent& extent, hid_t type, double fill) {
    std::string one(reinterpret_cast<const char*>(&fill), sizeof fill);
    check(H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, one.data(), nullptr, H5P_DEFAULT));
    one.resize(H5Tget_size(type));
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;  // a whole number of elements
    std::string part;
    while (part.size() < std::min(extent.size, most_bytes)) part += one;
    for (std::uint64_t done = 0; done < extent.size; done += part.size())
      check(file_bytes.write(extent.address + done, std::min(extent.size - done, part.size()), part.data()) ? 0 : -1);
  }

  template <class T>
  void store_numbers(const std::string& object, const std::string& name, std::optional<std::size_t> length,
                     const T* values) {
    store_attribute(object, name, file_type(element_type_of<T>), native_type<T>(), length, values);
  }

  void store_attribute(const std::string& object, const std::string& name, hid_t stored_type, hid_t memory_type,
                       std::optional<std::size_t> length, const void* values) {
    const QuietHdf5 quiet;
    throw_latched();
    make_room();
    const hid_t of = object_at(object);
    if (check(H5Aexists(of, name.c_str())) > 0) check(H5Adelete(of, name.c_str()));
    const hsize_t dim = length.value_or(1);
    const Hdf5Handle space = own(length ? H5Screate_simple(1, &dim, nullptr) : H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle attribute =
        own(H5Acreate2(of, name.c_str(), stored_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(H5Awrite(attribute.get(), memory_type, values));
  }

  /// Writes numbers by HDF5, which converts them to the type in the file.
  void write_by_hdf5(const std::string& dataset, hid_t memory_type, const std::vector<std::int64_t>& start,
                     const std::vector<std::int64_t>& count, const void* values) {
    const QuietHdf5 quiet;
    const std::vector<hsize_t> first(start.begin(), start.end()), length(count.begin(), count.end());
    Hdf5Handle opened = own(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle file_space = own(H5Dget_space(opened.get()), H5Sclose);
    const Hdf5Handle memory_space =
        own(H5Screate_simple(static_cast<int>(length.size()), length.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, first.data(), nullptr, length.data(), nullptr));
    check(H5Dwrite(opened.get(), memory_type, memory_space.get(), file_space.get(), H5P_DEFAULT, values));
    if (!opened.close()) fail();
  }

  /// Names the axes of the datasets that were created since the last call.
  void write_axes() {
    const auto open = [this](const std::string& object) { return object.empty() ? file.get() : object_at(object); };
    check(scales.write(std::exchange(axes, {}), open) ? 0 : -1);
  }

  /// Computes the missing hashes of pieces. The pieces are read from the file.
  void hash_missing_pieces(std::uint64_t address, PieceHashes& hashes) {
    std::vector<std::size_t> missing;
    for (std::size_t k = 0; k < hashes.count(); ++k)
      if (hashes.is_missing(k)) missing.push_back(k);
    if (missing.empty()) return;
    parallel_for(static_cast<std::int64_t>(missing.size()), 16, 0, [&](std::int64_t first, std::int64_t last) {
      std::vector<char> bytes(hashes.size_of(missing.front()));
      for (std::int64_t k = first; k < last; ++k) {
        const std::size_t piece = missing[static_cast<std::size_t>(k)];
        if (file_bytes.read(address + begin_of_piece(piece), hashes.size_of(piece), bytes.data()))
          hashes.set(piece, bytes.data());
      }
    });
    if (file_bytes.system_error()) fail();
  }

  /// A dataset that /checksums lists.
  struct Listed {
    std::string_view name;
    Extent extent;
    PieceHashes* hashes;
  };
  /// Returns all datasets that /checksums lists, sorted by name. HDF5 is not called.
  std::vector<Listed> list_datasets() {
    std::vector<Listed> all;
    for (auto& [name, dataset] : datasets) {
      const auto bytes = static_cast<std::uint64_t>(elements_of(dataset.shape) * dataset.element_bytes);
      if (dataset.address) all.push_back({name, {*dataset.address, bytes}, &dataset.hashes});
    }
    for (auto& [name, text] : texts)
      if (text.extent.size > 0) all.push_back({name, text.extent, &text.hashes});
    std::ranges::sort(all, {}, &Listed::name);
    return all;
  }

  /// Writes the hashes of all datasets to /checksums (io/integrity/checksums.hpp). Returns the extents of the datasets
  /// and of the hashes in the file.
  FileExtents write_checksums(const std::vector<Listed>& all) {
    const std::size_t digits_of_one = hash_digits(nullptr, 0).size();
    FileExtents extents;
    std::vector<std::string_view> names, hashes;
    std::string digits;
    std::vector<std::int64_t> piece_offset{0};
    extents.listed.reserve(all.size());
    names.reserve(all.size());
    hashes.reserve(all.size());
    digits.reserve(all.size() * digits_of_one);
    piece_offset.reserve(all.size() + 1);
    for (const auto& [name, extent, of_pieces] : all) {
      hash_missing_pieces(extent.address, *of_pieces);
      names.push_back(name);
      for (std::size_t piece = 0; piece < of_pieces->count(); ++piece) digits += of_pieces->digits(piece);
      piece_offset.push_back(piece_offset.back() + static_cast<std::int64_t>(of_pieces->count()));
      extents.listed.push_back(extent);
    }
    for (std::size_t begin = 0; begin < digits.size(); begin += digits_of_one)
      hashes.push_back(std::string_view(digits).substr(begin, digits_of_one));
    write_strings(checksums_dataset, {static_cast<std::int64_t>(names.size())}, names);
    create(checksums_offset, ElementType::int64, {static_cast<std::int64_t>(piece_offset.size())}, std::nullopt);
    WrittenDataset& offset = datasets.at(checksums_offset);
    write_by_hdf5(checksums_offset, H5T_NATIVE_INT64, {0}, offset.shape, piece_offset.data());
    offset.unwritten = 0;
    write_strings(checksums_hash, {static_cast<std::int64_t>(hashes.size())}, hashes);
    write_strings(checksums_rest, {2}, std::vector(2, std::string(digits_of_one, '0')));
    let_go();
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL));
    extents.tables = {texts.at(checksums_dataset).extent,
                      {offset.address.value_or(0), piece_offset.size() * sizeof(std::int64_t)},
                      texts.at(checksums_hash).extent};
    extents.rest = texts.at(checksums_rest).extent;
    return extents;
  }

  /// Finishes the file after HDF5 has closed it. Writes the hashes of /checksums and of the bytes that are in no
  /// dataset. Then compares the bytes in the file with those that HDF5 wrote.
  void finish_closed(const std::optional<FileExtents>& extents) {
    OutputBytes closed(1);
    const auto read = [&](const Extent& extent, char* bytes) {
      return closed.read(extent.address, extent.size, bytes);
    };
    std::optional<Extent> lost;
    if (closed.open(temporary, false)) {
      const std::uint64_t size = closed.size();
      if (extents) {
        const std::string digits = hashes_of_rest(*extents, size, read);
        file_bytes.by_hdf5().add({extents->rest.address, digits.size()}, digits.data());
        (void)closed.write(extents->rest.address, digits.size(), digits.data());
      }
      FileWindow window(size, read);
      lost = file_bytes.by_hdf5().find_lost(window);
    }
    (void)closed.close();
    if (closed.system_error() != 0) fail(output_error(path, closed.system_error()));
    if (lost)
      fail(Error(ErrorKind::output, "cannot write " + path,
                 "reading it back failed: the " + std::to_string(lost->size) + " bytes at " +
                     std::to_string(lost->address) + " are not those that were written",
                 "Check the disk and try again."));
  }
};

Hdf5Output::Hdf5Output(const std::string& path, bool overwrite, const std::string& kind, unsigned threads)
    : Hdf5Output(OutputFile(path, overwrite), false, kind, threads) {}

Hdf5Output::Hdf5Output(OutputFile output, bool keeps_numbers, const std::string& kind, unsigned threads)
    : impl_(std::make_unique<Impl>(std::move(output), keeps_numbers, threads)) {
  {
    const QuietHdf5 quiet;
    impl_->file_bytes.keep_bytes(keeps_numbers);
    const Hdf5Handle access = impl_->own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    impl_->check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
    impl_->check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG));
    // HDF5's cache of headers takes 25 times as much memory as the headers take in the file. With HDF5's usual limits
    // it takes 50 MB for 400 sets.
    constexpr std::size_t most_header_bytes = std::size_t{1} << 20;
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    impl_->check(H5Pget_mdc_config(access.get(), &cache));
    cache.initial_size = cache.min_size = cache.max_size = most_header_bytes;
    impl_->check(H5Pset_mdc_config(access.get(), &cache));
    const Hdf5Handle root = impl_->creation.timeless_list(H5P_FILE_CREATE);
    impl_->driver = impl_->own(use_file_driver(access.get(), &impl_->file_bytes), H5FDunregister);
    impl_->file = impl_->own(H5Fcreate(impl_->temporary.c_str(), H5F_ACC_TRUNC, root.get(), access.get()), H5Fclose);
  }
  impl_->has_checksums = kind == "results";
  if (kind.empty()) return;
  attribute("/", "smallbatch_format", std::vector<std::int32_t>{format_major, format_minor});
  create_group("/provenance");
  attribute("/provenance", "kind", kind);
}

Hdf5Output::Hdf5Output(const OutputLayout& layout) : impl_(std::make_unique<Impl>(layout)) {
  if (!impl_->file_bytes.open(layout.temporary, false)) impl_->fail();
  for (const auto& [name, type, shape, address] : layout.datasets) {
    WrittenDataset& dataset = impl_->datasets[name];
    dataset.shape = shape;
    dataset.type = static_cast<ElementType>(type);
    if (address >= 0) dataset.address = static_cast<std::uint64_t>(address);
    dataset.unwritten = elements_of(shape);
  }
}

OutputLayout Hdf5Output::layout() const {
  OutputLayout layout{impl_->path, std::filesystem::absolute(impl_->temporary).string(), {}};
  for (const auto& [name, dataset] : impl_->datasets) {
    layout.datasets.push_back({name, static_cast<int>(dataset.type), dataset.shape,
                               dataset.address ? static_cast<std::int64_t>(*dataset.address) : -1});
  }
  return layout;
}

WrittenElements Hdf5Output::written() const {
  WrittenElements elements;
  for (const auto& [name, dataset] : impl_->datasets) elements[name] = elements_of(dataset.shape) - dataset.unwritten;
  return elements;
}

void Hdf5Output::others_have_written(const WrittenElements& elements) {
  for (const auto& [name, count] : elements) {
    WrittenDataset& dataset = impl_->datasets.at(name);
    dataset.unwritten -= std::min(count, dataset.unwritten);  // a filled dataset has no unwritten elements
  }
}

void Hdf5Output::note_written(bool is_noted) {
  impl_->notes_written = is_noted;
  impl_->noted.clear();
}

std::vector<WrittenRange> Hdf5Output::take_written() {
  std::vector<WrittenRange> written = std::exchange(impl_->noted, {});
  impl_->noted.reserve(written.size());  // the next call mostly returns as many
  return written;
}

bool Hdf5Output::has_all(const std::vector<WrittenRange>& written) {
  const int source = ::open(impl_->temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  std::map<WrittenDataset*, std::int64_t> elements;
  const bool has_them = std::ranges::all_of(written, [&](const WrittenRange& range) {
    const auto found = impl_->datasets.find(range.dataset);
    if (found == impl_->datasets.end() || !found->second.address || !range.hash) return false;
    WrittenDataset& dataset = found->second;
    std::vector<std::int64_t> start(dataset.shape.size(), 0), count = dataset.shape;
    if (range.ranges.size() > count.size()) return false;
    for (std::size_t axis = 0; axis < range.ranges.size(); ++axis) {
      std::tie(start[axis], count[axis]) = range.ranges[axis];
      if (start[axis] < 0 || count[axis] <= 0 || start[axis] > dataset.shape[axis] - count[axis]) return false;
    }
    elements[&dataset] += elements_of(count);
    return hash_in_file(source, dataset, start, count) == range.hash;
  });
  ::close(source);
  if (!has_them) return false;
  for (const auto& [dataset, number] : elements) {
    if (dataset->unwritten > 0) impl_->room.give_back(number * dataset->element_bytes);
    dataset->unwritten -= std::min(number, dataset->unwritten);
  }
  return true;
}

void Hdf5Output::keep_unfinished(bool is_kept) {
  if (impl_->own_target) impl_->own_target->set_kept(is_kept);
}

void Hdf5Output::flush() {
  impl_->throw_latched();
  if (!impl_->file_bytes.flush()) impl_->fail();
}

Hdf5Output::~Hdf5Output() {
  const QuietHdf5 quiet;
  impl_.reset();
}

const std::string& Hdf5Output::path() const { return impl_->path; }

void Hdf5Output::create(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
                        NumberForm form) {
  impl_->create(dataset, type, shape, std::nullopt, form);
}

void Hdf5Output::create_filled(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
                               double fill) {
  impl_->create(dataset, type, shape, fill);
}

void Hdf5Output::write_text(const std::string& dataset, const std::string& text) {
  impl_->write_strings(dataset, {}, std::vector{text});
}

void Hdf5Output::write_texts(const std::string& dataset, const std::vector<std::string>& texts) {
  write_texts(dataset, {static_cast<std::int64_t>(texts.size())}, texts);
}

void Hdf5Output::write_texts(const std::string& dataset, const std::vector<std::int64_t>& shape,
                             const std::vector<std::string>& texts) {
  impl_->write_strings(dataset, shape, texts);
}

void Hdf5Output::write_nothing(const std::string& dataset) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  impl_->make_room();
  const Hdf5Handle space = impl_->own(H5Screate(H5S_NULL), H5Sclose);
  (void)impl_->new_dataset(dataset, H5T_IEEE_F32LE, space.get(), impl_->creation.datasets());
}

void Hdf5Output::create_group(const std::string& group) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  (void)impl_->group_at(group);
}

void Hdf5Output::allocate() {
  impl_->throw_latched();
  std::uint64_t end = 0;
  for (const auto& [name, dataset] : impl_->datasets) {
    const auto bytes = static_cast<std::uint64_t>(elements_of(dataset.shape) * dataset.element_bytes);
    if (dataset.address) end = std::max(end, *dataset.address + bytes);
  }
  impl_->file_bytes.allocate(end);
}

template <class T>
void Hdf5Output::write(const std::string& dataset, std::initializer_list<AxisRange> leading, const T* values) {
  impl_->throw_latched();
  const auto found = impl_->datasets.find(dataset);
  if (found == impl_->datasets.end()) {
    throw Error(ErrorKind::usage,
                dataset + " of " + path() + " was not added before it was written. Add its set first.");
  }
  WrittenDataset& opened = found->second;
  const std::vector<std::int64_t>& shape = opened.shape;
  std::vector<std::int64_t> start(shape.size(), 0), count = shape;
  if (leading.size() > start.size()) throw Error(ErrorKind::internal, dataset + " has fewer axes than were written.");
  std::size_t axis = 0;
  for (const auto& [first, length] : leading) {
    if (first < 0 || length < 0 || first > shape[axis] || length > shape[axis] - first) {
      throw Error(ErrorKind::usage,
                  "cannot write [" + std::to_string(first) + ", " + std::to_string(first) + " + " +
                      std::to_string(length) + ") of " + dataset + " of " + path(),
                  "it has " + std::to_string(shape[axis]), "Write what was declared.");
    }
    start[axis] = first;
    count[axis] = length;
    ++axis;
  }
  if (std::ranges::find(count, 0) != count.end()) return;
  std::int64_t written = 0;
  std::optional<Hash> hash;
  std::optional<std::uint64_t> number;  // the hash of the written bytes, if they are one short run
  if (opened.address && opened.type == element_type_of<T> && std::endian::native == std::endian::little) {
    const bool is_one_run = elements_of(count) * static_cast<std::int64_t>(sizeof(T)) <= most_bytes_of_one_hash &&
                            std::ranges::equal(count | std::views::drop(1), shape | std::views::drop(1));
    if (impl_->notes_written && !is_one_run) hash.emplace(HashBits::of_64);
    const auto write_run = [&](std::int64_t first, std::int64_t length) {
      const auto begin = static_cast<std::uint64_t>(first) * sizeof(T);
      const auto bytes = static_cast<std::uint64_t>(length) * sizeof(T);
      const auto write = [&] { return impl_->file_bytes.write(*opened.address + begin, bytes, values + written); };
      const auto add_hashes = [&] {
        const auto* const first_byte = reinterpret_cast<const char*>(values + written);
        // Both hashes of a piece are computed while it is in a cache.
        for (std::uint64_t done = 0, size = 0; done < bytes; done += size) {
          const std::uint64_t at = begin + done;
          size = std::min(bytes - done, bytes_per_hashed_piece - at % bytes_per_hashed_piece);
          if (impl_->has_checksums) opened.hashes.add(at, size, first_byte + done);
          if (hash) hash->add(first_byte + done, size);
        }
        if (impl_->notes_written && is_one_run) number = hash_number(first_byte, bytes);
      };
      bool is_written = true;
      if (impl_->has_checksums && impl_->writes_alone && bytes >= least_bytes_hashed_beside) {
        parallel_for(2, 1, 2, [&](std::int64_t first_task, std::int64_t last_task) {
          for (std::int64_t task = first_task; task < last_task; ++task)
            if (task == 0)
              is_written = write();
            else
              add_hashes();
        });
      } else {
        is_written = write();
        add_hashes();
      }
      impl_->check(is_written ? 0 : -1);
      written += length;
    };
    for_each_run(shape, start, count, std::ref(write_run));
  } else {
    impl_->write_by_hdf5(dataset, native_type<T>(), start, count, values);
    written = elements_of(count);
  }
  if (opened.unwritten > 0) impl_->room.give_back(written * opened.element_bytes);
  opened.unwritten -= std::min(written, opened.unwritten);
  if (!impl_->notes_written) return;
  WrittenRange& noted = impl_->noted.emplace_back(WrittenRange{dataset, {}, hash ? hash->number() : number});
  noted.ranges.reserve(leading.size());
  for (const auto& [first, length] : leading) noted.ranges.emplace_back(first, length);
}

template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const float*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const double*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int8_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::uint8_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int32_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int64_t*);

void Hdf5Output::attribute(const std::string& object, const std::string& name, const std::string& value) {
  impl_->throw_latched();
  const QuietHdf5 quiet;
  const Hdf5Handle type = impl_->own(H5Tcopy(H5T_C_S1), H5Tclose);
  impl_->check(H5Tset_size(type.get(), std::max<std::size_t>(1, value.size())));
  impl_->check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  impl_->check(H5Tset_cset(type.get(), characters_of(value)));
  impl_->store_attribute(object, name, type.get(), type.get(), std::nullopt, value.c_str());
}

void Hdf5Output::attribute(const std::string& object, const std::string& name, double value) {
  impl_->store_numbers(object, name, std::nullopt, &value);
}

void Hdf5Output::attribute(const std::string& object, const std::string& name, std::int64_t value) {
  impl_->store_numbers(object, name, std::nullopt, &value);
}

void Hdf5Output::attribute(const std::string& object, const std::string& name, const std::vector<double>& values) {
  impl_->store_numbers(object, name, values.size(), values.data());
}

void Hdf5Output::attribute(const std::string& object, const std::string& name,
                           const std::vector<std::int32_t>& values) {
  impl_->store_numbers(object, name, values.size(), values.data());
}

void Hdf5Output::attribute(const std::string& object, const std::string& name,
                           const std::vector<std::int64_t>& values) {
  impl_->store_numbers(object, name, values.size(), values.data());
}

void Hdf5Output::name_axes(const std::string& dataset, std::vector<std::string> axes) {
  impl_->axes[dataset] = std::move(axes);
}

void Hdf5Output::write_axes() {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  impl_->write_axes();
}

void Hdf5Output::link(const std::string& dataset, const std::string& name) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  const auto [group, linked] = parts_of(name);
  impl_->check(H5Lcreate_hard(impl_->file.get(), dataset.c_str(), impl_->group_at(group), linked.c_str(), H5P_DEFAULT,
                              H5P_DEFAULT));
}

void Hdf5Output::show_first(const std::string& dataset, const std::string& name) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  const WrittenDataset& source = impl_->datasets.at(dataset);
  const std::vector<hsize_t> all(source.shape.begin(), source.shape.end()), start(all.size(), 0);
  std::vector<hsize_t> first = all;
  first.front() = 1;
  const int rank = static_cast<int>(all.size());
  const Hdf5Handle selection = impl_->own(H5Screate_simple(rank, all.data(), nullptr), H5Sclose);
  impl_->check(H5Sselect_hyperslab(selection.get(), H5S_SELECT_SET, start.data(), nullptr, first.data(), nullptr));
  const Hdf5Handle space = impl_->own(H5Screate_simple(rank - 1, all.data() + 1, nullptr), H5Sclose);
  const Hdf5Handle opened = impl_->own(H5Dopen2(impl_->file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type = impl_->own(H5Dget_type(opened.get()), H5Tclose);
  const Hdf5Handle creation = impl_->creation.timeless_list(H5P_DATASET_CREATE);
  impl_->check(H5Pset_virtual(creation.get(), space.get(), ".", dataset.c_str(), selection.get()));
  (void)impl_->new_dataset(name, type.get(), space.get(), creation.get());
}

void Hdf5Output::commit() {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  for (const auto& [name, dataset] : impl_->datasets) {
    if (dataset.unwritten > 0) {
      impl_->fail(Error(ErrorKind::internal, "cannot finish " + path(),
                        std::to_string(dataset.unwritten) + " elements of " + name + " were never written",
                        "Please report this."));
    }
  }
  impl_->file_bytes.keep_bytes(
      false);  // all was written anew, so bytes of an earlier run beyond the end may be cut off
  impl_->check(H5Fflush(impl_->file.get(), H5F_SCOPE_GLOBAL));
  std::optional<FileExtents> extents;
  if (impl_->has_checksums) extents = impl_->write_checksums(impl_->list_datasets());
  if (!impl_->file.close() || impl_->file_bytes.system_error()) impl_->fail();
  impl_->finish_closed(extents);
  try {
    impl_->own_target->commit();
  } catch (const Error& error) {
    impl_->fail(error);
  }
}

}  // namespace smallbatch
