// Digits against published ones (tests/app/checksums_test.py compares those of files with another program's), and
// pieces that come in any order against the bytes as a whole.
#include "io/hashes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

TEST(Hashes, of_parts_are_those_of_the_whole) {
  const std::vector<char> bytes = some_bytes(100'003);
  Hash hash(HashBits::of_64);
  for (std::size_t first = 0; first < bytes.size(); first += 17)
    hash.add(&bytes[first], std::min<std::size_t>(17, bytes.size() - first));
  EXPECT_EQ(hash.digits(), hash_digits(bytes.data(), bytes.size()));
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

/// As channels of a correlation do: block after block goes through the whole array.
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
