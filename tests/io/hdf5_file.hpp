// Access to test files with plain HDF5 calls, independent of the code under test.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>
#include <stdlib.h>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "core/aligned_allocator.hpp"
#include "core/error.hpp"

namespace smallbatch::testing {

/// Returns a compound type of two numbers, as h5py writes complex numbers.
inline hid_t compound_of(hid_t part, const char* first = "r", const char* second = "i") {
  const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(part));
  H5Tinsert(type, first, 0, part);
  H5Tinsert(type, second, H5Tget_size(part), part);
  return type;
}

/// Returns the type that h5py writes for numpy.bool_.
inline hid_t boolean_type() {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

template <class T>
hid_t hdf5_type() {
  if constexpr (std::is_same_v<T, std::complex<float>>) return compound_of(H5T_NATIVE_FLOAT);
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, std::int8_t>) return H5T_NATIVE_INT8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::int16_t>) return H5T_NATIVE_INT16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
}

using Shape = std::vector<hsize_t>;

/// One open file. Everything opened through it is closed with it.
class RawHdf5 {
 public:
  enum class Mode { create, create_v110, read, change };

  explicit RawHdf5(const std::string& path, Mode mode = Mode::create, hsize_t user_block = 0) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    H5Pset_userblock(creation, user_block);
    if (mode == Mode::create_v110) H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    file_ = mode == Mode::read     ? H5Fopen(path.c_str(), H5F_ACC_RDONLY, access)
            : mode == Mode::change ? H5Fopen(path.c_str(), H5F_ACC_RDWR, access)
                                   : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
    EXPECT_GE(file_, 0) << path;
    H5Pclose(access);
    H5Pclose(creation);
    parents_ = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(parents_, 1);
  }
  ~RawHdf5() {
    H5Pclose(parents_);
    H5Fclose(file_);
  }
  RawHdf5(const RawHdf5&) = delete;
  RawHdf5& operator=(const RawHdf5&) = delete;

  [[nodiscard]] hid_t id() const { return file_; }
  [[nodiscard]] hid_t parents() const { return parents_; }

  void group(const std::string& path) {
    EXPECT_GE(H5Gcreate2(file_, path.c_str(), parents_, H5P_DEFAULT, H5P_DEFAULT), 0) << path;
  }

  /// Writes a dataset. `stored` is the type in the file, `creation` its property list with the layout.
  template <class T>
  void dataset(const std::string& path, const Shape& shape, const std::vector<T>& values,
               hid_t stored = H5I_INVALID_HID, hid_t creation = H5P_DEFAULT) {
    const hid_t created = declare(path, shape, stored == H5I_INVALID_HID ? hdf5_type<T>() : stored, creation);
    EXPECT_GE(H5Dwrite(created, hdf5_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << path;
  }

  hid_t declare(const std::string& path, const Shape& shape, hid_t stored, hid_t creation = H5P_DEFAULT) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t created = H5Dcreate2(file_, path.c_str(), stored, space, parents_, creation, H5P_DEFAULT);
    EXPECT_GE(created, 0) << path;
    return created;
  }

  template <class T>
  void attribute(const std::string& object, const std::string& name, const std::vector<T>& values,
                 hid_t stored = H5I_INVALID_HID) {
    const hsize_t count = values.size();
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    write_attribute(object, name, stored == H5I_INVALID_HID ? hdf5_type<T>() : stored, hdf5_type<T>(), space,
                    values.data());
  }

  enum class Text { fixed_ascii, fixed_utf8, variable_ascii, variable_utf8, space_padded };

  void attribute(const std::string& object, const std::string& name, const std::string& value,
                 Text text = Text::fixed_ascii) {
    const bool variable = text == Text::variable_ascii || text == Text::variable_utf8;
    const bool utf8 = text == Text::fixed_utf8 || text == Text::variable_utf8;
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : value.size() + (text == Text::space_padded ? 4 : 1));
    H5Tset_cset(type, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    const std::string padded = value + (text == Text::space_padded ? "    " : "");
    if (text == Text::space_padded) H5Tset_strpad(type, H5T_STR_SPACEPAD);
    const char* bytes = padded.c_str();
    write_attribute(object, name, type, type, H5Screate(H5S_SCALAR),
                    variable ? static_cast<const void*>(&bytes) : static_cast<const void*>(bytes));
  }

  void remove(const std::string& object) { EXPECT_GE(H5Ldelete(file_, object.c_str(), H5P_DEFAULT), 0) << object; }
  void remove_attribute(const std::string& object, const std::string& name) {
    EXPECT_GE(H5Adelete_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT), 0) << object << name;
  }

  [[nodiscard]] bool has(const std::string& path) const { return H5Lexists(file_, path.c_str(), H5P_DEFAULT) > 0; }

  [[nodiscard]] Shape shape(const std::string& path) const {
    const hid_t opened = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    EXPECT_GE(opened, 0) << path;
    const hid_t space = H5Dget_space(opened);
    Shape dims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    return dims;
  }

  template <class T>
  [[nodiscard]] std::vector<T> read(const std::string& path) const {
    std::size_t count = 1;
    for (const hsize_t length : shape(path)) count *= length;
    std::vector<T> values(count);
    const hid_t opened = H5Dopen2(file_, path.c_str(), H5P_DEFAULT);
    EXPECT_GT(H5Tequal(H5Dget_type(opened), hdf5_type<T>()), 0) << path << " is stored as another type";
    EXPECT_GE(H5Dread(opened, hdf5_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << path;
    return values;
  }

  template <class T>
  [[nodiscard]] std::vector<T> read_attribute(const std::string& object, const std::string& name) const {
    const hid_t opened = H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(opened, 0) << object << "@" << name;
    if (opened < 0) return {};
    std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(H5Aget_space(opened))));
    EXPECT_GE(H5Aread(opened, hdf5_type<T>(), values.data()), 0);
    return values;
  }

  /// Returns an attribute that is a string of fixed length.
  [[nodiscard]] std::string read_text(const std::string& object, const std::string& name) const {
    const hid_t opened = H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(opened, 0) << object << "@" << name;
    if (opened < 0) return {};
    const hid_t type = H5Aget_type(opened);
    EXPECT_EQ(H5Tis_variable_str(type), 0) << object << "@" << name;
    std::string value(H5Tget_size(type), '\0');
    EXPECT_GE(H5Aread(opened, type, value.data()), 0);
    return value.c_str();
  }

 private:
  void write_attribute(const std::string& object, const std::string& name, hid_t stored, hid_t memory, hid_t space,
                       const void* values) {
    if (H5Aexists_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0) remove_attribute(object, name);
    const hid_t created =
        H5Acreate_by_name(file_, object.c_str(), name.c_str(), stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Awrite(created, memory, values), 0) << object << "@" << name;
  }

  hid_t file_ = H5I_INVALID_HID, parents_ = H5I_INVALID_HID;
};

/// Test with a temporary folder.
class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "smallbatch-io-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

inline std::vector<char> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Expects the call to throw an Error of this kind with all pieces in its message.
inline void expect_error(ErrorKind kind, const std::vector<std::string>& pieces, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << (pieces.empty() ? "" : pieces.front());
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    for (const std::string& piece : pieces) {
      EXPECT_NE(std::string(error.what()).find(piece), std::string::npos)
          << "\"" << piece << "\" is not in: " << error.what();
    }
  }
}

/// Returns start, start + step, start + 2 step, ...
template <class T, class Values = std::vector<T>>
Values counted(std::size_t count, double start = 0, double step = 1) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(start + step * static_cast<double>(i));
  return values;
}
/// Returns the numbers of counted() in an array type that blocks have.
template <class T>
AlignedVector<T> counted_block(std::size_t count, double start = 0, double step = 1) {
  return counted<T, AlignedVector<T>>(count, start, step);
}

/// Adds /pair_energy/e with 5 charges in 2 problems, and /correlation/c with 2 channels of 5 samples of 3 inputs.
inline void add_pairs_and_signals(RawHdf5& file) {
  file.dataset("/pair_energy/e/position", {5, 3}, counted<double>(15, 0.5, 0.25));
  file.dataset("/pair_energy/e/charge", {5}, std::vector<double>{1, -1, 2, -2, 3});
  file.dataset("/pair_energy/e/offset", {3}, std::vector<std::int64_t>{0, 3, 5});
  file.dataset("/pair_energy/e/group", {5}, std::vector<std::int8_t>{1, 2, 0, 2, 1});
  file.attribute("/pair_energy/e", "per_charge", std::vector<std::int32_t>{1});
  std::vector<std::complex<float>> samples(30);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = {static_cast<float>(i), -static_cast<float>(i)};
  file.dataset("/correlation/c/signal", {2, 5, 3}, samples);
  file.dataset("/correlation/c/flag", {2, 5, 3}, counted<std::uint8_t>(30));
  file.dataset("/correlation/c/frequency", {2}, std::vector<double>{1.4e9, 1.5e9});
  file.attribute("/correlation/c", "integrate", std::vector<std::int32_t>{2});
}

/// Writes a good problem file: /solve/s with A (3,2,2) and b (3,2), and /potential/p with 4 charges in 2 problems.
inline void write_good_problems(const std::string& path, RawHdf5::Mode mode = RawHdf5::Mode::create,
                                const std::function<void(RawHdf5&)>& more = {}) {
  RawHdf5 file(path, mode);
  file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
  file.dataset("/solve/s/A", {3, 2, 2}, counted<float>(12, 1));
  file.dataset("/solve/s/b", {3, 2}, counted<float>(6, 100));
  file.dataset("/potential/p/position", {4, 3}, counted<double>(12, 0.5, 0.25));
  file.dataset("/potential/p/charge", {4}, std::vector<double>{1, -1, 2, -2});
  file.dataset("/potential/p/offset", {3}, std::vector<std::int64_t>{0, 1, 4});
  file.dataset("/potential/p/origin", {2, 3}, counted<double>(6, -3));
  file.dataset("/potential/p/spacing", {3}, std::vector<double>{0.5, 1, 2});
  file.attribute("/potential/p", "shape", std::vector<std::int64_t>{4, 3, 2});
  if (more) more(file);
}

}  // namespace smallbatch::testing
