// Checks come before reads: link kinds, then the object, then type, layout, filters and stored bytes. One file, because
// what opening an object has checked is what reading it relies on.
#include "io/hdf5_input.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "io/array_runs.hpp"
#include "io/hdf5_attribute_messages.hpp"
#include "io/hdf5_chunks.hpp"
#include "io/hdf5_handles.hpp"
#include "io/hdf5_input_driver.hpp"
#include "io/hdf5_input_errors.hpp"
#include "io/hdf5_storage.hpp"
#include "io/hdf5_types.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t largest_string = 4096;
constexpr hssize_t most_attribute_values = 64;

std::vector<std::int64_t> shape_of(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(static_cast<std::int64_t>(dims[axis]));
  return shape;
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

struct OpenDataset {
  Hdf5Handle handle;
  DatasetInfo info;
  ElementType as_stored = ElementType::other;  ///< the type of numbers in this machine's byte order
  std::optional<std::uint64_t> address;        ///< in the file, of contiguous ones
  std::unique_ptr<ChunkedDataset> chunks;      ///< of chunked ones; HDF5 reads the others
};

struct OpenAttribute {
  Hdf5Handle handle, type, space;
  std::size_t count = 0;
};

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return text;
}

std::string quoted(const std::string& text) {
  return "\"" + printable(text.size() > 64 ? text.substr(0, 64) + "..." : text) + "\"";
}

struct InputFile::Impl : InputErrors {
  using InputErrors::InputErrors;

  Hdf5Handle driver;
  Hdf5Handle file;
  std::uint64_t base = 0;            ///< of the file: what comes before is its user's
  bool has_usual_addresses = false;  ///< of 8 bytes, as lengths
  std::map<std::string, OpenDataset> datasets;
  std::set<std::string> sound_attributes;  ///< objects whose attributes were checked

  void check_hard_link(const std::string& link_path) const {
    H5L_info_t link{};
    if (H5Lget_info(file.get(), link_path.c_str(), &link, H5P_DEFAULT) < 0) throw damage(link_path);
    if (link.type == H5L_TYPE_HARD) return;
    const std::string name = link.type == H5L_TYPE_SOFT       ? "a soft link"
                             : link.type == H5L_TYPE_EXTERNAL ? "an external link, to another file"
                                                              : "a user-defined link";
    throw error(link_path, "it is " + name + ", expected the data themselves",
                "Copy the data into this file in place of the link.");
  }

  [[nodiscard]] ObjectKind kind(const std::string& object) const {
    if (object == "/") return ObjectKind::group;
    for (std::size_t end = object.find('/', 1);; end = object.find('/', end + 1)) {
      const std::string prefix = object.substr(0, end);
      const htri_t exists = H5Lexists(file.get(), prefix.c_str(), H5P_DEFAULT);
      if (exists < 0) throw damage(prefix);
      if (exists == 0) return ObjectKind::none;
      check_hard_link(prefix);
      H5O_info_t info{};
      if (H5Oget_info_by_name2(file.get(), prefix.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        throw damage(prefix);
      }
      const ObjectKind found = info.type == H5O_TYPE_GROUP     ? ObjectKind::group
                               : info.type == H5O_TYPE_DATASET ? ObjectKind::dataset
                                                               : ObjectKind::other;
      if (end == std::string::npos) return found;
      if (found != ObjectKind::group) throw error(prefix, "expected a group, found none", "See FORMAT.md.");
    }
  }

  const OpenDataset& open(const std::string& object) {
    if (const auto found = datasets.find(object); found != datasets.end()) return found->second;
    const QuietHdf5 quiet;
    const ObjectKind found_kind = kind(object);
    if (found_kind == ObjectKind::none) {
      const std::size_t slash = object.rfind('/');
      throw error(slash == 0 ? "/" : object.substr(0, slash), "it has no dataset " + quoted(object.substr(slash + 1)),
                  "Add the dataset, as FORMAT.md says.");
    }
    if (found_kind != ObjectKind::dataset) {
      throw error(
          object,
          std::string("expected a dataset, found ") + (found_kind == ObjectKind::group ? "a group" : "a named type"),
          "Store it as a dataset.");
    }
    OpenDataset opened;
    opened.handle = {H5Dopen2(file.get(), object.c_str(), H5P_DEFAULT), H5Dclose};
    if (!opened.handle.valid()) throw damage(object);
    const Hdf5Handle space(H5Dget_space(opened.handle.get()), H5Sclose);
    Hdf5Handle type(H5Dget_type(opened.handle.get()), H5Tclose);
    if (!space.valid() || !type.valid()) throw damage(object);
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      throw error(object, "it holds no data", "Store numbers in it.");
    }
    opened.info.shape = shape_of(space.get());
    opened.info.type = element_type(type.get());
    opened.info.type_name = type_text(type.get());
    if (opened.info.type != ElementType::other) {
      auto storage = check_storage(*this, opened.handle.get(), space.get(), type.get(), object, opened.info.shape);
      if (H5Tget_order(type.get()) == H5Tget_order(H5T_NATIVE_INT)) opened.as_stored = opened.info.type;
      opened.address = storage.address;
      if (storage.chunks) {
        opened.chunks = std::make_unique<ChunkedDataset>(std::move(*storage.chunks), std::move(type));
        if (!opened.chunks->locate(opened.handle.get(), *bytes)) throw damage(object);
      }
    }
    return datasets.emplace(object, std::move(opened)).first->second;
  }

  void read_by_hdf5(const std::string& object, const OpenDataset& opened, hid_t memory_type,
                    const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& count,
                    void* values) const {
    const std::vector<hsize_t> first(start.begin(), start.end()), length(count.begin(), count.end());
    const Hdf5Handle file_space(H5Dget_space(opened.handle.get()), H5Sclose);
    const int rank = static_cast<int>(count.size());
    const Hdf5Handle memory_space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, length.data(), nullptr),
                                  H5Sclose);
    if (rank > 0) {
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, first.data(), nullptr, length.data(), nullptr);
    }
    if (H5Dread(opened.handle.get(), memory_type, memory_space.get(), file_space.get(), H5P_DEFAULT, values) < 0) {
      throw damage(object);
    }
  }

  /// Whether an object is there, and its attributes can be decoded.
  [[nodiscard]] bool has_object(const std::string& object) {
    if (kind(object) == ObjectKind::none) return false;
    if (sound_attributes.contains(object)) return true;
    H5O_info_t info{};
    if (H5Oget_info_by_name2(file.get(), object.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) throw damage(object);
    if (has_usual_addresses && !has_sound_attributes(*bytes, base, info.addr)) {
      throw error(object, "the sizes of an attribute contradict each other", damaged);
    }
    sound_attributes.insert(object);
    return true;
  }

  [[nodiscard]] std::optional<OpenAttribute> attribute(const std::string& object, const std::string& name) {
    if (!has_object(object)) return std::nullopt;
    const htri_t exists = H5Aexists_by_name(file.get(), object.c_str(), name.c_str(), H5P_DEFAULT);
    if (exists < 0) throw damage(object);
    if (exists == 0) return std::nullopt;
    OpenAttribute opened;
    opened.handle = {H5Aopen_by_name(file.get(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
    if (!opened.handle.valid()) throw damage(object + "@" + name);
    opened.type = {H5Aget_type(opened.handle.get()), H5Tclose};
    opened.space = {H5Aget_space(opened.handle.get()), H5Sclose};
    if (!opened.type.valid() || !opened.space.valid()) throw damage(object + "@" + name);
    const hssize_t count = H5Sget_simple_extent_npoints(opened.space.get());
    if (count < 1 || count > most_attribute_values) {
      throw error(object + "@" + name,
                  "expected 1 to " + std::to_string(most_attribute_values) + " values, found " + std::to_string(count),
                  "See FORMAT.md.");
    }
    opened.count = static_cast<std::size_t>(count);
    return opened;
  }
};

InputFile::InputFile(const std::string& path, unsigned threads) : impl_(std::make_unique<Impl>(path, threads)) {
  const QuietHdf5 quiet;
  InputBytes& bytes = *impl_->bytes;
  const auto refuse = [&](const std::string& why_and_remedy) {
    return Error(ErrorKind::bad_input, "cannot use " + path + " (" + why_and_remedy);
  };
  const auto refuse_failure = [&] { return refuse(bytes.why() + "). " + bytes.remedy()); };
  if (!has_hdf5_signature(bytes)) {
    if (bytes.has_failed()) throw refuse_failure();
    if (bytes.size() == 0) throw refuse("it is empty, 0 bytes). Write it anew.");
    throw refuse(
        "it is not an HDF5 file). Give an HDF5 file as FORMAT.md describes; other formats have to be imported first.");
  }
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  impl_->driver = {use_input_driver(access.get(), impl_->bytes), H5FDunregister};
  if (!impl_->driver.valid()) throw refuse("HDF5: " + hdf5_error_text() + "). Please report this.");
  impl_->file = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose};
  if (!impl_->file.valid()) {
    if (bytes.has_failed()) throw refuse_failure();
    throw refuse(bytes.is_locked_elsewhere() ? "another program has it open for writing). Wait for it to end."
                                             : open_failure(hdf5_error_text()));
  }
  const Hdf5Handle creation(H5Fget_create_plist(impl_->file.get()), H5Pclose);
  hsize_t user_block = 0;
  std::size_t address_bytes = 0, length_bytes = 0;
  if (H5Pget_userblock(creation.get(), &user_block) < 0 ||
      H5Pget_sizes(creation.get(), &address_bytes, &length_bytes) < 0) {
    throw impl_->damage("/");
  }
  impl_->base = user_block;
  impl_->has_usual_addresses = address_bytes == 8 && length_bytes == 8;
}

InputFile::~InputFile() {
  const QuietHdf5 quiet;
  impl_.reset();
}

const std::string& InputFile::path() const { return impl_->path; }

Error InputFile::error(const std::string& object, const std::string& why, const std::string& remedy) const {
  return impl_->error(object, why, remedy);
}

ObjectKind InputFile::kind(const std::string& object) const {
  const QuietHdf5 quiet;
  return impl_->kind(object);
}

std::vector<std::string> InputFile::members(const std::string& group) const {
  const QuietHdf5 quiet;
  const ObjectKind found = impl_->kind(group);
  if (found == ObjectKind::none) return {};
  if (found != ObjectKind::group) throw error(group, "expected a group, found a dataset", "See FORMAT.md.");
  const Hdf5Handle opened(H5Gopen2(impl_->file.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
  std::vector<std::string> names;
  hsize_t position = 0;
  const herr_t listed = !opened.valid() ? -1
                                        : H5Literate(
                                              opened.get(), H5_INDEX_NAME, H5_ITER_INC, &position,
                                              [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
                                                static_cast<std::vector<std::string>*>(data)->emplace_back(name);
                                                return 0;
                                              },
                                              &names);
  if (listed < 0) throw impl_->damage(group);
  return names;
}

const DatasetInfo& InputFile::dataset(const std::string& object) const { return impl_->open(object).info; }

const DatasetInfo& InputFile::float_dataset(const std::string& object) const {
  const DatasetInfo& info = dataset(object);
  if (!info.is_float()) {
    throw error(object, "expected float32 or float64, found " + info.type_name,
                "Convert it before writing, e.g. array.astype(\"float64\").");
  }
  return info;
}

template <class T>
void InputFile::read(const std::string& object, std::initializer_list<AxisRange> leading, T* values) const {
  const OpenDataset& opened = impl_->open(object);
  std::vector<std::int64_t> start(opened.info.shape.size(), 0), count = opened.info.shape;
  if (leading.size() > start.size()) throw Error(ErrorKind::internal, object + " has fewer axes than were asked for.");
  std::size_t axis = 0;
  for (const auto& [first, length] : leading) {
    const std::int64_t all = opened.info.shape[axis];
    if (first < 0 || length < 0 || first > all || length > all - first) {
      throw Error(ErrorKind::usage,
                  "cannot read [" + std::to_string(first) + ", " + std::to_string(first) + " + " +
                      std::to_string(length) + ") of " + object + " of " + impl_->path,
                  "it has " + std::to_string(all), "Ask for what is there.");
    }
    start[axis] = first;
    count[axis] = length;
    ++axis;
  }
  if (std::ranges::find(count, 0) != count.end()) return;
  const bool is_stored = opened.as_stored == element_type_of<T>;
  std::optional<QuietHdf5> quiet;
  if (!is_stored || !(opened.address || opened.chunks)) quiet.emplace();  // HDF5 is called
  if (is_stored && opened.address) {
    std::int64_t given = 0;
    for_each_run(opened.info.shape, start, count, [&](std::int64_t first, std::int64_t length) {
      const Extent extent{*opened.address + static_cast<std::uint64_t>(first) * sizeof(T),
                          static_cast<std::uint64_t>(length) * sizeof(T)};
      if (!impl_->bytes->read(extent, values + given)) throw impl_->damage(object);
      given += length;
    });
  } else if (opened.chunks) {
    const MemoryType memory{sizeof(T), is_stored ? -1 : native_type<T>()};
    const auto wrong = opened.chunks->read(*impl_->bytes, memory, start, count, values);
    if (wrong) throw wrong->empty() ? impl_->damage(object) : error(object, *wrong, damaged);
  } else {
    impl_->read_by_hdf5(object, opened, native_type<T>(), start, count, values);
  }
  if (!impl_->bytes->check_unchanged()) throw impl_->damage(object);
}

template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, float*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, double*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int8_t*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int32_t*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int64_t*) const;

std::vector<std::string> InputFile::attributes(const std::string& object) const {
  const QuietHdf5 quiet;
  std::vector<std::string> names;
  if (!impl_->has_object(object)) return names;
  const auto list = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  hsize_t position = 0;
  if (H5Aiterate_by_name(impl_->file.get(), object.c_str(), H5_INDEX_NAME, H5_ITER_INC, &position, list, &names,
                         H5P_DEFAULT) < 0) {
    throw impl_->damage(object);
  }
  return names;
}

std::optional<std::vector<std::int64_t>> InputFile::integers(const std::string& object,
                                                             const std::string& attribute) const {
  const QuietHdf5 quiet;
  const auto opened = impl_->attribute(object, attribute);
  if (!opened) return std::nullopt;
  // h5py stores a Boolean as an enumeration of 0 and 1.
  const bool is_enumeration = H5Tget_class(opened->type.get()) == H5T_ENUM;
  const Hdf5Handle type(is_enumeration ? H5Tget_super(opened->type.get()) : H5Tcopy(opened->type.get()), H5Tclose);
  if (!is_integer(type.get())) {
    throw error(object + "@" + attribute, "expected integers, found " + type_text(opened->type.get()),
                "Store it as an array of integers.");
  }
  std::vector<std::int64_t> values(opened->count);
  if (H5Aread(opened->handle.get(), is_enumeration ? opened->type.get() : H5T_NATIVE_INT64, values.data()) < 0 ||
      (is_enumeration &&
       H5Tconvert(type.get(), H5T_NATIVE_INT64, values.size(), values.data(), nullptr, H5P_DEFAULT) < 0)) {
    throw impl_->damage(object + "@" + attribute);
  }
  return values;
}

std::optional<double> InputFile::number(const std::string& object, const std::string& attribute) const {
  const QuietHdf5 quiet;
  const auto opened = impl_->attribute(object, attribute);
  if (!opened) return std::nullopt;
  const hid_t type = opened->type.get();
  if ((!is_integer(type) && !is_float(type)) || opened->count != 1) {
    throw error(object + "@" + attribute,
                "expected one number, found " + std::to_string(opened->count) + " of " + type_text(type),
                "Store it as one number.");
  }
  double value = 0;
  if (H5Aread(opened->handle.get(), H5T_NATIVE_DOUBLE, &value) < 0) throw impl_->damage(object + "@" + attribute);
  return value;
}

std::optional<std::vector<std::string>> InputFile::strings(const std::string& object,
                                                           const std::string& attribute) const {
  const QuietHdf5 quiet;
  const auto opened = impl_->attribute(object, attribute);
  if (!opened) return std::nullopt;
  const std::string name = object + "@" + attribute;
  const hid_t type = opened->type.get();
  if (!is_string(type)) {
    throw error(name, "expected a string, found " + type_text(type), "Store it as a string.");
  }
  const auto check_length = [&](std::size_t length) {
    if (length > largest_string) {
      throw error(name,
                  "expected at most " + std::to_string(largest_string) + " bytes, found " + std::to_string(length),
                  "Store a shorter string.");
    }
  };
  std::vector<std::string> values(opened->count);
  if (H5Tis_variable_str(type) > 0) {
    VariableStrings read(type, opened->space.get(), opened->count);
    if (H5Aread(opened->handle.get(), type, read.get().data()) < 0) throw impl_->damage(name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const char* text = read.get()[i];
      if (!text) continue;
      check_length(::strnlen(text, largest_string + 1));
      values[i] = text;
    }
    return values;
  }
  const std::size_t length = H5Tget_size(type);
  check_length(length);
  std::vector<char> bytes(opened->count * length);
  if (H5Aread(opened->handle.get(), type, bytes.data()) < 0) throw impl_->damage(name);
  const bool padded_with_spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const char* text = bytes.data() + i * length;
    values[i].assign(text, ::strnlen(text, length));
    while (padded_with_spaces && values[i].ends_with(' ')) values[i].pop_back();
  }
  return values;
}

std::optional<std::string> InputFile::string(const std::string& object, const std::string& attribute) const {
  auto values = strings(object, attribute);
  if (!values) return std::nullopt;
  if (values->size() != 1) {
    throw error(object + "@" + attribute, "expected one string, found " + std::to_string(values->size()),
                "Store one string.");
  }
  return std::move(values->front());
}

}  // namespace smallbatch
