// Creates, reserves, writes; every HDF5 call is checked, and so is what the file driver met below it. One file, because
// the first failure of any step is kept in one place, and every later one throws it again.
#include "io/hdf5_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/parallel.hpp"
#include "core/system_refusals.hpp"
#include "io/array_runs.hpp"
#include "io/checksums.hpp"
#include "io/format_version.hpp"
#include "io/hashes.hpp"
#include "io/hdf5_dense_links.hpp"
#include "io/hdf5_describer.hpp"
#include "io/hdf5_file_driver.hpp"
#include "io/hdf5_handles.hpp"
#include "io/hdf5_header_bytes.hpp"
#include "io/output_file.hpp"

namespace smallbatch {
namespace {

hid_t file_type(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return H5T_STD_I8LE;
    case ElementType::uint8:
      return H5T_STD_U8LE;
    case ElementType::int32:
      return H5T_STD_I32LE;
    case ElementType::int64:
      return H5T_STD_I64LE;
    case ElementType::float32:
      return H5T_IEEE_F32LE;
    case ElementType::float64:
      return H5T_IEEE_F64LE;
    default:
      break;
  }
  throw Error(ErrorKind::internal, "a dataset was asked for with a type that cannot be written. Please report this.");
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

H5T_cset_t characters_of(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 128; }) ? H5T_CSET_ASCII : H5T_CSET_UTF8;
}

/// Less is hashed where it was written, from that core's cache, sooner than a thread wakes.
constexpr std::uint64_t least_bytes_hashed_beside = std::uint64_t{1} << 20;
/// What is hashed where it lies: a state that takes more costs more than so few bytes.
constexpr std::int64_t most_bytes_of_one_hash = 4096;

/// What is kept of a dataset that HDF5 has closed: open ones take kilobytes each. There may be millions: shapes and
/// names, of which most have the same, are kept once.
struct WrittenDataset {
  const std::vector<std::int64_t>* shape = nullptr;
  std::int64_t unwritten = 0;  ///< elements
  std::int64_t element_bytes = 0;
  ElementType type = ElementType::other;
  std::uint8_t padding = 0;              ///< bytes behind it that are nobody else's
  std::optional<std::uint64_t> address;  ///< in the file; nothing where it has no elements
  PieceHashes hashes;                    ///< of what was written here, and not by HDF5
};

/// The parts of an absolute path: of its group ("": the root), and of itself in there.
std::pair<std::string_view, std::string_view> parts_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

/// The group of a set, or of what is said of one, of which there may be very many: made without HDF5.
struct PlainGroup {
  PlainDatasets datasets;  ///< that have no header yet
  std::string links;       ///< to those that have one
  std::vector<NamedMessage> attributes;
};

/// "/solve/<set>", "/verification/solve/<set>"
bool is_of_set(std::string_view group) {
  const auto slashes = std::ranges::count(group, '/');
  const bool says_of_sets = group.starts_with("/verification/") || group.starts_with("/provenance/");
  const auto is_in = [&](const char* other) { return group.starts_with(other); };
  return says_of_sets ? slashes == 3 : slashes == 2 && !is_in("/VTKHDF/") && !is_in("/uvh5/") && !is_in("/Header/");
}

/// The path of what is in a group.
std::string joined(std::string_view group, std::string_view name) {
  std::string path;
  path.reserve(group.size() + 1 + name.size());
  return path.append(group).append("/").append(name);
}

struct WrittenGroup {
  struct Member {
    const WrittenGroup* group = nullptr;
    const std::string* name = nullptr;
    Member* next = nullptr;
    WrittenDataset dataset;
  };
  std::string_view path;  ///< "": the root
  Member *first = nullptr, *last = nullptr;
  std::unique_ptr<PlainGroup> plain;     ///< while HDF5 does not know it, and it has no header
  std::optional<std::uint64_t> address;  ///< of its header, while HDF5 does not know it
  bool is_linked = false;                ///< HDF5 knows it, which was not told of it at first
};

/// The groups of a file and their datasets: a few in each of very many, of which one is mostly asked for after another
/// of its group, and a group after the one that was added before it.
class WrittenGroups {
 public:
  WrittenGroups() = default;
  WrittenGroups(const WrittenGroups&) = delete;
  WrittenGroups& operator=(const WrittenGroups&) = delete;

  WrittenGroup* find(std::string_view path) {
    if (WrittenGroup* const found = find_near(path)) return found;
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? nullptr : &go_to(found->second);
  }
  /// One that was added, where it was not there.
  WrittenGroup& at(std::string_view path) {
    if (WrittenGroup* const found = find(path)) return *found;
    auto* const kept = static_cast<char*>(memory_.allocate(path.size() + 1, 1));
    std::ranges::copy(path, kept);
    groups_.emplace_back().path = {kept, path.size()};
    try {
      by_path_.emplace(groups_.back().path, groups_.size() - 1);
    } catch (...) {  // no memory: it is not there
      groups_.pop_back();
      throw;
    }
    return go_to(groups_.size() - 1);
  }
  [[nodiscard]] bool is_latest(std::string_view path) const {
    return latest_ < groups_.size() && groups_[latest_].path == path;
  }

  static WrittenDataset* find_in(const WrittenGroup& group, std::string_view name) {
    for (WrittenGroup::Member* one = group.first; one; one = one->next)
      if (*one->name == name) return &one->dataset;
    return nullptr;
  }
  WrittenDataset* find_dataset(std::string_view path) {
    const auto [group, name] = parts_of(path);
    const WrittenGroup* const found = find(group);
    return found ? find_in(*found, name) : nullptr;
  }
  WrittenDataset& dataset_at(std::string_view path) {
    if (WrittenDataset* const found = find_dataset(path)) return *found;
    throw Error(ErrorKind::internal, std::string(path) + " was not created. Please report this.");
  }
  /// One that is not there.
  WrittenDataset& add(WrittenGroup& group, std::string_view of_path, const std::vector<std::int64_t>& shape,
                      WrittenDataset dataset = {}) {
    auto name = names_.find(of_path);
    if (name == names_.end()) name = names_.emplace(of_path).first;
    WrittenGroup::Member& added =
        datasets_.emplace_back(WrittenGroup::Member{&group, &*name, nullptr, std::move(dataset)});
    added.dataset.shape = &*shapes_.insert(shape).first;
    (group.first ? group.last->next : group.first) = &added;
    group.last = &added;
    return added.dataset;
  }
  [[nodiscard]] std::size_t dataset_count() const { return datasets_.size(); }
  /// visit(group, name, dataset), in the order in which they were added.
  template <class Visit>
  void for_each_dataset(const Visit& visit) {
    for (auto& [group, name, next, dataset] : datasets_) visit(group->path, *name, dataset);
  }
  template <class Visit>
  void for_each_group(const Visit& visit) {
    std::ranges::for_each(groups_, visit);
  }

 private:
  /// Without looking it up: near the latest, or near the one before.
  WrittenGroup* find_near(std::string_view path) {
    for (const std::size_t guess : {latest_, latest_ + 1, latest_ + 2, latest_ - 1, earlier_ + 1, earlier_ + 2})
      if (guess < groups_.size() && groups_[guess].path == path) return &go_to(guess);
    return nullptr;
  }
  WrittenGroup& go_to(std::size_t number) {
    if (number != latest_) earlier_ = std::exchange(latest_, number);
    return groups_[number];
  }

  std::pmr::monotonic_buffer_resource memory_;  ///< nothing is given back before the end
  std::pmr::deque<WrittenGroup> groups_{&memory_};
  std::pmr::unordered_map<std::string_view, std::size_t> by_path_{&memory_};
  std::size_t latest_ = 0, earlier_ = 0;  ///< numbers of those that were asked for
  std::pmr::deque<WrittenGroup::Member> datasets_{&memory_};
  std::set<std::string, std::less<>> names_;
  std::set<std::vector<std::int64_t>> shapes_;
};

/// A type of elements: HDF5 is asked once.
struct WrittenType {
  Hdf5Handle type;
  std::size_t bytes = 0;
  std::string in_header;
  std::map<std::uint64_t, std::string> fills;  ///< values of the type, by the bits of the doubles that they are
};

/// A dataset of texts, which HDF5 has written.
struct WrittenText {
  Extent extent;  ///< empty where it has no bytes
  PieceHashes hashes;
};

void put_attribute(std::vector<NamedMessage>& attributes, NamedMessage attribute) {
  const auto same = std::ranges::find(attributes, attribute.name, &NamedMessage::name);
  if (same == attributes.end())
    attributes.push_back(std::move(attribute));
  else
    *same = std::move(attribute);
}

/// Of the groups that a file of this product has one in another.
constexpr std::size_t deepest = 8;

}  // namespace

struct Hdf5Output::Impl {
  std::optional<OutputFile> own_target;  ///< of the process that made the file
  std::string path, temporary;
  bool writes_alone = true;  ///< one thread a block: then another one hashes it meanwhile
  OutputBytes file_bytes;
  Hdf5Handle driver;
  Hdf5Handle file;
  Hdf5Handle parents;                                           ///< the property list that creates them
  std::map<std::optional<std::uint64_t>, Hdf5Handle> creation;  ///< property lists, by the bits of what fills
  /// By their paths: what was created or asked for last, and will be asked for soon. To look a path up takes HDF5 as
  /// long as to create a dataset.
  std::map<std::string, Hdf5Handle> at_hand;
  WrittenGroups groups;
  std::map<std::pair<ElementType, NumberForm>, WrittenType> types;
  ReferenceHeap references{[this](std::uint64_t size) { return file_bytes.take(size); },
                           [this](std::uint64_t address, const std::string& bytes) { put(address, bytes); }};
  ScaleTypes scale_types;
  HeaderPatterns patterns;
  bool has_checksums = false;
  std::unordered_map<std::string, WrittenText> texts;
  std::int64_t pending_bytes = 0;    ///< declared, not yet written
  std::int64_t asked_for_bytes = 0;  ///< as many as that when the disk was asked last
  bool keeps_numbers = false, notes_written = false, writes_together = false;
  std::vector<WrittenRange> noted;
  std::vector<std::int64_t> box_start, box_count;  ///< of what is written; their memory is taken once
  std::optional<Error> failure;

  Impl(OutputFile output, bool keeps, unsigned threads)
      : own_target(std::move(output)),
        path(own_target->path()),
        temporary(own_target->temporary_path()),
        writes_alone(threads == 1),
        file_bytes(threads),
        keeps_numbers(keeps) {}
  explicit Impl(const OutputLayout& layout) : path(layout.path), temporary(layout.temporary), file_bytes(1) {}

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

  hid_t creates_parents() {
    if (!parents.valid()) {
      parents = own(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
      check(H5Pset_create_intermediate_group(parents.get(), 1));
    }
    return parents.get();
  }

  /// Before objects are asked for: there is room for a set's.
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
  /// An object that exists ("/": the root).
  hid_t object_at(const std::string& object) {
    if (object == "/") return file.get();
    link_plain(object);
    link_plain(parts_of(object).first);
    if (const auto found = at_hand.find(object); found != at_hand.end()) return found->second.get();
    return keep_at_hand(object, own(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT), H5Oclose));
  }
  /// A group ("": the root), which is created where there is none.
  hid_t group_at(std::string_view path_of_group) {
    if (path_of_group.empty()) return file.get();
    const std::string group(path_of_group);
    link_plain(group);
    if (const auto found = at_hand.find(group); found != at_hand.end()) return found->second.get();
    const auto [parent, of_group] = parts_of(group);
    const std::string name(of_group);
    const hid_t inside = group_at(parent);
    const bool exists = check(H5Lexists(inside, name.c_str(), H5P_DEFAULT)) > 0;
    const hid_t opened = exists ? H5Gopen2(inside, name.c_str(), H5P_DEFAULT)
                                : H5Gcreate2(inside, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return keep_at_hand(group, own(opened, H5Gclose));
  }
  /// Creates a dataset, which is at hand then.
  hid_t new_dataset(const std::string& dataset, hid_t type, hid_t space, hid_t creation_list) {
    const auto [group, of_dataset] = parts_of(dataset);
    const std::string name(of_dataset);
    const hid_t inside = group_at(group);
    return keep_at_hand(
        dataset, own(H5Dcreate2(inside, name.c_str(), type, space, H5P_DEFAULT, creation_list, H5P_DEFAULT), H5Dclose));
  }

  void put(std::uint64_t address, const std::string& bytes) {
    check(file_bytes.write(address, bytes.size(), bytes.data()) ? 0 : -1);
  }

  /// Of what is HDF5's to read: what follows each other is written together, at the latest before HDF5 reads.
  void put_joined(std::uint64_t address, const std::string& bytes) {
    check(file_bytes.write_joined(address, bytes.size(), bytes.data()) ? 0 : -1);
  }

  /// What is known of a group while it has no header, or null.
  PlainGroup* find_plain(std::string_view group) {
    const WrittenGroup* const found = groups.find(group);
    return found ? found->plain.get() : nullptr;
  }

  /// A group that is to be made without HDF5, or null: HDF5 knows it, or it is no set's.
  static PlainGroup* plain_group(WrittenGroup& group) {
    if (!group.plain && !group.address && !group.is_linked && is_of_set(group.path))
      group.plain = std::make_unique<PlainGroup>();
    return group.plain.get();
  }

  /// A type as headers have it.
  std::string header_type(hid_t type) {
    std::size_t size = 0;
    check(H5Tencode(type, nullptr, &size));
    std::string encoded(size, '\0');
    check(H5Tencode(type, encoded.data(), &size));
    return encoded.substr(2);  // the first two say that it is a type
  }

  /// Writes the headers of the datasets that have none.
  void settle(PlainGroup& group) {
    if (group.datasets.empty()) return;
    if (scale_types.list.empty()) {
      const QuietHdf5 quiet;
      const Hdf5Handle list = own(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
      const Hdf5Handle uses = own(H5Tcreate(H5T_COMPOUND, 2 * sizeof(hobj_ref_t)), H5Tclose);
      check(H5Tinsert(uses.get(), "dataset", 0, H5T_STD_REF_OBJ));
      check(H5Tinsert(uses.get(), "dimension", sizeof(hobj_ref_t), H5T_STD_U32LE));
      scale_types = {header_type(list.get()), header_type(uses.get()), header_type(H5T_IEEE_F32BE)};
    }
    group.links += write_datasets(
        group.datasets, scale_types, patterns, references,
        [this](std::uint64_t size) { return file_bytes.take(size, 1); },
        [this](std::uint64_t address, const std::string& bytes) { put_joined(address, bytes); });
    group.datasets = {};
  }

  /// Writes the header of a group that gets nothing more without HDF5: then its address is all that is kept of it.
  void place(WrittenGroup& group) {
    settle(*group.plain);
    const std::string header = group_header(group.plain->links, group.plain->attributes);
    group.address = file_bytes.take(header.size(), 1);
    put_joined(*group.address, header);
    group.plain.reset();
  }

  /// HDF5 knows a group from now on, where it was made without it. Whatever it reads has been written by then.
  void link_plain(std::string_view path_of_group) {
    WrittenGroup* const group = groups.find(path_of_group);
    if (!group) return;
    if (group->plain) place(*group);
    if (!group->address) return;
    const std::uint64_t address = *std::exchange(group->address, std::nullopt);
    group->is_linked = true;
    references.flush();
    link_at(group->path, address);
  }
  /// Its header says that it has one link, which HDF5 is to count.
  void link_at(std::string_view group, std::uint64_t address) {
    const auto [parent, of_group] = parts_of(group);
    const std::string name(of_group);
    const hid_t inside = group_at(parent);
    const Hdf5Handle opened = own(H5Oopen_by_addr(file.get(), address), H5Oclose);
    check(H5Odecr_refcount(opened.get()));
    check(H5Olink(opened.get(), inside, name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  }

  /// A group that HDF5 does not know, with members that have headers: as HDF5 would make it, but at once.
  void make_parent(const std::string& group, const std::vector<GroupMember>& members) {
    const auto reserve = [this](std::uint64_t size) { return file_bytes.take(size); };
    const auto write = [this](std::uint64_t address, const std::string& bytes) { put_joined(address, bytes); };
    const bool are_few = members.size() <= most_members_in_header;
    const std::string header = are_few ? group_header(links_to(members), {})
                                       : group_header({}, {}, write_dense_links(members, reserve, write));
    const std::uint64_t address = reserve(header.size());
    write(address, header);
    link_at(group, address);
  }

  /// HDF5 knows all groups from now on.
  void link_all_plain() {
    std::map<std::string, std::vector<GroupMember>, std::less<>> parents_of_placed;
    groups.for_each_group([&](WrittenGroup& group) {
      if (group.plain) place(group);
      if (!group.address) return;
      const auto [parent, name] = parts_of(group.path);
      auto found = parents_of_placed.find(parent);
      if (found == parents_of_placed.end()) found = parents_of_placed.try_emplace(std::string(parent)).first;
      found->second.push_back({std::string(name), *std::exchange(group.address, std::nullopt)});
      group.is_linked = true;
    });
    references.flush();
    for (auto& [parent, members] : parents_of_placed) {
      std::ranges::sort(members, {}, &GroupMember::name);
      const auto [above, name] = parts_of(parent);
      const bool has_long_names = std::ranges::any_of(
          members, [](const GroupMember& member) { return member.name.size() > longest_dense_name; });
      if (!has_long_names && check(H5Lexists(group_at(above), std::string(name).c_str(), H5P_DEFAULT)) == 0) {
        make_parent(parent, members);
      } else {
        for (const GroupMember& member : members) link_at(parent + "/" + member.name, member.address);
      }
    }
  }

  /// Of datasets in one piece, which is allocated at once.
  hid_t creation_list(std::optional<double> fill) {
    const auto key = fill ? std::optional(std::bit_cast<std::uint64_t>(*fill)) : std::nullopt;
    Hdf5Handle& list = creation[key];
    if (list.valid()) return list.get();
    list = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_layout(list.get(), H5D_CONTIGUOUS));
    check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(list.get(), fill ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER));
    if (fill) check(H5Pset_fill_value(list.get(), H5T_NATIVE_DOUBLE, &*fill));
    return list.get();
  }

  /// Refuses before the first byte what the disk cannot hold.
  void reserve(const std::string& dataset, const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
    std::int64_t bytes = element_bytes;
    for (const std::int64_t length : shape) {
      if (length < 0 || __builtin_mul_overflow(bytes, length, &bytes)) {
        fail(Error(ErrorKind::output, "cannot write " + dataset + " of " + path,
                   "shape " + shape_text(shape) + " has more bytes than a file can", "Make it smaller."));
      }
    }
    std::int64_t needed = 0;
    if (__builtin_add_overflow(pending_bytes, bytes, &needed)) needed = INT64_MAX;
    // Of very many small datasets not each asks the disk.
    constexpr std::int64_t bytes_unasked = std::int64_t{1} << 20;
    struct statvfs disk {};
    if (needed - asked_for_bytes >= bytes_unasked || asked_for_bytes == 0) {
      asked_for_bytes = needed;
    } else {
      pending_bytes = needed;
      return;
    }
    if (::statvfs(temporary.c_str(), &disk) == 0) {
      std::int64_t free_bytes = 0;
      if (__builtin_mul_overflow(static_cast<std::int64_t>(disk.f_bavail), static_cast<std::int64_t>(disk.f_frsize),
                                 &free_bytes)) {
        free_bytes = INT64_MAX;
      }
      struct stat kept {};
      if (keeps_numbers && ::stat(temporary.c_str(), &kept) == 0) {
        constexpr std::int64_t block_bytes = 512;
        if (__builtin_add_overflow(free_bytes, kept.st_blocks * block_bytes, &free_bytes)) free_bytes = INT64_MAX;
      }
      if (needed > free_bytes) {
        fail(Error(
            ErrorKind::output, "cannot write " + path,
            "disk full: needed " + std::to_string(needed) + " bytes, free " + std::to_string(free_bytes) + " bytes",
            "Free some space or write to another disk."));
      }
    }
    pending_bytes = needed;
  }

  Hdf5Handle stored_type(ElementType type, NumberForm form) {
    const hid_t number = file_type(type);
    if (form == NumberForm::plain) return own(H5Tcopy(number), H5Tclose);
    if (form == NumberForm::boolean) {
      Hdf5Handle boolean = own(H5Tenum_create(number), H5Tclose);
      const std::array<std::int8_t, 2> values{0, 1};
      check(H5Tenum_insert(boolean.get(), "FALSE", values.data()));
      check(H5Tenum_insert(boolean.get(), "TRUE", &values[1]));
      return boolean;
    }
    const std::size_t bytes = H5Tget_size(number);
    Hdf5Handle complex = own(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
    check(H5Tinsert(complex.get(), "r", 0, number));
    check(H5Tinsert(complex.get(), "i", bytes, number));
    return complex;
  }

  WrittenType& known_type(ElementType type, NumberForm form) {
    WrittenType& known = types[{type, form}];
    if (known.type.valid()) return known;
    const QuietHdf5 quiet;
    known.type = stored_type(type, form);
    known.bytes = H5Tget_size(known.type.get());
    known.in_header = header_type(known.type.get());
    return known;
  }

  /// Nothing is created twice: of two datasets under one name the file would have one.
  void refuse_again(const WrittenGroup& group, const std::string& dataset) {
    if (!WrittenGroups::find_in(group, parts_of(dataset).second) && !texts.contains(dataset)) return;
    fail(Error(ErrorKind::usage, "cannot create " + dataset + " of " + path, "it is there already",
               "Add each set once, under a name of its own."));
  }

  /// Behind so many bytes, up to where the next room begins.
  static std::uint64_t padding_of(std::uint64_t bytes) {
    return (OutputBytes::step - bytes % OutputBytes::step) % OutputBytes::step;
  }

  /// Numbers of a dataset, its bytes from `begin` on. Of those that are written together, and follow each other, one
  /// piece is made; what pads one is its own, so that between two is nothing that could be another's.
  bool write_numbers(const WrittenDataset& dataset, std::uint64_t begin, std::uint64_t bytes, const void* values) {
    constexpr std::uint64_t most_joined = 4096;
    const std::uint64_t address = *dataset.address + begin;
    if (!writes_together || bytes > most_joined) return file_bytes.write(address, bytes, values);
    constexpr std::array<char, OutputBytes::step> zeros{};
    const auto all = static_cast<std::uint64_t>(elements_of(*dataset.shape) * dataset.element_bytes);
    return file_bytes.write_joined(address, bytes, values) &&
           (begin + bytes < all || file_bytes.write_joined(address + bytes, dataset.padding, zeros.data()));
  }

  /// Room for a dataset of a set, and what its header will say.
  PlainDataset& create_plain(PlainGroup& group, const std::string& dataset, const std::string& type,
                             const std::vector<std::int64_t>& shape, std::size_t element_bytes) {
    PlainDataset& created = group.datasets[std::string(parts_of(dataset).second)];
    created = {type, shape, {}, static_cast<std::uint64_t>(elements_of(shape)) * element_bytes, {}, {}, {}};
    if (created.bytes > 0) created.address = file_bytes.take(created.bytes + padding_of(created.bytes));
    return created;
  }

  /// Every element is `fill`, of that type.
  void fill_plain(PlainDataset& dataset, WrittenType& type, double fill) {
    std::string& value = type.fills[std::bit_cast<std::uint64_t>(fill)];
    if (value.empty()) {
      const QuietHdf5 quiet;
      value.assign(std::max(type.bytes, sizeof fill), '\0');
      std::memcpy(value.data(), &fill, sizeof fill);
      check(H5Tconvert(H5T_NATIVE_DOUBLE, type.type.get(), 1, value.data(), nullptr, H5P_DEFAULT));
      value.resize(type.bytes);
    }
    dataset.fill = value;
    if (keeps_numbers) return;                                    // it is there, and others over it
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;  // a whole number of elements
    std::string part;
    for (std::uint64_t done = 0; done < dataset.bytes; done += most_bytes) {
      const std::uint64_t bytes = std::min(most_bytes, dataset.bytes - done);
      while (part.size() < bytes) part += dataset.fill;
      part.resize(bytes);
      if (done + bytes == dataset.bytes) part.append(padding_of(dataset.bytes), '\0');  // up to what comes next
      put_joined(*dataset.address + done, part);
    }
  }

  /// Texts (std::string, std::string_view).
  template <class Texts>
  void write_strings(const std::string& dataset, const std::vector<std::int64_t>& shape, const Texts& of_dataset) {
    const QuietHdf5 quiet;
    throw_latched();
    WrittenGroup& group_of_it = groups.at(parts_of(dataset).first);
    refuse_again(group_of_it, dataset);
    make_room();
    std::size_t length = 1;
    for (const auto& text : of_dataset) length = std::max(length, text.size());
    std::string bytes;
    bytes.reserve(of_dataset.size() * length);
    for (const auto& text : of_dataset) bytes.append(text).append(length - text.size(), '\0');
    if (PlainGroup* const group = plain_group(group_of_it)) {
      const std::string type = text_type(length, TextEnd::padded, characters_of(bytes) == H5T_CSET_UTF8);
      const PlainDataset& created = create_plain(*group, dataset, type, shape, length);
      if (created.address) put(*created.address, bytes);
      const Extent extent = created.address ? Extent{*created.address, created.bytes} : Extent{};
      texts[dataset] = {extent, PieceHashes(extent.size)};
      return;
    }
    const Hdf5Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type.get(), length));
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
    check(H5Tset_cset(type.get(), characters_of(bytes)));
    const std::vector<hsize_t> dims(shape.begin(), shape.end());
    const Hdf5Handle space = own(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    const hid_t created = new_dataset(dataset, type.get(), space.get(), H5P_DEFAULT);
    check(H5Dwrite(created, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
    const haddr_t address = H5Dget_offset(created);
    const Extent extent = address == HADDR_UNDEF ? Extent{} : Extent{address, H5Dget_storage_size(created)};
    texts[dataset] = {extent, PieceHashes(extent.size)};
  }

  void create(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
              std::optional<double> fill, NumberForm form = NumberForm::plain) {
    throw_latched();
    const auto [path_of_group, name] = parts_of(dataset);
    WrittenGroup& group_of_it = groups.at(path_of_group);
    refuse_again(group_of_it, dataset);
    WrittenType& known = known_type(type, form);
    const auto element_bytes = static_cast<std::int64_t>(known.bytes);
    reserve(dataset, shape, element_bytes);
    WrittenDataset created;
    created.type = type;
    created.element_bytes = static_cast<std::int64_t>(bytes_of(type));
    std::uint64_t bytes = 0;
    if (PlainGroup* const group = plain_group(group_of_it)) {
      PlainDataset& made = create_plain(*group, dataset, known.in_header, shape, known.bytes);
      if (fill) fill_plain(made, known, *fill);
      created.address = made.address;
      created.padding = static_cast<std::uint8_t>(padding_of(made.bytes));
      bytes = made.bytes;
    } else {
      const QuietHdf5 quiet;
      make_room();
      const std::vector<hsize_t> dims(shape.begin(), shape.end());
      const Hdf5Handle space = own(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
      file_bytes.drop_numbers(fill && keeps_numbers);
      const hid_t handle = new_dataset(dataset, known.type.get(), space.get(), creation_list(fill));
      file_bytes.drop_numbers(false);
      const haddr_t address = H5Dget_offset(handle);
      if (address != HADDR_UNDEF) created.address = address;
      bytes = H5Dget_storage_size(handle);
    }
    if (has_checksums && created.address) created.hashes = PieceHashes(bytes);
    if (fill) pending_bytes -= std::min(pending_bytes, static_cast<std::int64_t>(bytes));
    std::vector<std::int64_t> of_complex;
    if (form == NumberForm::complex) {
      of_complex = shape;
      of_complex.push_back(2);
    }
    const std::vector<std::int64_t>& all = form == NumberForm::complex ? of_complex : shape;
    created.unwritten = fill ? 0 : elements_of(all);
    groups.add(group_of_it, name, all, std::move(created));
  }

  /// Those of an object that has no header yet, or null.
  std::vector<NamedMessage>* plain_attributes(const std::string& object) {
    const auto [parent, name] = parts_of(object);
    // One that is asked for is the object itself, or what that is in.
    PlainGroup* group = groups.is_latest(parent) ? find_plain(parent) : nullptr;
    if (!group)
      if (PlainGroup* const itself = find_plain(object)) return &itself->attributes;
    if (!group) group = find_plain(parent);
    if (!group) return nullptr;
    const auto dataset = group->datasets.find(name);
    return dataset == group->datasets.end() ? nullptr : &dataset->second.attributes;
  }

  template <class T>
  void store_numbers(const std::string& object, const std::string& name, std::optional<std::size_t> length,
                     const T* values) {
    throw_latched();
    std::vector<NamedMessage>* const attributes = plain_attributes(object);
    if (!attributes)
      return store_attribute(object, name, file_type(element_type_of<T>), native_type<T>(), length, values);
    const std::size_t count = length.value_or(1);
    std::string bytes(reinterpret_cast<const char*>(values), count * sizeof(T));
    if (std::endian::native != std::endian::little) {
      const QuietHdf5 quiet;
      check(H5Tconvert(native_type<T>(), file_type(element_type_of<T>), count, bytes.data(), nullptr, H5P_DEFAULT));
    }
    const std::string& type = known_type(element_type_of<T>, NumberForm::plain).in_header;
    put_attribute(*attributes, attribute_message(name, type, length, bytes));
  }

  /// Of an object that HDF5 knows.
  void store_attribute(const std::string& object, const std::string& name, hid_t stored_type, hid_t memory_type,
                       std::optional<std::size_t> length, const void* values) {
    const QuietHdf5 quiet;
    make_room();
    const hid_t of = object_at(object);
    if (check(H5Aexists(of, name.c_str())) > 0) check(H5Adelete(of, name.c_str()));
    const hsize_t dim = length.value_or(1);
    const Hdf5Handle space = own(length ? H5Screate_simple(1, &dim, nullptr) : H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle attribute =
        own(H5Acreate2(of, name.c_str(), stored_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(H5Awrite(attribute.get(), memory_type, values));
  }

  /// Converts to the type in the file.
  void write_by_hdf5(const std::string& dataset, hid_t memory_type, const std::vector<std::int64_t>& start,
                     const std::vector<std::int64_t>& count, const void* values) {
    const QuietHdf5 quiet;
    link_plain(parts_of(dataset).first);
    const std::vector<hsize_t> first(start.begin(), start.end()), length(count.begin(), count.end());
    Hdf5Handle opened = own(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle file_space = own(H5Dget_space(opened.get()), H5Sclose);
    const Hdf5Handle memory_space =
        own(H5Screate_simple(static_cast<int>(length.size()), length.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, first.data(), nullptr, length.data(), nullptr));
    check(H5Dwrite(opened.get(), memory_type, memory_space.get(), file_space.get(), H5P_DEFAULT, values));
    if (!opened.close()) fail();
  }

  /// Reads what others, HDF5 or no one wrote, as the file has it.
  void hash_missing_pieces(std::uint64_t address, PieceHashes& hashes) {
    std::vector<std::size_t> missing;
    for (std::size_t k = 0; k < hashes.count(); ++k)
      if (hashes.is_missing(k)) missing.push_back(k);
    if (missing.empty()) return;
    check(file_bytes.write_held() ? 0 : -1);
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
    std::string name;
    Extent extent;
    PieceHashes* hashes;
  };
  /// All, by their names. HDF5 is not asked.
  std::vector<Listed> list_datasets() {
    std::vector<Listed> all;
    all.reserve(groups.dataset_count() + texts.size());
    groups.for_each_dataset([&](std::string_view group, const std::string& name, WrittenDataset& dataset) {
      if (!dataset.address) return;
      const auto bytes = static_cast<std::uint64_t>(elements_of(*dataset.shape) * dataset.element_bytes);
      all.push_back({joined(group, name), {*dataset.address, bytes}, &dataset.hashes});
    });
    for (auto& [name, text] : texts)
      if (text.extent.size > 0) all.push_back({name, text.extent, &text.hashes});
    std::ranges::sort(all, {}, &Listed::name);
    return all;
  }

  /// What the bytes of all datasets are, in /checksums (io/checksums.hpp), and who has which place in the file.
  FilePlaces write_checksums(const std::vector<Listed>& all) {
    const std::size_t digits_of_one = hash_digits(nullptr, 0).size();
    FilePlaces places;
    std::vector<std::string_view> names, hashes;
    std::string digits;
    std::vector<std::int64_t> piece_offset{0};
    places.listed.reserve(all.size());
    names.reserve(all.size());
    hashes.reserve(all.size());
    digits.reserve(all.size() * digits_of_one);
    piece_offset.reserve(all.size() + 1);
    for (const auto& [name, extent, of_pieces] : all) {
      hash_missing_pieces(extent.address, *of_pieces);
      names.push_back(name);
      for (std::size_t piece = 0; piece < of_pieces->count(); ++piece) digits += of_pieces->digits(piece);
      piece_offset.push_back(piece_offset.back() + static_cast<std::int64_t>(of_pieces->count()));
      places.listed.push_back(extent);
    }
    for (std::size_t begin = 0; begin < digits.size(); begin += digits_of_one)
      hashes.push_back(std::string_view(digits).substr(begin, digits_of_one));
    write_strings(checksums_dataset, {static_cast<std::int64_t>(names.size())}, names);
    create(checksums_offset, ElementType::int64, {static_cast<std::int64_t>(piece_offset.size())}, std::nullopt);
    WrittenDataset& offset = groups.dataset_at(checksums_offset);
    write_by_hdf5(checksums_offset, H5T_NATIVE_INT64, {0}, *offset.shape, piece_offset.data());
    offset.unwritten = 0;
    write_strings(checksums_hash, {static_cast<std::int64_t>(hashes.size())}, hashes);
    write_strings(checksums_rest, {2}, std::vector(2, std::string(digits_of_one, '0')));
    let_go();
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL));
    places.tables = {texts.at(checksums_dataset).extent,
                     {offset.address.value_or(0), piece_offset.size() * sizeof(std::int64_t)},
                     texts.at(checksums_hash).extent};
    places.rest = texts.at(checksums_rest).extent;
    return places;
  }

  /// Once HDF5 has closed it: what is in no dataset, and /checksums itself.
  void write_checksum_of_rest(const FilePlaces& places) {
    OutputBytes closed(1);
    const auto read = [&](const Extent& extent, char* bytes) {
      return closed.read(extent.address, extent.size, bytes);
    };
    std::string digits;
    if (closed.open(temporary, false)) digits = hashes_of_rest(places, closed.size(), read);
    if (closed.system_error() == 0 && closed.write(places.rest.address, digits.size(), digits.data()) && closed.close())
      return;
    fail(output_error(path, closed.system_error()));
  }

  /// Of the bytes of these runs of a dataset's elements, as the file has them; nothing where it does not. The pieces'
  /// hashes are of the bytes that are compared: what changes in the file afterwards is noticed.
  static std::optional<std::uint64_t> hash_in_file(int source, WrittenDataset& dataset,
                                                   const std::vector<std::int64_t>& start,
                                                   const std::vector<std::int64_t>& count) {
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    Hash hash(HashBits::of_64);
    std::vector<char> buffer(std::min(most, static_cast<std::uint64_t>(elements_of(count) * dataset.element_bytes)));
    bool is_there = true;
    for_each_run(*dataset.shape, start, count, [&](std::int64_t first, std::int64_t length) {
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

  /// The file as the next program will see it: everything there, nothing unwritten.
  void read_back() {
    const auto refuse = [this](const std::string& why) {
      return Error(ErrorKind::output, "cannot write " + path, "reading it back failed: " + why,
                   "Check the disk and try again.");
    };
    std::size_t found = 0;
    try {
      constexpr unsigned most_threads = 4;  // each has some sets in memory
      Hdf5Describer describer(std::make_shared<InputBytes>(temporary, 1), {}, std::min(thread_count(0), most_threads),
                              false);
      for_each_object(describer, [&](const std::string& name, const StoredObject& object) {
        const WrittenDataset* const expected = object.kind == ObjectKind::group ? nullptr : groups.find_dataset(name);
        if (!expected) return;
        ++found;
        if (object.contents_defect) throw refuse(name + ": " + object.contents_defect->why);
        if (!object.dataset || object.dataset->info.shape != *expected->shape) throw refuse(name + ": wrong shape");
        if (object.dataset->address != expected->address) throw refuse(name + ": not where it was written");
      });
    } catch (const Defect& defect) {
      throw refuse(defect.why);
    }
    if (found != groups.dataset_count())
      throw refuse(std::to_string(groups.dataset_count() - found) + " datasets are not there");
  }

  /// Calls visit(path, object) for what the file holds; nothing of it is kept.
  template <class Visit>
  static void for_each_object(Hdf5Describer& describer, const Visit& visit) {
    struct Level {
      std::string path;
      std::vector<StoredObject> members;
      std::size_t next = 0;
    };
    std::vector<Level> levels;  // the groups that the next object is in
    std::string name;
    describer.describe("/", deepest, [&](StoredObject&& object) {
      while (!levels.empty() && levels.back().next == levels.back().members.size()) levels.pop_back();
      name.clear();
      if (!levels.empty()) {
        Level& level = levels.back();
        name.append(level.path).append("/").append(level.members[level.next++].name);
      }
      visit(name, object);
      const bool is_group = object.kind == ObjectKind::group;
      if (is_group && levels.size() < deepest) levels.push_back({name, std::move(object.members)});
    });
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
    impl_->driver = impl_->own(use_file_driver(access.get(), &impl_->file_bytes), H5FDunregister);
    impl_->file = impl_->own(H5Fcreate(impl_->temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
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
    const auto [group, name_in_it] = parts_of(name);
    WrittenDataset& dataset = impl_->groups.add(impl_->groups.at(group), name_in_it, shape);
    dataset.type = static_cast<ElementType>(type);
    if (address >= 0) dataset.address = static_cast<std::uint64_t>(address);
    dataset.unwritten = elements_of(shape);
  }
}

OutputLayout Hdf5Output::layout() const {
  OutputLayout layout{impl_->path, std::filesystem::absolute(impl_->temporary).string(), {}};
  impl_->groups.for_each_dataset([&](std::string_view group, const std::string& name, const WrittenDataset& dataset) {
    layout.datasets.push_back({joined(group, name), static_cast<int>(dataset.type), *dataset.shape,
                               dataset.address ? static_cast<std::int64_t>(*dataset.address) : -1});
  });
  return layout;
}

WrittenElements Hdf5Output::written() const {
  WrittenElements elements;
  impl_->groups.for_each_dataset([&](std::string_view group, const std::string& name, const WrittenDataset& dataset) {
    elements[joined(group, name)] = elements_of(*dataset.shape) - dataset.unwritten;
  });
  return elements;
}

void Hdf5Output::others_have_written(const WrittenElements& elements) {
  for (const auto& [name, count] : elements) {
    WrittenDataset& dataset = impl_->groups.dataset_at(name);
    dataset.unwritten -= std::min(count, dataset.unwritten);  // none are, of those that were filled
  }
}

void Hdf5Output::note_written(bool is_noted) {
  impl_->notes_written = is_noted;
  impl_->noted.clear();
}

std::vector<WrittenRange> Hdf5Output::take_written() {
  std::vector<WrittenRange> written = std::exchange(impl_->noted, {});
  impl_->noted.reserve(written.size());  // the next ones are mostly as many
  return written;
}

bool Hdf5Output::has_all(const std::vector<WrittenRange>& written) {
  const int source = ::open(impl_->temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  std::map<WrittenDataset*, std::int64_t> elements;
  const bool has_them = std::ranges::all_of(written, [&](const WrittenRange& range) {
    WrittenDataset* const found = impl_->groups.find_dataset(range.dataset);
    if (!found || !found->address || !range.hash) return false;
    WrittenDataset& dataset = *found;
    std::vector<std::int64_t> start(dataset.shape->size(), 0), count = *dataset.shape;
    if (range.ranges.size() > count.size()) return false;
    for (std::size_t axis = 0; axis < range.ranges.size(); ++axis) {
      std::tie(start[axis], count[axis]) = range.ranges[axis];
      if (start[axis] < 0 || count[axis] <= 0 || start[axis] > (*dataset.shape)[axis] - count[axis]) return false;
    }
    elements[&dataset] += elements_of(count);
    return Impl::hash_in_file(source, dataset, start, count) == range.hash;
  });
  ::close(source);
  if (!has_them) return false;
  for (const auto& [dataset, number] : elements) {
    if (dataset->unwritten > 0) impl_->pending_bytes -= number * dataset->element_bytes;
    dataset->unwritten -= std::min(number, dataset->unwritten);
  }
  return true;
}

void Hdf5Output::keep_unfinished(bool is_kept) {
  if (impl_->own_target) impl_->own_target->keep(is_kept);
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
  (void)impl_->new_dataset(dataset, H5T_IEEE_F32LE, space.get(), H5P_DEFAULT);
}

void Hdf5Output::create_group(const std::string& group) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  if (!Impl::plain_group(impl_->groups.at(group))) (void)impl_->group_at(group);
}

void Hdf5Output::allocate() {
  impl_->throw_latched();
  // What fills datasets is in the file before anyone writes over it, or goes on with the file.
  impl_->check(impl_->file_bytes.write_held() ? 0 : -1);
  std::uint64_t end = 0;
  impl_->groups.for_each_dataset([&](std::string_view, const std::string&, const WrittenDataset& dataset) {
    const auto bytes = static_cast<std::uint64_t>(elements_of(*dataset.shape) * dataset.element_bytes);
    if (dataset.address) end = std::max(end, *dataset.address + bytes);
  });
  impl_->file_bytes.allocate(end);
}

template <class T>
void Hdf5Output::write(const std::string& dataset, std::initializer_list<AxisRange> leading, const T* values) {
  impl_->throw_latched();
  WrittenDataset* const found = impl_->groups.find_dataset(dataset);
  if (!found) {
    throw Error(ErrorKind::usage,
                dataset + " of " + path() + " was not added before it was written. Add its set first.");
  }
  WrittenDataset& opened = *found;
  const std::vector<std::int64_t>& shape = *opened.shape;
  std::vector<std::int64_t>&start = impl_->box_start, &count = impl_->box_count;
  start.assign(shape.size(), 0);
  count = shape;
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
  std::optional<std::uint64_t> number;  // the hash of what is written, where it is one run
  if (opened.address && opened.type == element_type_of<T> && std::endian::native == std::endian::little) {
    const bool is_one_run = elements_of(count) * static_cast<std::int64_t>(sizeof(T)) <= most_bytes_of_one_hash &&
                            std::ranges::equal(count | std::views::drop(1), shape | std::views::drop(1));
    if (impl_->notes_written && !is_one_run) hash.emplace(HashBits::of_64);
    const auto write_run = [&](std::int64_t first, std::int64_t length) {
      const auto begin = static_cast<std::uint64_t>(first) * sizeof(T);
      const auto bytes = static_cast<std::uint64_t>(length) * sizeof(T);
      const auto write = [&] { return impl_->write_numbers(opened, begin, bytes, values + written); };
      const auto add_hashes = [&] {
        const auto* const first_byte = reinterpret_cast<const char*>(values + written);
        // Both hashes of a piece while it is in a cache.
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
  if (opened.unwritten > 0) impl_->pending_bytes -= written * opened.element_bytes;
  opened.unwritten -= std::min(written, opened.unwritten);
  if (!impl_->notes_written) return;
  WrittenRange& noted = impl_->noted.emplace_back(WrittenRange{dataset, {}, hash ? hash->number() : number});
  noted.ranges.reserve(leading.size());
  for (const auto& [first, length] : leading) noted.ranges.emplace_back(first, length);
}

void Hdf5Output::write_together(const std::function<void()>& write_all) {
  impl_->throw_latched();
  impl_->check(impl_->file_bytes.write_held() ? 0 : -1);
  impl_->writes_together = true;
  try {
    write_all();
  } catch (...) {
    impl_->writes_together = false;
    (void)impl_->file_bytes.write_held();
    throw;
  }
  impl_->writes_together = false;
  impl_->check(impl_->file_bytes.write_held() ? 0 : -1);
}

template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const float*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const double*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int8_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::uint8_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int32_t*);
template void Hdf5Output::write(const std::string&, std::initializer_list<AxisRange>, const std::int64_t*);

void Hdf5Output::attribute(const std::string& object, const std::string& name, const std::string& value) {
  impl_->throw_latched();
  if (std::vector<NamedMessage>* const attributes = impl_->plain_attributes(object)) {
    const std::string of_none(1, '\0'), &text = value.empty() ? of_none : value;
    const std::string type = text_type(text.size(), TextEnd::padded, characters_of(value) == H5T_CSET_UTF8);
    put_attribute(*attributes, attribute_message(name, type, {}, text));
    return;
  }
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
  const auto [group, name] = parts_of(dataset);
  PlainGroup* const of_set = impl_->find_plain(group);
  const auto found = of_set ? of_set->datasets.find(name) : PlainDatasets::iterator();
  if (!of_set || found == of_set->datasets.end())
    throw Error(ErrorKind::internal, dataset + " has a header already, or none. Please report this.");
  found->second.axes = std::move(axes);
}

void Hdf5Output::end_set(const std::string& group) {
  impl_->throw_latched();
  if (PlainGroup* const found = impl_->find_plain(group)) impl_->settle(*found);
}

void Hdf5Output::end_group(const std::string& group) {
  impl_->throw_latched();
  if (WrittenGroup* const found = impl_->groups.find(group); found && found->plain) impl_->place(*found);
}

void Hdf5Output::link(const std::string& dataset, const std::string& name) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  impl_->link_plain(parts_of(dataset).first);
  impl_->check(H5Lcreate_hard(impl_->file.get(), dataset.c_str(), H5L_SAME_LOC, name.c_str(), impl_->creates_parents(),
                              H5P_DEFAULT));
}

void Hdf5Output::show_first(const std::string& dataset, const std::string& name) {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  impl_->link_plain(parts_of(dataset).first);
  const WrittenDataset& source = impl_->groups.dataset_at(dataset);
  const std::vector<hsize_t> all(source.shape->begin(), source.shape->end()), start(all.size(), 0);
  std::vector<hsize_t> first = all;
  first.front() = 1;
  const int rank = static_cast<int>(all.size());
  const Hdf5Handle selection = impl_->own(H5Screate_simple(rank, all.data(), nullptr), H5Sclose);
  impl_->check(H5Sselect_hyperslab(selection.get(), H5S_SELECT_SET, start.data(), nullptr, first.data(), nullptr));
  const Hdf5Handle space = impl_->own(H5Screate_simple(rank - 1, all.data() + 1, nullptr), H5Sclose);
  const Hdf5Handle opened = impl_->own(H5Dopen2(impl_->file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type = impl_->own(H5Dget_type(opened.get()), H5Tclose);
  const Hdf5Handle creation = impl_->own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  impl_->check(H5Pset_virtual(creation.get(), space.get(), ".", dataset.c_str(), selection.get()));
  (void)impl_->new_dataset(name, type.get(), space.get(), creation.get());
}

void Hdf5Output::commit() {
  const QuietHdf5 quiet;
  impl_->throw_latched();
  impl_->groups.for_each_dataset([&](std::string_view group, const std::string& name, const WrittenDataset& dataset) {
    if (dataset.unwritten > 0) {
      impl_->fail(
          Error(ErrorKind::internal, "cannot finish " + path(),
                std::to_string(dataset.unwritten) + " elements of " + joined(group, name) + " were never written",
                "Please report this."));
    }
  });
  impl_->file_bytes.keep_bytes(false);  // all is written anew: what an earlier run has left behind it goes
  // Of very many datasets it takes a while to list them: beside HDF5, in a thread of its own, where there is one.
  std::future<std::vector<Impl::Listed>> listing;
  if (impl_->has_checksums) listing = async_if_possible([this] { return impl_->list_datasets(); });
  impl_->link_all_plain();
  impl_->check(H5Fflush(impl_->file.get(), H5F_SCOPE_GLOBAL));
  std::optional<FilePlaces> places;
  if (listing.valid()) places = impl_->write_checksums(listing.get());
  if (!impl_->file.close() || impl_->file_bytes.system_error()) impl_->fail();
  if (places) impl_->write_checksum_of_rest(*places);
  try {
    impl_->read_back();
    impl_->own_target->commit();
  } catch (const Error& error) {
    impl_->fail(error);
  }
}

}  // namespace smallbatch
