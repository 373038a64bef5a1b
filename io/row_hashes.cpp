// libxxhash is used here as in io/hashes.cpp: a header, whose short hashes are a few instructions where they are
// inlined.
#include "io/row_hashes.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstdio>

namespace smallbatch {
namespace {

constexpr std::size_t digits = 16;

/// Of a row. Odd, so that a row's hash loses nothing; mixed, so that equal changes of many rows do not cancel.
std::uint64_t factor(std::uint64_t of_dataset, std::int64_t row) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const std::uint64_t mixed = (of_dataset + static_cast<std::uint64_t>(row)) * golden;
  return (mixed ^ mixed >> 32) | 1;
}

std::uint64_t hash_of_name(std::string_view dataset) { return XXH3_64bits(dataset.data(), dataset.size()); }

/// Of rows that all have the bytes of `Bytes`: a constant for short ones, of which XXH3 then has one branch.
template <class Bytes>
std::uint64_t sum(std::uint64_t of_dataset, std::int64_t first, std::int64_t count, Bytes bytes,
                  const unsigned char* rows) {
  std::uint64_t total = 0;
  for (std::int64_t k = 0; k < count; ++k, rows += bytes())
    total += factor(of_dataset, first + k) * XXH3_64bits(rows, bytes());
  return total;
}

template <std::size_t bytes>
struct Fixed {
  constexpr std::size_t operator()() const { return bytes; }
};

}  // namespace

std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, std::int64_t count, std::size_t bytes_per_row,
                        const void* rows) {
  const std::uint64_t of_dataset = hash_of_name(dataset);
  const auto* const bytes = static_cast<const unsigned char*>(rows);
  switch (bytes_per_row) {
    case 1:
      return sum(of_dataset, first, count, Fixed<1>(), bytes);
    case 4:
      return sum(of_dataset, first, count, Fixed<4>(), bytes);
    case 8:
      return sum(of_dataset, first, count, Fixed<8>(), bytes);
    case 16:
      return sum(of_dataset, first, count, Fixed<16>(), bytes);
    case 32:
      return sum(of_dataset, first, count, Fixed<32>(), bytes);
    default:
      return sum(
          of_dataset, first, count, [bytes_per_row] { return bytes_per_row; }, bytes);
  }
}

std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, const std::vector<std::int64_t>& offset,
                        std::size_t bytes_per_item, const void* items) {
  const std::uint64_t of_dataset = hash_of_name(dataset);
  const auto* const bytes = static_cast<const unsigned char*>(items);
  std::uint64_t total = 0;
  for (std::size_t k = 0; k + 1 < offset.size(); ++k) {
    const auto begin = static_cast<std::size_t>(offset[k]), end = static_cast<std::size_t>(offset[k + 1]);
    total += factor(of_dataset, first + static_cast<std::int64_t>(k)) *
             XXH3_64bits(bytes + begin * bytes_per_item, (end - begin) * bytes_per_item);
  }
  return total;
}

std::string problems_hash_text(std::uint64_t hash) {
  std::array<char, digits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::optional<std::uint64_t> parse_problems_hash(const std::string& text) {
  std::uint64_t hash = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, hash, 16);
  if (text.size() != digits || failure != std::errc() || stopped != end) return std::nullopt;
  return hash;
}

}  // namespace smallbatch
