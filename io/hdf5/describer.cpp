// One file, because all functions fill parts of one description.
#include "io/hdf5/describer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "io/hdf5/attribute_messages.hpp"
#include "io/hdf5/input_errors.hpp"
#include "io/hdf5/storage.hpp"
#include "io/hdf5/types.hpp"

namespace smallbatch {
namespace {

constexpr hssize_t most_attribute_values = 64;
constexpr std::size_t cache_bytes = std::size_t{1} << 20, cache_bytes_while_listing = std::size_t{16} << 20;
constexpr std::size_t finds_between_signs = 10'000;  ///< objects or chunks between two signs of progress

std::vector<std::int64_t> shape_of(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(static_cast<std::int64_t>(dims[axis]));
  return shape;
}

/// Whether HDF5's dimension scales use the attribute to refer to each other. These attributes are not described: no
/// caller reads them, and all datasets of results have some.
bool is_of_dimension_scales(std::string_view attribute) {
  return attribute == "DIMENSION_LIST" || attribute == "REFERENCE_LIST" || attribute == "CLASS" || attribute == "NAME";
}

/// Frees what H5Aread allocated for variable-length strings.
class VariableStrings {
 public:
  VariableStrings(hid_t type, hid_t space, std::size_t count) : type_(type), space_(space), strings_(count) {}
  ~VariableStrings() { H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, strings_.data()); }
  VariableStrings(const VariableStrings&) = delete;
  VariableStrings& operator=(const VariableStrings&) = delete;
  [[nodiscard]] std::vector<char*>& get() { return strings_; }

 private:
  hid_t type_, space_;
  std::vector<char*> strings_;
};

/// An attribute that HDF5 has opened.
struct OpenAttribute {
  Hdf5Handle handle, type, space;
};

/// A name in a group, with its link. Objects are opened by their addresses, because looking up a name in a large group
/// takes long.
struct Member {
  std::string name;
  H5L_info_t link{};
};

}  // namespace

struct Hdf5Describer::Impl {
  std::shared_ptr<InputBytes> bytes;
  std::function<void()> still_at_work;
  Hdf5Handle driver, file;
  std::uint64_t base = 0;            ///< where HDF5's part of the file begins; a user block may lie before it
  bool has_usual_addresses = false;  ///< addresses and lengths have 8 bytes
  static void set_cache(H5AC_cache_config_t& cache, std::size_t size) {
    cache.set_initial_size = true;
    cache.initial_size = cache.min_size = size;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
  }
  void set_cache(std::size_t size) const {
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    if (H5Fget_mdc_config(file.get(), &cache) < 0) return;
    set_cache(cache, size);
    H5Fset_mdc_config(file.get(), &cache);
  }

  void open() {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    // Each object is read once, so a small cache suffices. By default, HDF5 keeps more and more objects. Its limit
    // counts their bytes in the file, and they take ten times as many in memory.
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    if (H5Pget_mdc_config(access.get(), &cache) >= 0) {
      set_cache(cache, cache_bytes);
      H5Pset_mdc_config(access.get(), &cache);
    }
    driver = {use_input_driver(access.get(), bytes), H5FDunregister};
    if (!driver.valid()) throw Defect{"HDF5: " + hdf5_error_text(), "Please report this."};
    file = {H5Fopen("/input", H5F_ACC_RDONLY, access.get()), H5Fclose};
    if (!file.valid()) {
      if (bytes->has_failed()) throw damage(*bytes);
      if (bytes->is_locked_elsewhere())
        throw Defect{"another program has it open for writing", "Wait until that program has ended."};
      throw open_failure(hdf5_error_text());
    }
    const Hdf5Handle creation(H5Fget_create_plist(file.get()), H5Pclose);
    hsize_t user_block = 0;
    std::size_t address_bytes = 0, length_bytes = 0;
    if (H5Pget_userblock(creation.get(), &user_block) < 0 ||
        H5Pget_sizes(creation.get(), &address_bytes, &length_bytes) < 0) {
      throw damage(*bytes);
    }
    base = user_block;
    has_usual_addresses = address_bytes == 8 && length_bytes == 8;
  }

  /// Calls work(), and stores the Defect that it throws in `kept`. If a read of the file failed, stores that failure
  /// instead, because HDF5 may not mention it.
  template <class Pointer, class Work>
  void keep_defect(Pointer& kept, Work&& work) const {
    try {
      work();
    } catch (Defect& defect) {
      kept = std::make_unique<Defect>(std::move(defect));
    }
    if (bytes->has_failed()) kept = std::make_unique<Defect>(damage(*bytes));
  }

  void give_sign_after(std::size_t finds) const {
    if (still_at_work && finds % finds_between_signs == 0) still_at_work();
  }

  /// Returns the member of that name, or nothing if there is none. "/" is the root.
  [[nodiscard]] std::optional<Member> member_of(hid_t group, const std::string& name) const {
    Member member{name, {}};
    if (name == "/") {
      H5O_info_t info{};
      if (H5Oget_info2(group, &info, H5O_INFO_BASIC) < 0) throw damage(*bytes);
      member.link.u.address = info.addr;  // the link is hard
      return member;
    }
    const htri_t exists = H5Lexists(group, name.c_str(), H5P_DEFAULT);
    if (exists < 0) throw damage(*bytes);
    if (exists == 0) return std::nullopt;
    if (H5Lget_info(group, name.c_str(), &member.link, H5P_DEFAULT) < 0) throw damage(*bytes);
    return member;
  }

  /// Sorts members by name, and keeps one of each name.
  static void sort_members(std::vector<Member>& members) {
    const auto is_after = [](const Member& one, const Member& other) { return one.name >= other.name; };
    if (std::ranges::adjacent_find(members, is_after) == members.end()) return;
    std::ranges::stable_sort(members, {}, &Member::name);
    const auto has_same_name = [](const Member& one, const Member& other) { return one.name == other.name; };
    members.erase(std::unique(members.begin(), members.end(), has_same_name), members.end());
  }

  /// Returns the members of a group, sorted by name, each name once. The names are sorted here, because HDF5 would sort
  /// them in a table, and would free unfilled entries of the table if reading fails.
  [[nodiscard]] std::vector<Member> members_of(hid_t group) const {
    std::vector<Member> members;
    auto take = [&](const char* name, const H5L_info_t& link) {
      members.push_back({name, link});
      give_sign_after(members.size());
    };
    const auto list = [](hid_t, const char* name, const H5L_info_t* link, void* data) -> herr_t {
      (*static_cast<decltype(take)*>(data))(name, *link);
      return 0;
    };
    hsize_t position = 0;
    // Names come in the order of their hashes, and so from all parts of the group in turn. Unless the cache has room
    // for the whole group, each part is read again and again.
    set_cache(cache_bytes_while_listing);
    const herr_t listed = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, list, &take);
    set_cache(cache_bytes);
    if (listed < 0) throw damage(*bytes);
    sort_members(members);
    return members;
  }

  /// Opens the object that a link leads to. The link must be hard.
  [[nodiscard]] Hdf5Handle open_object(const H5L_info_t& link) const {
    if (link.type != H5L_TYPE_HARD) {
      const std::string kind = link.type == H5L_TYPE_SOFT       ? "a soft link"
                               : link.type == H5L_TYPE_EXTERNAL ? "an external link, to another file"
                                                                : "a user-defined link";
      throw Defect{"it is " + kind + ", expected the data themselves",
                   "Copy the data into this file in place of the link."};
    }
    Hdf5Handle object(H5Oopen_by_addr(file.get(), link.u.address), H5Oclose);
    if (!object.valid()) throw damage(*bytes);
    return object;
  }

  [[nodiscard]] static ObjectKind kind_of(hid_t object) {
    const H5I_type_t type = H5Iget_type(object);
    return type == H5I_GROUP ? ObjectKind::group : type == H5I_DATASET ? ObjectKind::dataset : ObjectKind::other;
  }

  void read_integers(const OpenAttribute& opened, hid_t type, StoredAttribute& attribute) const {
    const bool is_enumeration = !attribute.is_number;
    attribute.integers.resize(static_cast<std::size_t>(attribute.count));
    if (H5Aread(opened.handle.get(), is_enumeration ? opened.type.get() : H5T_NATIVE_INT64, attribute.integers.data()) <
            0 ||
        (is_enumeration && H5Tconvert(type, H5T_NATIVE_INT64, attribute.integers.size(), attribute.integers.data(),
                                      nullptr, H5P_DEFAULT) < 0)) {
      throw damage(*bytes);
    }
  }

  void read_texts(const OpenAttribute& opened, StoredAttribute& attribute) const {
    const hid_t type = opened.type.get();
    const auto count = static_cast<std::size_t>(attribute.count);
    const auto check_length = [](std::size_t length) {
      if (length > largest_string) {
        throw Defect{"expected at most " + std::to_string(largest_string) + " bytes, found " + std::to_string(length),
                     "Store a shorter string."};
      }
    };
    if (H5Tis_variable_str(type) > 0) {
      VariableStrings read(type, opened.space.get(), count);
      if (H5Aread(opened.handle.get(), type, read.get().data()) < 0) throw damage(*bytes);
      attribute.texts.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        const char* text = read.get()[i];
        if (!text) continue;
        check_length(::strnlen(text, largest_string + 1));
        attribute.texts[i] = text;
      }
      return;
    }
    const std::size_t length = H5Tget_size(type);
    check_length(length);
    std::vector<char> read(count * length);
    if (H5Aread(opened.handle.get(), type, read.data()) < 0) throw damage(*bytes);
    const bool padded_with_spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
    for (std::size_t i = 0; i < count; ++i) {
      const char* text = read.data() + i * length;
      std::string& value = attribute.texts.emplace_back(text, ::strnlen(text, length));
      while (padded_with_spaces && value.ends_with(' ')) value.pop_back();
    }
  }

  /// Reads the value of an attribute, in every type that InputFile can return.
  void describe_attribute(hid_t object, StoredAttribute& attribute) const {
    OpenAttribute opened;
    opened.handle = {H5Aopen(object, attribute.name.c_str(), H5P_DEFAULT), H5Aclose};
    if (!opened.handle.valid()) throw damage(*bytes);
    opened.type = {H5Aget_type(opened.handle.get()), H5Tclose};
    opened.space = {H5Aget_space(opened.handle.get()), H5Sclose};
    if (!opened.type.valid() || !opened.space.valid()) throw damage(*bytes);
    const hssize_t count = H5Sget_simple_extent_npoints(opened.space.get());
    if (count < 1 || count > most_attribute_values) {
      throw Defect{"expected 1 to " + std::to_string(most_attribute_values) + " values, found " + std::to_string(count),
                   "See FORMAT.md."};
    }
    attribute.count = count;
    const hid_t type = opened.type.get();
    // h5py stores a Boolean as an enumeration of 0 and 1. The numbers of other enumerations may mean anything.
    const bool is_boolean = numbers_of(type).form == NumberForm::boolean;
    const Hdf5Handle number_type(!is_boolean                          ? H5Tcopy(type)
                                 : H5Tget_class(type) == H5T_BITFIELD ? H5Tcopy(H5T_NATIVE_UINT8)
                                                                      : H5Tget_super(type),
                                 H5Tclose);
    attribute.is_integer = is_integer(number_type.get());
    attribute.is_number = is_integer(type) || is_float(type);
    attribute.is_text = is_string(type);
    attribute.type_name = type_text(type);
    if (attribute.is_integer) read_integers(opened, number_type.get(), attribute);
    if (attribute.is_number && count == 1) {
      double value = 0;
      if (H5Aread(opened.handle.get(), H5T_NATIVE_DOUBLE, &value) < 0) throw damage(*bytes);
      attribute.number = value;
    }
    if (is_float(type)) {
      std::vector<double> values(static_cast<std::size_t>(count));
      if (H5Aread(opened.handle.get(), H5T_NATIVE_DOUBLE, values.data()) < 0) throw damage(*bytes);
      take_whole(values, attribute);
    }
    if (attribute.is_text) read_texts(opened, attribute);
  }

  /// Stores whole floating-point numbers also as integers, because MATLAB writes integers as floating-point numbers by
  /// default.
  static void take_whole(const std::vector<double>& values, StoredAttribute& attribute) {
    constexpr double beyond = 0x1p53;
    attribute.is_integer = std::ranges::all_of(
        values, [](double value) { return std::abs(value) < beyond && value == std::floor(value); });
    if (attribute.is_integer) attribute.integers.assign(values.begin(), values.end());
  }

  [[nodiscard]] std::vector<StoredAttribute> attributes_of(hid_t object, haddr_t address) const {
    if (has_usual_addresses && !has_sound_attributes(*bytes, base, address)) {
      throw Defect{"the sizes of an attribute contradict each other", damaged};
    }
    std::vector<StoredAttribute> attributes;
    const auto list = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
      static_cast<std::vector<StoredAttribute>*>(data)->emplace_back().name = name;
      return 0;
    };
    hsize_t position = 0;
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &position, list, &attributes) < 0) throw damage(*bytes);
    std::erase_if(attributes, [](const StoredAttribute& attribute) { return is_of_dimension_scales(attribute.name); });
    std::ranges::sort(attributes, {}, &StoredAttribute::name);
    for (StoredAttribute& attribute : attributes) {
      keep_defect(attribute.defect, [&] { describe_attribute(object, attribute); });
    }
    return attributes;
  }

  [[nodiscard]] std::vector<StoredChunk> locate_chunks(hid_t dataset, const ChunkLayout& layout) const {
    const ChunkOrigin first(layout.shape.size(), 0);
    std::vector<std::int64_t> last = layout.shape;
    for (std::int64_t& element : last) --element;
    std::vector<StoredChunk> chunks;
    ChunkOrigin origin = first;
    do {
      StoredChunk& chunk = chunks.emplace_back();
      unsigned char unused = 0;  // stays unused: with `located`, the driver reads nothing
      const std::vector<hsize_t> of_hdf5(origin.begin(), origin.end());
      bytes->located = &chunk.extent;
      const herr_t status = H5Dread_chunk(dataset, H5P_DEFAULT, of_hdf5.data(), &chunk.skipped, &unused);
      bytes->located = nullptr;
      if (status < 0) throw damage(*bytes);
      give_sign_after(chunks.size());
    } while (layout.advance(origin, first, last));
    return chunks;
  }

  /// Describes a dataset. Returns null if it has more than `most_chunks` chunks.
  [[nodiscard]] std::unique_ptr<StoredDataset> dataset_of(hid_t opened, std::uint64_t most_chunks) const {
    const Hdf5Handle space(H5Dget_space(opened), H5Sclose), type(H5Dget_type(opened), H5Tclose);
    if (!space.valid() || !type.valid()) throw damage(*bytes);
    auto dataset = std::make_unique<StoredDataset>();
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      dataset->info.type_name = no_data;
      return dataset;
    }
    const auto [form, numbers] = numbers_of(type.get());
    dataset->info = {shape_of(space.get()), type_text(type.get()), numbers.type, form};
    if (numbers.type == ElementType::other) return dataset;
    dataset->is_swapped = numbers.is_swapped;
    auto storage = check_storage(*bytes, opened, space.get(), type.get(), dataset->info.shape);
    dataset->address = storage.address;
    if (storage.chunks) {
      if (storage.chunk_count > most_chunks) return nullptr;
      dataset->chunks = std::make_unique<StoredChunks>();
      auto& [layout, chunks] = *dataset->chunks;
      layout = std::move(*storage.chunks);
      chunks = locate_chunks(opened, layout);
    }
    H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
    const Hdf5Handle creation(H5Dget_create_plist(opened), H5Pclose);
    if (form == NumberForm::plain && H5Pfill_value_defined(creation.get(), &fill) >= 0 &&
        fill == H5D_FILL_VALUE_USER_DEFINED) {
      dataset->fill = std::make_unique<std::vector<unsigned char>>(H5Tget_size(type.get()));
      if (H5Pget_fill_value(creation.get(), type.get(), dataset->fill->data()) < 0) throw damage(*bytes);
    }
    if (storage.compact_bytes > 0) {
      dataset->compact = std::make_unique<std::vector<unsigned char>>(storage.compact_bytes);
      if (H5Dread(opened, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, dataset->compact->data()) < 0)
        throw damage(*bytes);
    }
    if (form == NumberForm::complex || form == NumberForm::text) {
      const std::int64_t length = form == NumberForm::complex ? 2 : static_cast<std::int64_t>(H5Tget_size(type.get()));
      dataset->info.shape.push_back(length);
      if (dataset->chunks) {
        auto& layout = dataset->chunks->layout;
        for (auto* axes : {&layout.shape, &layout.chunk}) axes->push_back(length);
      }
    }
    return dataset;
  }

  void describe_member(const Member& member, int depth, const std::function<void(StoredObject&&)>& give) {
    if (is_reachable(member)) return describe(member.link, depth - 1, false, give);
    give(nothing());
  }

  /// Whether a path can name the member. A name with a slash cannot be part of a path.
  static bool is_reachable(const Member& member) { return member.name.find('/') == std::string::npos; }

  static void name_members(StoredObject& object, const std::vector<Member>& members) {
    object.members.reserve(members.size());
    for (const Member& member : members) object.members.emplace_back().name = member.name;
  }

  /// Describes the object that a link leads to, and the objects at most `depth` levels below it.
  void describe(const H5L_info_t& link, int depth, bool is_requested, const std::function<void(StoredObject&&)>& give) {
    bytes->forget_failure();  // an earlier object caused it
    StoredObject object;
    object.is_described = true;
    Hdf5Handle opened;
    keep_defect(object.defect, [&] {
      opened = open_object(link);
      object.kind = kind_of(opened.get());
    });
    if (object.kind != ObjectKind::none) {
      keep_defect(object.attributes_defect, [&] { object.attributes = attributes_of(opened.get(), link.u.address); });
    }
    if (object.kind == ObjectKind::dataset) {
      keep_defect(object.contents_defect, [&] {
        object.dataset = dataset_of(opened.get(), is_requested ? UINT64_MAX : most_chunks_unrequested);
        if (!object.dataset) object = {};
      });
      if (object.contents_defect) object.dataset.reset();
    }
    std::vector<Member> members;
    if (object.kind == ObjectKind::group)
      keep_defect(object.contents_defect, [&] { members = members_of(opened.get()); });
    const bool goes_on = object.kind == ObjectKind::group && depth > 0;
    name_members(object, members);
    give(std::move(object));
    if (goes_on)
      for (const Member& member : members) describe_member(member, depth, give);
  }

  static StoredObject nothing() {
    StoredObject none;
    none.is_described = true;
    return none;
  }
};

Hdf5Describer::Hdf5Describer(std::shared_ptr<InputBytes> bytes, std::function<void()> still_at_work)
    : impl_(std::make_unique<Impl>()) {
  impl_->bytes = std::move(bytes);
  impl_->still_at_work = std::move(still_at_work);
  const QuietHdf5 quiet;
  impl_->open();
}

Hdf5Describer::~Hdf5Describer() {
  const QuietHdf5 quiet;
  impl_.reset();
}

void Hdf5Describer::describe(const std::string& object, int depth, const std::function<void(StoredObject&&)>& give) {
  const QuietHdf5 quiet;
  const bool is_root = object == "/";
  const std::size_t slash = object.rfind('/');
  const std::string parent = slash == 0 ? "/" : object.substr(0, slash);
  StoredObject lost = Impl::nothing();
  std::optional<Member> member;
  impl_->keep_defect(lost.defect, [&] {
    const Hdf5Handle group(H5Gopen2(impl_->file.get(), parent.c_str(), H5P_DEFAULT), H5Gclose);
    if (!group.valid()) throw damage(*impl_->bytes);
    member = impl_->member_of(group.get(), is_root ? object : object.substr(slash + 1));
  });
  if (member) return impl_->describe(member->link, depth, true, give);
  give(std::move(lost));
}

}  // namespace smallbatch
