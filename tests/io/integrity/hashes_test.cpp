// Digests equal published ones, and hashing in parts gives the digest of the whole. tests/app/checksums_test.py
// compares the digests of files with those of another program.
#include "io/integrity/hashes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/usable_kernels.hpp"
#include "io/integrity/hashes_wide.hpp"

namespace smallbatch {
namespace {

std::vector<char> some_bytes(std::size_t count) {
  std::vector<char> bytes(count);
  std::uint32_t state = 7;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(Hashes, of_nothing_are_those_that_xxhash_publishes) {
  EXPECT_EQ(hash_digits(nullptr, 0), "2d06800538d394c2");
  EXPECT_EQ(Hash(HashBits::of_64).digits(), "2d06800538d394c2");
  EXPECT_EQ(Hash(HashBits::of_128).digits(), "99aa06d3014798d86001c324468d497f");
}

/// Another program (xxhash of Python) gave the expected digests of bytes 1, 2, ... Byte i is (7 i + 3) mod 251.
TEST(Hashes, of_any_length_are_those_of_another_program) {
  std::vector<unsigned char> bytes(1'100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>((i * 7 + 3) % 251);
  for (const auto& [count, digits] : std::vector<std::pair<std::size_t, std::string>>{{240, "bc4d9ed91e10c5f5"},
                                                                                      {241, "bfe3eaa04d354190"},
                                                                                      {256, "6c840064a18f9593"},
                                                                                      {1024, "4d47bdbf8c2146ec"},
                                                                                      {1025, "4d526e718c951700"},
                                                                                      {1088, "ceb72269cc6cace2"},
                                                                                      {2048, "35f526c8ff836ee0"},
                                                                                      {4096, "336fbb39cdf4eba2"},
                                                                                      {4100, "4e189c8d0ea1d50b"},
                                                                                      {100'003, "3244fadb75abc354"},
                                                                                      {1 << 20, "bd2e9203a7463f98"}}) {
    EXPECT_EQ(hash_digits(&bytes[1], count), digits) << count;
    Hash hash(HashBits::of_64);
    hash.add(&bytes[1], count);
    EXPECT_EQ(hash.digits(), digits) << count;
  }
  Hash wide(HashBits::of_128);
  wide.add(&bytes[1], 100'003);
  EXPECT_EQ(wide.digits(), "595f5a84e7d901933244fadb75abc354");
}

/// Every instruction set of this processor gives the same digests, for each length up to some blocks and any alignment.
TEST(Hashes, do_not_depend_on_vectors) {
  std::vector<const HashFunctions*> all{&hashes_baseline};
  if constexpr (built_for_x86_64) {
    if (processor_has_avx2()) all.push_back(&hashes_avx2);
    if (processor_has_avx512()) all.push_back(&hashes_avx512);
  }
  const std::vector<char> bytes = some_bytes(5000);
  for (std::size_t count = 0; count < 4900; ++count) {
    const char* const begin = &bytes[count % 67];
    for (const HashFunctions* const hashes : all)
      ASSERT_EQ(hashes->of_64(begin, count), hashes_baseline.of_64(begin, count)) << count;
  }
}

TEST(Hashes, of_parts_are_those_of_the_whole) {
  const std::vector<char> bytes = some_bytes(100'003);
  Hash hash(HashBits::of_64);
  for (std::size_t first = 0; first < bytes.size(); first += 17)
    hash.add(&bytes[first], std::min<std::size_t>(17, bytes.size() - first));
  EXPECT_EQ(hash.digits(), hash_digits(bytes.data(), bytes.size()));
}

TEST(Hashes, are_texts_of_16_digits) {
  for (const std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{0xAB}, ~std::uint64_t{0}})
    EXPECT_EQ(parse_hash_digits(hash_digits(hash)), hash);
  for (const char* text : {"", "ab", "00000000000000 b", "00000000000000abc"})
    EXPECT_EQ(parse_hash_digits(text), std::nullopt) << text;
}

class Pieces : public ::testing::Test {
 protected:
  [[nodiscard]] std::string expected(std::size_t piece) const {
    const std::size_t begin = piece * bytes_per_hashed_piece;
    return hash_digits(&bytes_[begin], std::min<std::size_t>(bytes_per_hashed_piece, bytes_.size() - begin));
  }
  void add(std::size_t first, std::size_t count) { hashes_.add(first, count, &bytes_[first]); }
  void expect_all_but(const std::vector<std::size_t>& missing) const {
    ASSERT_EQ(hashes_.count(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_missing = std::ranges::find(missing, k) != missing.end();
      EXPECT_EQ(hashes_.is_missing(k), is_missing) << k;
      EXPECT_EQ(hashes_.digits(k), is_missing ? "" : expected(k)) << k;
    }
  }

  static constexpr std::size_t piece_ = bytes_per_hashed_piece;
  const std::vector<char> bytes_ = some_bytes(3 * piece_ + 1234);
  PieceHashes hashes_{bytes_.size()};
};

TEST_F(Pieces, are_known_once_all_their_bytes_came) {
  expect_all_but({0, 1, 2, 3});
  add(0, bytes_.size());
  expect_all_but({});
}

TEST_F(Pieces, come_in_parts_of_any_size) {
  std::mt19937 random(3);
  for (std::size_t first = 0; first < bytes_.size();) {
    const std::size_t count = std::min<std::size_t>(bytes_.size() - first, random() % 300'000 + 1);
    add(first, count);
    first += count;
  }
  expect_all_but({});
}

/// Each of four blocks has a part of every piece, as blocks of a correlation have.
TEST_F(Pieces, may_be_under_way_together) {
  for (std::size_t part = 0; part < 4; ++part)
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t size = std::min(piece_, bytes_.size() - k * piece_);
      const std::size_t first = size * part / 4;
      add(k * piece_ + first, size * (part + 1) / 4 - first);
    }
  expect_all_but({});
}

TEST_F(Pieces, that_come_backwards_twice_or_not_at_all_are_missing) {
  add(piece_ / 2, piece_ / 2);
  add(0, piece_ / 2);
  add(piece_, piece_);
  add(piece_ + 5, 1);
  add(2 * piece_, piece_ - 1);
  add(3 * piece_, 1234);
  expect_all_but({0, 1, 2});
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(begin_of_piece(k), k * piece_);
    hashes_.set(k, &bytes_[k * piece_]);
  }
  expect_all_but({});
}

}  // namespace
}  // namespace smallbatch
