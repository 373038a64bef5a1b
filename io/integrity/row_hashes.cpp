// libxxhash is used as a header, as in io/integrity/hashes.cpp. Its short hashes take a few instructions when they are
// inlined.
#include "io/integrity/row_hashes.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <type_traits>

#include "io/integrity/hashes.hpp"

namespace smallbatch {
namespace {

/// Returns the factor of a row. It is odd, so that the product loses nothing of the row's hash. It is mixed, so that
/// equal changes of many rows do not cancel.
std::uint64_t factor(std::uint64_t of_dataset, std::int64_t row) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  const std::uint64_t mixed = (of_dataset + static_cast<std::uint64_t>(row)) * golden;
  return (mixed ^ mixed >> 32) | 1;
}

std::uint64_t hash_of_name(std::string_view dataset) { return XXH3_64bits(dataset.data(), dataset.size()); }

/// XXH3 hashes more bytes than this in a loop of vectors.
constexpr std::size_t longest_without_vectors = 240;

std::uint64_t hash_of_row(const void* bytes, std::size_t count) {
  return count > longest_without_vectors ? hash_number(bytes, count) : XXH3_64bits(bytes, count);
}

/// Returns the part of the sum that these rows contribute. For short rows `bytes_per_row` is a compile-time constant,
/// so that the hash has a single branch.
template <class Bytes>
std::uint64_t sum(std::uint64_t of_dataset, std::int64_t first, std::int64_t count, Bytes bytes_per_row,
                  const unsigned char* rows) {
  std::uint64_t total = 0;
  for (std::int64_t k = 0; k < count; ++k, rows += bytes_per_row)
    total += factor(of_dataset, first + k) * hash_of_row(rows, bytes_per_row);
  return total;
}

template <std::size_t bytes>
constexpr std::integral_constant<std::size_t, bytes> fixed{};

}  // namespace

std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, std::int64_t count, std::size_t bytes_per_row,
                        const void* rows) {
  const std::uint64_t of_dataset = hash_of_name(dataset);
  const auto* const bytes = static_cast<const unsigned char*>(rows);
  switch (bytes_per_row) {
    case 1:
      return sum(of_dataset, first, count, fixed<1>, bytes);
    case 4:
      return sum(of_dataset, first, count, fixed<4>, bytes);
    case 8:
      return sum(of_dataset, first, count, fixed<8>, bytes);
    case 16:
      return sum(of_dataset, first, count, fixed<16>, bytes);
    case 32:
      return sum(of_dataset, first, count, fixed<32>, bytes);
    default:
      return sum(of_dataset, first, count, bytes_per_row, bytes);
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
             hash_of_row(bytes + begin * bytes_per_item, (end - begin) * bytes_per_item);
  }
  return total;
}

std::string problems_hash_text(std::uint64_t hash) { return hash_digits(hash); }

std::optional<std::uint64_t> parse_problems_hash(const std::string& text) { return parse_hash_digits(text); }

}  // namespace smallbatch
