// A number that tells whether the problems of a set are the ones that were solved. It is a sum over the rows of all
// datasets of the set:
//
//   problems_hash = sum of factor(f, k) XXH3(row k of dataset f) mod 2^64,
//
// Each factor is odd. The sum does not depend on blocks, threads or their order. The sums of shares and of ranks add up
// to the sum of the whole set. The datasets that count, and their rows, are listed in io/FORMAT.md. Private to io/ and
// app/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smallbatch {

/// Returns the part of the sum that rows [first, first + count) of a dataset contribute. The rows are contiguous in
/// memory.
std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, std::int64_t count, std::size_t bytes_per_row,
                        const void* rows);

/// Returns the part of the sum that rows of different lengths contribute. Row first + k has the items offset[k] ...
/// offset[k + 1] - 1.
std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, const std::vector<std::int64_t>& offset,
                        std::size_t bytes_per_item, const void* items);

/// Returns the number as 16 hexadecimal digits.
std::string problems_hash_text(std::uint64_t hash);
/// Parses 16 hexadecimal digits. Returns nothing for any other text.
std::optional<std::uint64_t> parse_problems_hash(const std::string& text);

}  // namespace smallbatch
