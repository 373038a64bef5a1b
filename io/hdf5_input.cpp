// Checks come before reads: link kinds, then the object, then type, layout, filters and stored bytes.
#include "io/hdf5_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "io/hdf5_handles.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t largest_string = 4096;
constexpr hssize_t most_attribute_values = 64;
/// Deflate turns at most this many bytes into one.
constexpr std::uint64_t largest_deflate_ratio = 1032;
constexpr std::size_t chunk_cache_bytes = std::size_t{32} << 20;

const std::string damaged = "The file is damaged: copy it again or write it anew.";

/// What to do about HDF5's own complaint. An unknown version is, as a rule, a newer library's.
std::string remedy_for(const std::string& hdf5_text) {
  if (hdf5_text.find("version") == std::string::npos) return damaged;
  return "Write it with libver=(\"v110\", \"v110\"), which every HDF5 from 1.10 on reads; else the file is damaged.";
}

ElementType element_type(hid_t type) {
  const std::array<std::pair<hid_t, ElementType>, 10> known{{{H5T_IEEE_F32LE, ElementType::float32},
                                                             {H5T_IEEE_F32BE, ElementType::float32},
                                                             {H5T_IEEE_F64LE, ElementType::float64},
                                                             {H5T_IEEE_F64BE, ElementType::float64},
                                                             {H5T_STD_I8LE, ElementType::int8},
                                                             {H5T_STD_I8BE, ElementType::int8},
                                                             {H5T_STD_I32LE, ElementType::int32},
                                                             {H5T_STD_I32BE, ElementType::int32},
                                                             {H5T_STD_I64LE, ElementType::int64},
                                                             {H5T_STD_I64BE, ElementType::int64}}};
  for (const auto& [id, element] : known)
    if (H5Tequal(type, id) > 0) return element;
  return ElementType::other;
}

std::string type_text(hid_t type) {
  const std::string bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_FLOAT: {
      const bool is_ieee = element_type(type) != ElementType::other || bits == "16";
      return (is_ieee ? "float" : "a float that is not IEEE, bits: ") + bits;
    }
    case H5T_INTEGER:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + bits;
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? "variable-length string" : "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN:
      return "variable-length data";
    case H5T_ARRAY:
      return "array type";
    case H5T_REFERENCE:
      return "reference";
    default:
      return "a type that is no number";
  }
}

std::vector<std::int64_t> shape_of(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(static_cast<std::int64_t>(dims[axis]));
  return shape;
}

/// The product of non-negative numbers, or nothing where it does not fit.
std::optional<std::uint64_t> product(const std::vector<std::int64_t>& factors, std::uint64_t start) {
  if (std::ranges::any_of(factors, [](std::int64_t factor) { return factor < 0; })) return std::nullopt;
  if (std::ranges::find(factors, 0) != factors.end()) return 0;
  std::uint64_t result = start;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, static_cast<std::uint64_t>(factor), &result)) return std::nullopt;
  }
  return result;
}

/// Opens for reading and says in one sentence why it cannot; the file's size.
std::uint64_t check_readable(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT) {
      throw Error(ErrorKind::missing_file, "cannot read " + path + " (no such file). Check the name and the folder.");
    }
    throw Error(ErrorKind::missing_file,
                "cannot read " + path + " (" + std::strerror(errno) + "). Check the file's name and permissions.");
  }
  struct stat status {};
  const int failure = ::fstat(file, &status);
  ::close(file);
  if (failure != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::missing_file, "cannot read " + path + " (it is " +
                                             (S_ISDIR(status.st_mode) ? "a folder" : "no regular file") +
                                             "). Give the name of an HDF5 file.");
  }
  if (status.st_size == 0) {
    throw Error(ErrorKind::bad_input, "cannot use " + path + " (it is empty, 0 bytes). Write it anew.");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

/// Why H5Fopen failed, in the user's words.
std::string open_failure(const std::string& hdf5_text) {
  if (hdf5_text.find("truncated file") != std::string::npos) return "it is truncated: " + hdf5_text + "). " + damaged;
  if (hdf5_text.find("already open for write") != std::string::npos) {
    return "the program that wrote it did not close it). Wait for it to end, or write the file anew.";
  }
  if (hdf5_text.find("unable to lock file") != std::string::npos) {
    return "another program has it open for writing). Wait for it to end.";
  }
  return "HDF5 cannot open it: " + hdf5_text + "). " + remedy_for(hdf5_text);
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

std::string quoted(const std::string& text) {
  std::string result = text.size() > 64 ? text.substr(0, 64) + "..." : text;
  std::ranges::replace_if(result, [](unsigned char c) { return c < 32 || c == 127; }, '?');
  return "\"" + result + "\"";
}

struct InputFile::Impl {
  std::string path;
  std::uint64_t file_bytes = 0;
  Hdf5Handle file;
  std::map<std::string, OpenDataset> datasets;

  [[nodiscard]] Error error(const std::string& object, const std::string& why, const std::string& remedy) const {
    return {ErrorKind::bad_input, "cannot use " + object + " of " + path + " (" + why + "). " + remedy};
  }
  [[nodiscard]] Error damage(const std::string& object) const {
    const std::string text = hdf5_error_text();
    return error(object, "HDF5: " + text, remedy_for(text));
  }

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

  void check_filters(hid_t creation, const std::string& object, bool& deflated) const {
    const int count = H5Pget_nfilters(creation);
    if (count < 0) throw damage(object);
    for (int i = 0; i < count; ++i) {
      unsigned flags = 0, config = 0;
      std::size_t values = 0;
      std::array<char, 64> name{};
      const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr,
                                                 name.size() - 1, name.data(), &config);
      if (filter < 0) throw damage(object);
      if (filter == H5Z_FILTER_DEFLATE) deflated = true;
      if (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32) continue;
      throw error(object,
                  "expected the filters shuffle, deflate (gzip) and fletcher32 at most, found filter " +
                      std::to_string(filter) + " " + quoted(name.data()),
                  "Store it without compression or with gzip.");
    }
  }

  /// All the bytes that the dataset declares are in this file.
  void check_stored(hid_t dataset, hid_t space, hid_t type, const std::string& object,
                    const std::vector<std::int64_t>& shape) const {
    const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    if (!creation.valid()) throw damage(object);
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    if (layout == H5D_VIRTUAL) {
      throw error(object, "it is a virtual dataset, expected the data themselves", "Copy the data into this file.");
    }
    if (H5Pget_external_count(creation.get()) != 0) {
      throw error(object, "its data are in an external file, expected them in this one",
                  "Copy the data into this file.");
    }
    bool deflated = false;
    check_filters(creation.get(), object, deflated);

    const auto declared = product(shape, H5Tget_size(type));
    const std::string declares = "shape " + shape_text(shape) + " declares " +
                                 (declared ? std::to_string(*declared) : "more than 2^64") + " bytes";
    const std::string of_file = "the file has " + std::to_string(file_bytes) + " bytes";
    if (!declared) throw error(object, declares + ", " + of_file, damaged);
    if (*declared == 0) return;
    const auto refuse_size = [&](std::uint64_t stored) {
      return error(object, declares + ", found " + std::to_string(stored) + " stored, " + of_file, damaged);
    };
    const auto never_written = [&] {
      return error(object, declares + ", but they were never written", "Fill the dataset and close the file.");
    };

    if (layout == H5D_CHUNKED) {
      std::array<hsize_t, H5S_MAX_RANK> chunk{};
      if (H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data()) != static_cast<int>(shape.size())) {
        throw damage(object);
      }
      std::vector<std::int64_t> chunks, chunk_shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto length = static_cast<std::int64_t>(chunk[axis]);
        if (length <= 0) throw error(object, "its chunks are empty", damaged);
        chunk_shape.push_back(length);
        chunks.push_back((shape[axis] - 1) / length + 1);
      }
      const auto chunk_count = product(chunks, 1);
      const auto chunk_bytes = product(chunk_shape, H5Tget_size(type));
      std::uint64_t in_chunks = 0;
      // Each chunk takes a byte at the least: no need to count what cannot be there.
      if (!chunk_count || !chunk_bytes || *chunk_count > file_bytes ||
          __builtin_mul_overflow(*chunk_count, *chunk_bytes, &in_chunks)) {
        throw refuse_size(0);
      }
      const std::uint64_t stored = H5Dget_storage_size(dataset);
      if (stored == 0) throw never_written();
      if (stored > file_bytes || in_chunks / (deflated ? largest_deflate_ratio : 1) > stored) throw refuse_size(stored);
      hsize_t written = 0;
      if (H5Dget_num_chunks(dataset, space, &written) < 0) throw damage(object);
      if (written != *chunk_count) {
        throw error(
            object,
            "expected " + std::to_string(*chunk_count) + " chunks, found " + std::to_string(written) + " written",
            "Fill the dataset and close the file.");
      }
      return;
    }
    if (layout == H5D_CONTIGUOUS) {
      const haddr_t offset = H5Dget_offset(dataset);
      if (offset == HADDR_UNDEF) throw never_written();
      const std::uint64_t stored = H5Dget_storage_size(dataset);
      if (stored < *declared || *declared > file_bytes || offset > file_bytes - *declared) throw refuse_size(stored);
      return;
    }
    if (layout != H5D_COMPACT) throw error(object, "its storage layout is unknown", damaged);
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    if (stored < *declared) throw refuse_size(stored);
  }

  const OpenDataset& open(const std::string& object) {
    if (const auto found = datasets.find(object); found != datasets.end()) return found->second;
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
    const Hdf5Handle type(H5Dget_type(opened.handle.get()), H5Tclose);
    if (!space.valid() || !type.valid()) throw damage(object);
    if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
      throw error(object, "it holds no data", "Store numbers in it.");
    }
    opened.info.shape = shape_of(space.get());
    opened.info.type = element_type(type.get());
    opened.info.type_name = type_text(type.get());
    if (opened.info.type != ElementType::other) {
      check_stored(opened.handle.get(), space.get(), type.get(), object, opened.info.shape);
    }
    return datasets.emplace(object, std::move(opened)).first->second;
  }

  [[nodiscard]] std::optional<OpenAttribute> attribute(const std::string& object, const std::string& name) const {
    if (kind(object) == ObjectKind::none) return std::nullopt;
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
      throw error(object + "@" + name, "expected 1 to 64 values, found " + std::to_string(count), "See FORMAT.md.");
    }
    opened.count = static_cast<std::size_t>(count);
    return opened;
  }
};

InputFile::InputFile(const std::string& path) : impl_(std::make_unique<Impl>()) {
  const QuietHdf5 quiet;
  impl_->path = path;
  impl_->file_bytes = check_readable(path);
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    throw Error(ErrorKind::bad_input, "cannot use " + path +
                                          " (it is not an HDF5 file). Give an HDF5 file as FORMAT.md describes; other "
                                          "formats have to be imported first.");
  }
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_cache(access.get(), 0, 12421, chunk_cache_bytes, 0.75);
  impl_->file = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose};
  if (!impl_->file.valid()) {
    throw Error(ErrorKind::bad_input, "cannot use " + path + " (" + open_failure(hdf5_error_text()));
  }
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

const DatasetInfo& InputFile::dataset(const std::string& object) const {
  const QuietHdf5 quiet;
  return impl_->open(object).info;
}

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
  const QuietHdf5 quiet;
  const OpenDataset& opened = impl_->open(object);
  std::vector<hsize_t> start(opened.info.shape.size(), 0), count(opened.info.shape.begin(), opened.info.shape.end());
  if (leading.size() > start.size()) throw Error(ErrorKind::internal, object + " has fewer axes than were asked for.");
  std::size_t axis = 0;
  for (const auto& [first, length] : leading) {
    const std::int64_t all = opened.info.shape[axis];
    if (first < 0 || length < 0 || first > all || length > all - first) {
      throw Error(ErrorKind::usage, "cannot read [" + std::to_string(first) + ", " + std::to_string(first) + " + " +
                                        std::to_string(length) + ") of " + object + " of " + impl_->path + " (it has " +
                                        std::to_string(all) + "). Ask for what is there.");
    }
    start[axis] = static_cast<hsize_t>(first);
    count[axis] = static_cast<hsize_t>(length);
    ++axis;
  }
  if (std::ranges::find(count, hsize_t{0}) != count.end()) return;
  const Hdf5Handle file_space(H5Dget_space(opened.handle.get()), H5Sclose);
  const int rank = static_cast<int>(count.size());
  const Hdf5Handle memory_space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, count.data(), nullptr),
                                H5Sclose);
  if (rank > 0) {
    H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  }
  if (H5Dread(opened.handle.get(), native_type<T>(), memory_space.get(), file_space.get(), H5P_DEFAULT, values) < 0) {
    throw impl_->damage(object);
  }
}

template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, float*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, double*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int8_t*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int32_t*) const;
template void InputFile::read(const std::string&, std::initializer_list<AxisRange>, std::int64_t*) const;

std::optional<std::vector<std::int64_t>> InputFile::integers(const std::string& object,
                                                             const std::string& attribute) const {
  const QuietHdf5 quiet;
  const auto opened = impl_->attribute(object, attribute);
  if (!opened) return std::nullopt;
  // h5py stores a Boolean as an enumeration of 0 and 1.
  const bool is_enumeration = H5Tget_class(opened->type.get()) == H5T_ENUM;
  const Hdf5Handle type(is_enumeration ? H5Tget_super(opened->type.get()) : H5Tcopy(opened->type.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_INTEGER || H5Tget_size(type.get()) > 8) {
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
  const H5T_class_t found = H5Tget_class(opened->type.get());
  if ((found != H5T_INTEGER && found != H5T_FLOAT) || H5Tget_size(opened->type.get()) > 8 || opened->count != 1) {
    throw error(object + "@" + attribute,
                "expected one number, found " + std::to_string(opened->count) + " of " + type_text(opened->type.get()),
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
  if (H5Tget_class(type) != H5T_STRING) {
    throw error(name, "expected a string, found " + type_text(type), "Store it as a string.");
  }
  const auto check_length = [&](std::size_t length) {
    if (length > largest_string) {
      throw error(name, "expected at most 4096 bytes, found " + std::to_string(length), "Store a shorter string.");
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
