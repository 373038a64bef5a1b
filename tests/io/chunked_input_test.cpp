// Chunks are read as HDF5 itself reads them, whatever a writer may store. A chunk that does not decode to the bytes
// that it declares is refused by name. The tests make chunks by hand, with zlib and H5Dwrite_chunk. One file, because
// each refused chunk is a changed copy of a readable chunk.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/problem_reader.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::expect_error;
using testing::RawHdf5;
using testing::Shape;

using Bytes = std::vector<unsigned char>;
using ChunkedInput = testing::FileTest;

Bytes deflated(const Bytes& bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes stored(size);
  EXPECT_EQ(compress(stored.data(), &size, bytes.data(), bytes.size()), Z_OK);
  stored.resize(size);
  return stored;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Chunks that are read

struct Random {
  std::mt19937 engine{20240719};
  /// Returns one of first, ..., last.
  std::int64_t operator()(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(last - first + 1));
  }
};

/// Writes a dataset of random shape, chunking, type, byte order and filters. Some chunks skip some filters.
void write_random_dataset(RawHdf5& file, const std::string& name, Random& random) {
  const auto rank = static_cast<std::size_t>(random(1, 4));
  Shape shape(rank), limit(rank), chunk(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = static_cast<hsize_t>(random(1, 9));
    chunk[axis] = static_cast<hsize_t>(random(1, 11));
    limit[axis] = chunk[axis] > shape[axis] || random(0, 2) == 0 ? H5S_UNLIMITED : shape[axis];
  }
  const std::array types{H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_STD_I8LE,
                         H5T_STD_I8BE,   H5T_STD_I32LE,  H5T_STD_I32BE,  H5T_STD_I64LE,  H5T_STD_I64BE};
  const hid_t type = types.at(static_cast<std::size_t>(random(0, 9)));
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE),
              space = H5Screate_simple(static_cast<int>(rank), shape.data(), limit.data());
  H5Pset_chunk(creation, static_cast<int>(rank), chunk.data());
  std::array filters{0, 1, 2};
  std::shuffle(filters.begin(), filters.end(), random.engine);
  const std::int64_t filter_count = random(0, 3);
  for (std::int64_t i = 0; i < filter_count; ++i) {
    const int filter = filters.at(static_cast<std::size_t>(i));
    if (filter == 0) H5Pset_shuffle(creation);
    if (filter == 1) H5Pset_deflate(creation, static_cast<unsigned>(random(0, 9)));
    if (filter == 2) H5Pset_fletcher32(creation);
  }
  if (random(0, 1) == 1) H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
  const hid_t dataset = H5Dcreate2(file.id(), name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random(-100, 100));
  ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);

  // Writes the first chunk again, without filters, with random bytes also beyond the dataset's edge.
  if (filter_count > 0 && random(0, 1) == 1) {
    std::size_t bytes = H5Tget_size(type);
    for (const hsize_t length : chunk) bytes *= length;
    Bytes raw(bytes);
    for (unsigned char& byte : raw) byte = static_cast<unsigned char>(random(0, 3));
    const Shape origin(rank, 0);
    ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, (1U << filter_count) - 1, origin.data(), bytes, raw.data()), 0);
  }
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(creation);
}

/// Reads elements [first, first + count) of the first axis with HDF5.
template <class T>
std::vector<T> read_by_hdf5(const RawHdf5& file, const std::string& name, hsize_t first, hsize_t count) {
  const hid_t dataset = H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), space = H5Dget_space(dataset);
  Shape length = file.shape(name), start(length.size(), 0);
  start[0] = first;
  length[0] = count;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, length.data(), nullptr);
  const hid_t memory = H5Screate_simple(static_cast<int>(length.size()), length.data(), nullptr);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(memory)));
  EXPECT_GE(H5Dread(dataset, testing::hdf5_type<T>(), memory, space, H5P_DEFAULT, values.data()), 0);
  return values;
}

template <class T>
void expect_hdf5s_numbers(const InputFile& input, const RawHdf5& file, const std::string& name, Random& random) {
  const auto all = static_cast<std::int64_t>(file.shape(name)[0]);
  for (int trial = 0; trial < 3; ++trial) {
    const std::int64_t first = random(0, all - 1), count = random(1, all - first);
    const auto expected = read_by_hdf5<T>(file, name, static_cast<hsize_t>(first), static_cast<hsize_t>(count));
    std::vector<T> found(expected.size());
    input.read(name, {{first, count}}, found.data());
    EXPECT_EQ(bytes_of(found), bytes_of(expected)) << name << " from " << first << ", " << count;
  }
}

TEST_F(ChunkedInput, every_chunking_type_and_filter_is_read_as_hdf5_reads_it) {
  Random random;
  constexpr int datasets = 300;
  for (const auto mode : {RawHdf5::Mode::create, RawHdf5::Mode::create_v110}) {
    {
      RawHdf5 file(path("c.h5"), mode);
      for (int i = 0; i < datasets; ++i) write_random_dataset(file, "d" + std::to_string(i), random);
    }
    const RawHdf5 file(path("c.h5"), RawHdf5::Mode::read);
    const InputFile input(path("c.h5"));
    for (int i = 0; i < datasets; ++i) {
      const std::string name = "/d" + std::to_string(i);
      expect_hdf5s_numbers<float>(input, file, name, random);
      expect_hdf5s_numbers<double>(input, file, name, random);
      expect_hdf5s_numbers<std::int8_t>(input, file, name, random);
      expect_hdf5s_numbers<std::int32_t>(input, file, name, random);
      expect_hdf5s_numbers<std::int64_t>(input, file, name, random);
    }
  }
}

TEST_F(ChunkedInput, ranges_of_two_axes_are_read_across_chunks) {
  const auto values = counted<double>(std::size_t{5} * 7 * 3 * 2);
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{2, 3, 2, 2};
    H5Pset_chunk(creation, 4, chunk.data());
    H5Pset_deflate(creation, 1);
    file.dataset("/v", {5, 7, 3, 2}, values, H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  const InputFile input(path("c.h5"));
  for (std::int64_t first = 0; first < 5; ++first) {
    for (std::int64_t plane = 0; plane < 7; ++plane) {
      std::vector<double> found(static_cast<std::size_t>((5 - first) * (7 - plane) * 6)), expected;
      input.read("/v", {{first, 5 - first}, {plane, 7 - plane}}, found.data());
      for (std::int64_t i = first; i < 5; ++i) {
        for (std::int64_t k = plane * 6; k < 42; ++k) expected.push_back(static_cast<double>(42 * i + k));
      }
      EXPECT_EQ(found, expected);
    }
  }
}

TEST_F(ChunkedInput, checksums_of_hdf5_before_1_6_3_are_right_too) {
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{7}, origin{0};
    H5Pset_chunk(creation, 1, chunk.data());
    H5Pset_fletcher32(creation);
    file.dataset("/v", {7}, counted<std::int8_t>(7, 100), H5I_INVALID_HID, creation);
    const hid_t dataset = H5Dopen2(file.id(), "/v", H5P_DEFAULT);
    std::uint32_t skipped = 0;
    Bytes stored(7 + 4);
    ASSERT_GE(H5Dread_chunk(dataset, H5P_DEFAULT, origin.data(), &skipped, stored.data()), 0);
    std::swap(stored[7], stored[8]);
    std::swap(stored[9], stored[10]);
    ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin.data(), stored.size(), stored.data()), 0);
    H5Dclose(dataset);
    H5Pclose(creation);
  }
  const InputFile input(path("c.h5"));
  std::vector<std::int8_t> found(7);
  input.read("/v", {}, found.data());
  EXPECT_EQ(found, counted<std::int8_t>(7, 100));
}

TEST_F(ChunkedInput, a_chunk_larger_than_what_is_kept_is_read_in_any_order) {
  constexpr std::size_t systems = 6'000;  // of 8 KiB, in chunks of 40 MB
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{5'000, 32, 32};
    H5Pset_chunk(creation, 3, chunk.data());
    H5Pset_deflate(creation, 1);
    file.dataset("/v", {systems, 32, 32}, counted<double>(systems * 1024), H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  const InputFile input(path("c.h5"));
  std::vector<double> found(1024);
  for (const std::int64_t system : {0, 1, 4'999, 5'000, 5'999, 2'500, 5'001}) {
    input.read("/v", {{system, 1}}, found.data());
    EXPECT_EQ(found, counted<double>(1024, static_cast<double>(system) * 1024));
  }
}

/// Returns the bytes that this process has read from files, as the system counts them.
std::int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::int64_t count = 0;
  file >> name >> count;
  EXPECT_EQ(name, "rchar:");
  return count;
}

TEST_F(ChunkedInput, no_chunk_is_read_twice_by_who_reads_on) {
  // A system has 4 KiB. Each dataset has four chunks of 10 MB: two along the systems, and two along rows or columns.
  constexpr std::int64_t systems = 7'000;
  const auto number = [](std::int64_t i) { return static_cast<float>(i % 65'537); };
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{5'000, 16, 32}, halved{5'000, 32, 16};
    std::vector<float> values(systems * 1024);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = number(static_cast<std::int64_t>(i));
    H5Pset_chunk(creation, 3, chunk.data());
    file.dataset("/v", {systems, 32, 32}, values, H5I_INVALID_HID, creation);
    H5Pset_chunk(creation, 3, halved.data());
    H5Pset_fletcher32(creation);
    file.dataset("/w", {systems, 32, 32}, values, H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  const InputFile input(path("c.h5"));
  for (const std::string name : {"/v", "/w"}) {
    (void)input.dataset(name);
    const std::int64_t before = bytes_read();
    for (std::int64_t first = 0; first < systems; first += 300) {
      const std::int64_t count = std::min<std::int64_t>(300, systems - first);
      std::vector<float> found(static_cast<std::size_t>(count) * 1024);
      input.read(name, {{first, count}}, found.data());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], number(first * 1024 + static_cast<std::int64_t>(i)));
      }
    }
    EXPECT_LT(bytes_read() - before, 4 * 5'000 * 16 * 32 * 4 + 100'000);
  }
}

TEST_F(ChunkedInput, several_threads_read_one_dataset_at_a_time) {
  constexpr std::int64_t systems = 2'000;
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{70, 16, 16};
    H5Pset_chunk(creation, 3, chunk.data());
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 1);
    file.dataset("/v", {systems, 16, 16}, counted<float>(systems * 256), H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  const InputFile input(path("c.h5"), 3);
  (void)input.dataset("/v");
  std::vector<std::thread> threads;
  std::array<std::int64_t, 5> wrong{};
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (auto first = static_cast<std::int64_t>(31 * t); first + 333 <= systems; first += 333) {
        std::vector<float> found(333 * 256);
        input.read("/v", {{first, 333}}, found.data());
        if (found != counted<float>(found.size(), static_cast<double>(first) * 256)) ++wrong[t];
      }
    });
  }
  // Meanwhile this thread opens the same file.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(InputFile(path("c.h5")).dataset("/v").shape.size(), 3U);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<std::int64_t, 5>{}));
}

TEST_F(ChunkedInput, of_several_wrong_chunks_the_first_is_named) {
  {
    RawHdf5 file(path("c.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{65'536};
    H5Pset_chunk(creation, 1, chunk.data());
    H5Pset_deflate(creation, 1);
    file.dataset("/v", {20 * 65'536}, counted<double>(20 * 65'536), H5I_INVALID_HID, creation);
    const hid_t dataset = H5Dopen2(file.id(), "/v", H5P_DEFAULT);
    for (hsize_t wrong = 7; wrong < 20; wrong += 3) {
      const Shape origin{wrong * 65'536};
      const Bytes stored = deflated(Bytes(wrong));
      ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin.data(), stored.size(), stored.data()), 0);
    }
    H5Dclose(dataset);
    H5Pclose(creation);
  }
  for (const unsigned threads : {1U, 4U, 16U}) {
    const InputFile input(path("c.h5"), threads);
    std::vector<double> found(20 * 65'536);
    expect_error(ErrorKind::bad_input, {"/v", "its chunk at (458752) inflates to 7 bytes"},
                 [&] { input.read("/v", {}, found.data()); });
  }
}

// Chunks that are refused

/// A set of 4 systems of 2 rows in one chunk of 64 bytes: its filters, its stored bytes, and the words of the refusal.
struct BadChunk {
  const char* name;
  std::function<void(hid_t creation)> filters;
  std::uint32_t skipped;
  std::function<Bytes(const Bytes& right)> stored;
  std::vector<std::string> says;
};

const std::vector<BadChunk>& bad_chunks() {
  const auto deflate = [](hid_t creation) { H5Pset_deflate(creation, 6); };
  const auto shuffle = [](hid_t creation) { H5Pset_shuffle(creation); };
  const auto fletcher32 = [](hid_t creation) { H5Pset_fletcher32(creation); };
  const auto fletcher32_then_deflate = [](hid_t creation) { H5Pset_fletcher32(creation), H5Pset_deflate(creation, 6); };
  const auto deflate_then_fletcher32 = [](hid_t creation) { H5Pset_deflate(creation, 6), H5Pset_fletcher32(creation); };
  const auto as_it_is = [](const Bytes& right) { return right; };
  const auto first = [](std::size_t count) {
    return [=](const Bytes& right) { return Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(count)); };
  };
  const auto changed = [](std::ptrdiff_t at) {
    return [=](const Bytes& right) {
      Bytes stored = deflated(right);
      *(at < 0 ? stored.end() + at : stored.begin() + at) ^= 0x10;
      return stored;
    };
  };
  static const std::vector<BadChunk> all{
      {"inflates_short",
       deflate,
       0,
       [](const Bytes& right) { return deflated(Bytes(right.begin(), right.end() - 1)); },
       {"inflates to 63 bytes", "expected 64 bytes"}},
      {"inflates_to_nothing",
       deflate,
       0,
       [](const Bytes&) { return deflated({}); },
       {"inflates to 0 bytes", "expected 64 bytes"}},
      {"inflates_long",
       deflate,
       0,
       [](Bytes right) {
         right.push_back(0);
         return deflated(right);
       },
       {"inflates to more than 64 bytes", "expected 64 bytes"}},
      {"inflates_without_end",
       deflate,
       0,
       [](const Bytes&) { return deflated(Bytes(80'000, 0)); },
       {"inflates to more than 64 bytes"}},
      {"cut_off",
       deflate,
       0,
       [](const Bytes& right) {
         Bytes stored = deflated(right);
         stored.resize(stored.size() / 2);
         return stored;
       },
       {"cut off after inflating to", "expected 64 bytes"}},
      {"without_its_checksum",
       deflate,
       0,
       [](const Bytes& right) {
         Bytes stored = deflated(right);
         stored.resize(stored.size() - 1);
         return stored;
       },
       {"cut off after inflating to 64 bytes"}},
      {"followed_by_something",
       deflate,
       0,
       [](const Bytes& right) {
         Bytes stored = deflated(right);
         stored.push_back(0);
         return stored;
       },
       {"has 1 byte after its deflate stream"}},
      {"no_deflate_stream", deflate, 0, as_it_is, {"damaged deflate stream", "after 0 bytes, expected 64 bytes"}},
      {"wrong_in_the_middle", deflate, 0, changed(20), {"deflate stream"}},
      {"wrong_at_the_end", deflate, 0, changed(-1), {"damaged deflate stream", "incorrect data check"}},
      {"skipped_and_short", deflate, 1, first(63), {"has 63 bytes", "expected 64 bytes"}},
      {"skipped_and_long",
       deflate,
       1,
       [](Bytes right) {
         right.push_back(0);
         return right;
       },
       {"has 65 bytes", "expected 64 bytes"}},
      {"far_too_long",
       deflate,
       0,
       [](const Bytes&) { return Bytes(5'000, 0); },
       {"has 5000 bytes", "expected at most"}},
      {"skips_what_is_not_there", deflate, 2, deflated, {"skipped filters that its dataset does not have"}},
      {"shuffled_long",
       shuffle,
       0,
       [](Bytes right) {
         right.resize(68);
         return right;
       },
       {"has 68 bytes", "expected at most 64"}},
      {"checksum_wrong",
       fletcher32,
       0,
       [](Bytes right) {
         right.insert(right.end(), {1, 2, 3, 4});
         return right;
       },
       {"Fletcher32 checksum", "expected 67305985"}},
      {"less_than_a_checksum", deflate_then_fletcher32, 0, first(3), {"has 3 bytes", "expected 4 bytes"}},
      {"checksum_of_fewer_bytes",
       fletcher32,
       0,
       [](const Bytes&) { return Bytes(64, 0); },  // 60 zeros, and their checksum, which is 0
       {"has 60 bytes", "expected 64 bytes"}},
      {"checksum_lost_before_deflating",
       fletcher32_then_deflate,
       0,
       deflated,
       {"inflates to 64 bytes", "expected 68 bytes"}},
  };
  return all;
}

class RefusedChunk : public testing::FileTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(RefusedChunk, names_the_chunk_and_its_bytes) {
  const BadChunk& bad = bad_chunks()[GetParam()];
  const auto right = bytes_of(counted<float>(16, 1, 0.37));
  for (const auto mode : {RawHdf5::Mode::create, RawHdf5::Mode::create_v110}) {
    {
      RawHdf5 file(path("p.h5"), mode);
      file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      const Shape chunk{4, 2, 2}, origin{4, 0, 0};
      H5Pset_chunk(creation, 3, chunk.data());
      bad.filters(creation);
      file.dataset("/solve/s/A", {8, 2, 2}, counted<float>(32), H5I_INVALID_HID, creation);
      const hid_t dataset = H5Dopen2(file.id(), "/solve/s/A", H5P_DEFAULT);
      const Bytes stored = bad.stored(right);
      ASSERT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, bad.skipped, origin.data(), stored.size(), stored.data()), 0);
      H5Dclose(dataset);
      H5Pclose(creation);
    }
    const ProblemReader reader(path("p.h5"));
    SpdBlock<float> block;
    reader.read(reader.solve_sets().at(0), 0, 4, block);  // the first chunk is good
    std::vector<std::string> says{"p.h5", "/solve/s/A", "its chunk at (4, 0, 0)", "). "};
    says.insert(says.end(), bad.says.begin(), bad.says.end());
    expect_error(ErrorKind::bad_input, says, [&] { reader.read(reader.solve_sets().at(0), 2, 4, block); });
  }
}

INSTANTIATE_TEST_SUITE_P(all, RefusedChunk, ::testing::Range(std::size_t{0}, bad_chunks().size()),
                         [](const auto& test) { return std::string(bad_chunks()[test.param].name); });

/// Changes the sizes of two chunks in the index of a file without metadata checksums. Both were 64 bytes.
void patch_chunk_bytes(const std::string& path, const std::array<std::uint32_t, 2>& wrong) {
  auto bytes = testing::file_bytes(path);
  const std::string node("TREE\1", 5);
  const auto found = std::search(bytes.begin(), bytes.end(), node.begin(), node.end());
  ASSERT_NE(found, bytes.end());
  // The node's header has 24 bytes. A key (bytes, skipped filters, four offsets) and an address of each chunk follow.
  for (std::size_t chunk = 0; chunk < 2; ++chunk) {
    char* const size = &*found + 24 + 48 * chunk;
    std::uint32_t stored = 0;
    std::memcpy(&stored, size, sizeof(stored));
    ASSERT_EQ(stored, 64U);
    std::memcpy(size, &wrong[chunk], sizeof(stored));
  }
  testing::write_bytes(path, bytes);
}

TEST_F(ChunkedInput, an_index_that_is_wrong_about_a_chunk_is_refused) {
  const std::array<std::uint32_t, 2> wrong[] = {{0, 128}, {60, 68}, {68, 60}, {64, 100'000}, {4'000'000'000, 64}};
  for (const auto& sizes : wrong) {
    {
      RawHdf5 file(path("p.h5"));
      file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
      const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
      const Shape chunk{4, 2, 2};
      H5Pset_chunk(creation, 3, chunk.data());
      file.dataset("/solve/s/A", {8, 2, 2}, counted<float>(32), H5I_INVALID_HID, creation);
      H5Pclose(creation);
    }
    patch_chunk_bytes(path("p.h5"), sizes);
    expect_error(ErrorKind::bad_input, {"p.h5", "/solve/s/A"}, [&] {
      const ProblemReader reader(path("p.h5"));
      SpdBlock<float> block;
      reader.read(reader.solve_sets().at(0), 0, 8, block);
    });
  }
}

TEST_F(ChunkedInput, filters_that_come_twice_are_refused) {
  testing::write_good_problems(path("p.h5"));
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.remove("/solve/s/A");
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const Shape chunk{3, 2, 2};
    H5Pset_chunk(creation, 3, chunk.data());
    H5Pset_deflate(creation, 1);
    H5Pset_deflate(creation, 1);
    file.dataset("/solve/s/A", {3, 2, 2}, counted<float>(12), H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  expect_error(ErrorKind::bad_input, {"p.h5", "/solve/s/A", "\"deflate\" twice"}, [&] { ProblemReader{path("p.h5")}; });
}

/// Streams in liblzf's format, made by hand. A number k below 32 announces k + 1 literal bytes.
TEST(Lzf, streams_come_out_or_are_refused) {
  const auto unpacked = [](const std::string& stream, std::size_t expected) {
    AlignedVector<unsigned char> bytes(stream.begin(), stream.end());
    const ChunkFilter filter{ChunkFilter::Kind::lzf, 0};
    const auto wrong = undo_filters({&filter, 1}, 0, expected, bytes);
    return wrong.value_or("") + std::string(bytes.begin(), bytes.end());
  };
  using namespace std::string_literals;
  EXPECT_EQ(unpacked("\x02"
                     "abc",
                     3),
            "abc");
  EXPECT_EQ(unpacked("\x02"
                     "abc"
                     "\x20\x02"s,
                     6),
            "abcabc");  // repeats 3 bytes that lie 3 bytes back
  EXPECT_EQ(unpacked("\x01"
                     "ab"
                     "\x80\x01"
                     "\x00"
                     "c"s,
                     9),
            "ababababc");  // source and target overlap
  EXPECT_EQ(unpacked("\x00"
                     "x"
                     "\xE0\x03\x00"s,
                     13),
            std::string(13, 'x'));  // a long repeat: 9 + 3 bytes
  const auto refused = [&](const std::string& stream, std::size_t expected, const std::string& says) {
    const std::string found = unpacked(stream, expected);
    EXPECT_NE(found.find(says), std::string::npos) << found;
  };
  refused(
      "\x02"
      "ab",
      3, "is cut off after 0 bytes, expected 3");
  refused(
      "\x00"
      "x"
      "\x20"s,
      4, "is cut off after 1 byte");
  refused(
      "\x00"
      "x"
      "\xE0\x03"s,
      13, "is cut off after 1 byte");
  refused(
      "\x02"
      "abc",
      2, "overflows its chunk after 0 bytes, expected 2");
  refused(
      "\x00"
      "x"
      "\xE0\xFF\x00"s,
      13, "overflows its chunk after 1 byte");
  refused(
      "\x00"
      "x"
      "\x20\x01"s,
      4, "copies from before its beginning after 1 byte");
  refused(
      "\x02"
      "abc",
      4, "ends after 3 bytes, expected 4");
}

/// Frames of RFC 8878, made by hand: a magic number, a header with the size, then blocks with type and size. The last
/// block is marked.
TEST(Zstandard, frames_come_out_or_are_refused) {
  const auto unpacked = [](const std::string& stream, std::size_t expected) {
    AlignedVector<unsigned char> bytes(stream.begin(), stream.end());
    const ChunkFilter filter{ChunkFilter::Kind::zstandard, 0};
    const auto wrong = undo_filters({&filter, 1}, 0, expected, bytes);
    return wrong.value_or("") + std::string(bytes.begin(), bytes.end());
  };
  using namespace std::string_literals;
  const std::string of_three = "\x28\xB5\x2F\xFD\x20\x03"s;             // header: one segment, 3 bytes
  const std::string raw = "\x19\x00\x00"s, repeated = "\x1B\x00\x00"s;  // last block: 3 bytes, or one byte 3 times
  EXPECT_EQ(unpacked(of_three + raw + "abc", 3), "abc");
  EXPECT_EQ(unpacked(of_three + repeated + "x", 3), "xxx");
  EXPECT_EQ(unpacked(of_three + raw + "abc" + of_three + repeated + "x", 6), "abcxxx");  // two frames
  const auto refused = [&](const std::string& stream, std::size_t expected, const std::string& says) {
    const std::string found = unpacked(stream, expected);
    EXPECT_NE(found.find(says), std::string::npos) << found;
  };
  refused(of_three + raw + "ab", 3, "has a damaged Zstandard stream");
  refused(of_three + raw + "abc", 2, "has a damaged Zstandard stream");
  refused(of_three + raw + "abc" + "more", 3, "has a damaged Zstandard stream");
  refused(of_three + raw + "abc", 4, "has a Zstandard stream of 3 bytes, expected 4");
  refused("abc", 3, "has a damaged Zstandard stream");
  refused("", 3, "has a Zstandard stream of 0 bytes, expected 3");
}

}  // namespace
}  // namespace smallbatch
