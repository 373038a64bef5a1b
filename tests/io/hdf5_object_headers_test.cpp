// What is read of headers without HDF5 is what HDF5 says of the same contents, and damage is left to it.
#include "io/hdf5_object_headers.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalogue_messages.hpp"
#include "io/hdf5_describer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::RawHdf5;

HeaderBytes bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

/// What a result file has, and what it has not.
void write_contents(RawHdf5& file) {
  const double fraction = 0.1;
  file.dataset("/a/b/numbers", {2, 3}, std::vector<float>(6, 1));
  file.dataset("/a/b/wide", {4}, std::vector<double>(4, 1), H5T_IEEE_F64BE);
  file.dataset("/a/b/small", {5}, std::vector<std::int8_t>(5, 1));
  file.dataset("/a/b/none", {0, 3}, std::vector<std::int64_t>{});
  file.dataset("/a/b/complex", {2}, std::vector<std::complex<float>>(2));
  file.declare("/a/b/boolean", {3}, testing::boolean_type());
  file.declare("/a/b/unwritten", {7}, H5T_IEEE_F32BE);
  file.declare("/a/b/short", {3}, H5T_STD_U16LE);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 9);
  file.declare("/a/b/texts", {2}, text);
  const hid_t chunks = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk = 4;
  H5Pset_chunk(chunks, 1, &chunk);
  file.dataset("/a/b/chunked", {8}, std::vector<float>(8, 1), H5T_IEEE_F32LE, chunks);
  H5Pclose(chunks);
  for (const char* object : {"/", "/a", "/a/b", "/a/b/numbers"}) {
    file.attribute(object, "count", std::vector<std::int32_t>{-3, 4});
    file.attribute(object, "one", std::vector<std::int64_t>{INT64_MIN});
    file.attribute(object, "fraction", std::vector<double>{fraction});
    file.attribute(object, "narrow", std::vector<double>{fraction}, H5T_IEEE_F32BE);
    file.attribute(object, "name", "some words");
    file.attribute(object, "padded", "words", RawHdf5::Text::space_padded);
  }
  file.attribute("/a/b/small", "variable", "words", RawHdf5::Text::variable_utf8);
  file.attribute("/a/b/texts", "many", std::vector<double>(65, 1));
  for (int k = 0; k < 20; ++k) {  // more than HDF5 keeps in a header
    file.group("/many/group " + std::to_string(k));
    file.attribute("/many", "attribute " + std::to_string(k), std::vector<double>{fraction});
  }
  EXPECT_GE(H5Lcreate_soft("/a/b", file.id(), "soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  EXPECT_GE(H5Lcreate_hard(file.id(), "/a/b/numbers", file.id(), "/a/again", H5P_DEFAULT, H5P_DEFAULT), 0);
}

/// All of it, but where it lies.
std::string description_of(const std::string& path, unsigned threads = 1) {
  std::string sent;
  MessageWriter writer([&](const char* bytes, std::size_t count) { sent.append(bytes, count); });
  Hdf5Describer describer(std::make_shared<InputBytes>(path, 1), {}, threads);
  describer.describe("/", 4, [&](StoredObject&& object) {
    if (object.dataset && object.dataset->address) object.dataset->address = 0;
    if (object.dataset && object.dataset->chunks)
      for (StoredChunk& chunk : object.dataset->chunks->all) chunk.extent.address = 0;
    const auto forget_size = [](auto& defect) {
      if (!defect) return;
      Defect changed = *defect;
      changed.why = changed.why.substr(0, changed.why.find(", the file has"));
      defect = std::make_unique<Defect>(std::move(changed));
    };
    forget_size(object.defect);
    forget_size(object.attributes_defect);
    forget_size(object.contents_defect);
    writer.put(object);
  });
  writer.flush();
  return sent;
}

class ObjectHeaders : public testing::FileTest {};

TEST(MetadataChecksum, IsJenkinsLookup3) {
  EXPECT_EQ(metadata_checksum({}), 0xDEADBEEFU);
  EXPECT_EQ(metadata_checksum(bytes_of_text("Four score and seven years ago")), 0x17770551U);
}

/// Headers of version 1, of the older format, are HDF5's to read.
TEST_F(ObjectHeaders, AreDescribedAsHdf5DescribesTheSameContentsInTheOlderFormat) {
  {
    RawHdf5 file(path("new.h5"), RawHdf5::Mode::create_v110);
    write_contents(file);
  }
  {
    RawHdf5 file(path("old.h5"));
    write_contents(file);
  }
  const std::string found = description_of(path("new.h5")), expected = description_of(path("old.h5"));
  EXPECT_GT(found.size(), 5000U);
  EXPECT_EQ(found, expected);
}

/// Some of them are HDF5's to read.
TEST_F(ObjectHeaders, OfVeryManyMembersAreDescribedBySeveralThreadsAsByOne) {
  constexpr int count = 2000;
  {
    RawHdf5 file(path("many.h5"), RawHdf5::Mode::create_v110);
    for (int k = 0; k < count; ++k) {
      const std::string group = "/many/group " + std::to_string(k);
      file.dataset(group + "/numbers", {2}, std::vector<float>{1, 2});
      file.attribute(group, "number", std::vector<std::int32_t>{k});
      if (k % 100 == 7) file.attribute(group + "/numbers", "variable", "words", RawHdf5::Text::variable_utf8);
    }
    EXPECT_GE(H5Lcreate_soft("/many", file.id(), "/many/soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  }
  const std::string expected = description_of(path("many.h5"));
  EXPECT_GT(expected.size(), 100U * count);
  for (const unsigned threads : {2U, 3U}) EXPECT_EQ(description_of(path("many.h5"), threads), expected) << threads;
}

TEST_F(ObjectHeaders, ThatAreDamagedAreLeftToHdf5) {
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::create_v110);
    file.dataset("/x", {3}, std::vector<float>{1, 2, 3});
    file.attribute("/x", "unit", "volt");
  }
  std::ifstream file(path("p.h5"), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  const std::string name = "unit";
  const std::size_t attribute = whole.find(name), begin = whole.rfind("OHDR", attribute);
  ASSERT_NE(attribute, std::string::npos);
  ASSERT_NE(begin, std::string::npos);
  ObjectHeader header;  // one after the other
  const auto read_from = [&](const std::string& bytes) {
    std::ofstream(path("changed.h5"), std::ios::binary) << bytes;
    InputBytes changed(path("changed.h5"), 1);
    HeaderWindows windows(changed);
    return read_object_header(windows, begin, header);
  };
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(read_from(whole));
    EXPECT_EQ(header.kind, ObjectKind::dataset);
    EXPECT_EQ(header.shape, std::vector<std::int64_t>{3});
    EXPECT_EQ(header.bytes, 3 * sizeof(float));
    ASSERT_EQ(header.attributes.size(), 1U);
    EXPECT_EQ(header.attributes[0].name, name);
  }
  for (std::size_t at = begin; at < attribute + name.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    EXPECT_FALSE(read_from(changed)) << at - begin;
  }
  for (std::size_t size = begin; size < attribute; ++size) EXPECT_FALSE(read_from(whole.substr(0, size))) << size;
}

/// As HDF5 leaves them to it: checksums are right where a program writes what it likes.
TEST_F(ObjectHeaders, WithAnAttributeThatHasNoNameAreLeftToHdf5) {
  const auto reads = [&](unsigned char name_bytes, const std::string& name) {
    std::vector<unsigned char> bytes{'O', 'H', 'D', 'R', 2, 0, 0};
    const auto append = [&](std::initializer_list<int> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
    append({2, 18, 0, 0, 0, 0});  // a group, with no link outside
    bytes.insert(bytes.end(), 16, 255);
    append({12, 33 + name_bytes, 0, 0, 3, 0, name_bytes, 0, 12, 0, 4, 0, 0});
    bytes.insert(bytes.end(), name.begin(), name.end());
    append({0x10, 8, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0});  // int64
    append({2, 0, 0, 0});                              // one
    append({7, 0, 0, 0, 0, 0, 0, 0});
    bytes[6] = static_cast<unsigned char>(bytes.size() - 7);
    const std::uint32_t sum = metadata_checksum(bytes);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<unsigned char>(sum >> shift));
    std::ofstream(path("header"), std::ios::binary) << std::string(bytes.begin(), bytes.end());
    InputBytes file(path("header"), 1);
    HeaderWindows windows(file);
    ObjectHeader header;
    return read_object_header(windows, 0, header);
  };
  EXPECT_TRUE(reads(2, std::string("k\0", 2)));
  EXPECT_FALSE(reads(2, "kk"));
  EXPECT_FALSE(reads(0, ""));
}

/// A program may leave HDF5's cache in the file as it was: what is newer is in there, and not where headers lie.
TEST_F(ObjectHeaders, ThatAreOlderThanWhatTheFileHasOfACacheAreLeftToHdf5) {
  const auto write = [&](const std::string& name, double value) {
    RawHdf5 file(path(name), RawHdf5::Mode::create_v110);
    file.group("/a");
    file.attribute("/a", "cutoff", std::vector<double>{value});
  };
  write("older.h5", 1.5);
  write("newer.h5", 2.5);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  H5AC_cache_image_config_t image{};
  image.version = H5AC__CURR_CACHE_IMAGE_CONFIG_VERSION;
  image.generate_image = true;
  image.entry_ageout = H5AC__CACHE_IMAGE__ENTRY_AGEOUT__NONE;
  ASSERT_GE(H5Pset_mdc_image_config(access, &image), 0);
  const hid_t file = H5Fopen(path("older.h5").c_str(), H5F_ACC_RDWR, access);
  const hid_t group = H5Gopen2(file, "/a", H5P_DEFAULT), attribute = H5Aopen(group, "cutoff", H5P_DEFAULT);
  const double value = 2.5;
  ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value), 0);
  H5Aclose(attribute);
  H5Gclose(group);
  ASSERT_GE(H5Fclose(file), 0);
  H5Pclose(access);
  EXPECT_EQ(description_of(path("older.h5")), description_of(path("newer.h5")));
}

}  // namespace
}  // namespace smallbatch
