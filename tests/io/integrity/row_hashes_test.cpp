// The hash of problems follows the rule of io/FORMAT.md: the expected numbers are those of another program (xxhash of
// Python). The hash does not depend on how problems are stored, or on where blocks, shares and threads divide them.
// tests/app/problems_hash_test.py has whole files of all kinds.
#include "io/integrity/row_hashes.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/problem_reader.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::RawHdf5;
using testing::Shape;

std::vector<unsigned char> some_bytes() {
  std::vector<unsigned char> bytes(6000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>((i * 7 + 3) % 251);
  return bytes;
}

TEST(RowHashes, are_those_of_another_program) {
  const std::vector<unsigned char> bytes = some_bytes();
  for (const auto& [length, digits] : std::vector<std::pair<std::size_t, std::string>>{{1, "d66002a485acbd21"},
                                                                                       {4, "acf9792583b88895"},
                                                                                       {8, "23d834fb8f75d244"},
                                                                                       {16, "9ef3815fac9222d6"},
                                                                                       {24, "fdaa45a38d210ed7"},
                                                                                       {32, "6ff526f44b920b38"},
                                                                                       {300, "70e3f33876c9beda"}}) {
    EXPECT_EQ(problems_hash_text(hash_rows("A", 5, 20, length, bytes.data())), digits) << length;
    std::vector<std::int64_t> offset;
    for (std::int64_t k = 0; k <= 20; ++k) offset.push_back(k);
    EXPECT_EQ(problems_hash_text(hash_rows("A", 5, offset, length, bytes.data())), digits) << length;
  }
  EXPECT_EQ(problems_hash_text(hash_rows("position", 3, {0, 1, 1, 5}, 24, bytes.data())), "311e7374806449b8");
}

TEST(RowHashes, of_parts_add_up_wherever_they_are_cut) {
  const std::vector<unsigned char> bytes = some_bytes();
  for (const std::size_t length : {1, 2, 4, 7, 8, 16, 32, 100}) {
    const std::uint64_t all = hash_rows("b", 0, 50, length, bytes.data());
    for (std::int64_t cut = 0; cut <= 50; ++cut) {
      const auto first = static_cast<std::size_t>(cut) * length;
      EXPECT_EQ(
          hash_rows("b", 0, cut, length, bytes.data()) + hash_rows("b", cut, 50 - cut, length, bytes.data() + first),
          all);
    }
  }
}

TEST(RowHashes, of_rows_that_changed_places_differ_and_of_other_datasets) {
  std::vector<unsigned char> bytes = some_bytes();
  const std::uint64_t before = hash_rows("A", 0, 100, 8, bytes.data());
  EXPECT_NE(hash_rows("b", 0, 100, 8, bytes.data()), before);
  EXPECT_NE(hash_rows("A", 1, 100, 8, bytes.data()), before);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 64 * 8);
  EXPECT_NE(hash_rows("A", 0, 100, 8, bytes.data()), before);
}

TEST(RowHashes, are_texts_of_16_digits) {
  for (const std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{0xAB}, ~std::uint64_t{0}})
    EXPECT_EQ(parse_problems_hash(problems_hash_text(hash)), hash);
  EXPECT_EQ(problems_hash_text(0xAB), "00000000000000ab");
  for (const char* text : {"", "ab", "00000000000000 b", "-0000000000000ab", "00000000000000abc", "0x000000000000ab"})
    EXPECT_EQ(parse_problems_hash(text), std::nullopt) << text;
}

/// Returns random numbers. Files store them exactly in either byte order.
template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<int>(engine() % 201) - 100) / T{4};
  return values;
}

hid_t chunks_of(const Shape& chunk, bool is_packed) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  if (is_packed) H5Pset_deflate(creation, 1);
  return creation;
}

class HashOfProblems : public testing::FileTest {
 protected:
  /// Returns the hash of systems of `n` rows with `nrhs` right-hand sides, computed row by row.
  [[nodiscard]] static std::uint64_t expected(const std::vector<float>& a, const std::vector<float>& b, std::size_t n,
                                              std::size_t nrhs) {
    const auto systems = static_cast<std::int64_t>(a.size() / (n * n));
    return hash_rows("A", 0, systems, n * n * 4, a.data()) + hash_rows("b", 0, systems, n * nrhs * 4, b.data());
  }
  void write(const std::vector<float>& a, const std::vector<float>& b, hsize_t n, hsize_t nrhs,
             hid_t type = H5T_IEEE_F32LE, hid_t of_a = H5P_DEFAULT) const {
    RawHdf5 file(path("p.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/solve/s/A", {a.size() / (n * n), n, n}, a, type, of_a);
    file.dataset("/solve/s/b", {a.size() / (n * n), n, nrhs}, b, type);
  }
  /// Returns the hash of all systems of the share, read in blocks of `at_once` systems.
  [[nodiscard]] std::uint64_t read(std::int64_t at_once, unsigned threads, const Share& share = {}) const {
    ProblemReader reader(path("p.h5"), threads);
    reader.take(share);
    const SolveSet& set = reader.solve_sets().at(0);
    SpdBlock<float> block;
    std::uint64_t hash = 0;
    for (std::int64_t first = 0; first < set.batch; first += at_once)
      hash += reader.read(set, first, std::min(at_once, set.batch - first), block);
    return hash;
  }
};

TEST_F(HashOfProblems, does_not_depend_on_blocks_threads_and_shares) {
  constexpr std::size_t systems = 1500, n = 29;  // 5 MB; the size of a piece is no multiple of a row
  const auto a = random_values<float>(systems * n * n, 1), b = random_values<float>(systems * n * 2, 2);
  write(a, b, n, 2);
  for (const unsigned threads : {1U, 3U, 8U})
    for (const std::int64_t at_once : {1500, 1499, 700, 13})
      EXPECT_EQ(read(at_once, threads), expected(a, b, n, 2)) << threads << " threads, blocks of " << at_once;
  std::uint64_t of_shares = 0;
  for (int k = 0; k < 7; ++k) of_shares += read(100, 2, {k, 7});
  EXPECT_EQ(of_shares, expected(a, b, n, 2));
}

TEST_F(HashOfProblems, does_not_depend_on_how_they_lie) {
  constexpr std::size_t systems = 600, n = 29;
  const auto a = random_values<float>(systems * n * n, 3), b = random_values<float>(systems * n * 2, 4);
  const hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(compact, H5D_COMPACT);
  for (const auto& [type, creation] : {std::pair{H5T_IEEE_F32BE, hid_t{H5P_DEFAULT}},
                                       {H5T_IEEE_F32LE, chunks_of({50, n, n}, false)},
                                       {H5T_IEEE_F32LE, chunks_of({7, 10, 10}, true)},
                                       {H5T_IEEE_F32BE, chunks_of({599, n, 1}, true)}}) {
    write(a, b, n, 2, type, creation);
    for (const std::int64_t at_once : {600, 101}) EXPECT_EQ(read(at_once, 3), expected(a, b, n, 2)) << at_once;
  }
  const std::vector<float> few_a(a.begin(), a.begin() + 4 * n * n), few_b(b.begin(), b.begin() + 4 * n * 2);
  write(few_a, few_b, n, 2, H5T_IEEE_F32LE, compact);
  EXPECT_EQ(read(3, 1), expected(few_a, few_b, n, 2));
}

TEST_F(HashOfProblems, is_of_rows_larger_than_a_threads_piece) {
  constexpr std::size_t n = 3, nrhs = 100'000;  // 1.2 MB a row
  const auto a = random_values<float>(5 * n * n, 5), b = random_values<float>(5 * n * nrhs, 6);
  write(a, b, n, nrhs);
  for (const std::int64_t at_once : {1, 2, 5}) EXPECT_EQ(read(at_once, 4), expected(a, b, n, nrhs));
}

TEST_F(HashOfProblems, is_of_pieces_of_signals) {
  constexpr std::size_t channels = 5, times = 300, inputs = 7;
  const auto values = random_values<double>(channels * times * inputs * 2, 7);
  const std::vector<std::int8_t> signal(values.begin(), values.end());
  const std::vector<std::uint8_t> flag(channels * times * inputs, 1);
  for (const hid_t creation : {hid_t{H5P_DEFAULT}, chunks_of({2, 70, 3, 2}, true)}) {
    {
      RawHdf5 file(path("c.h5"));
      file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 4});
      file.dataset("/correlation/s/signal", {channels, times, inputs, 2}, signal, H5T_STD_I8LE, creation);
      file.dataset("/correlation/s/flag", {channels, times, inputs}, flag);
    }
    const std::uint64_t expected = hash_rows("signal", 0, channels * times, inputs * 2, signal.data()) +
                                   hash_rows("flag", 0, channels * times, inputs, flag.data());
    const ProblemReader reader(path("c.h5"), 3);
    const CorrelationSet& set = reader.correlation_sets().at(0);
    for (const std::int64_t channels_at_once : {1, 2, 5}) {
      for (const std::int64_t times_at_once : {300, 128, 1}) {
        std::uint64_t hash = 0;
        SignalBlock block;
        for (block.first = 0; block.first < set.batch; block.first += channels_at_once) {
          for (block.first_time = 0; block.first_time < set.times; block.first_time += times_at_once) {
            block.channels = std::min(channels_at_once, set.batch - block.first);
            block.times = std::min(times_at_once, set.times - block.first_time);
            hash += reader.read(set, block);
          }
        }
        EXPECT_EQ(hash, expected) << channels_at_once << " channels, " << times_at_once << " times";
      }
    }
  }
}

}  // namespace
}  // namespace smallbatch
