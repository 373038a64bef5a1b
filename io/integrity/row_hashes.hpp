// One number that says whether problems are the ones that were solved: a sum over the rows of all of a set's datasets,
//
//   problems_hash = sum of factor(f, k) XXH3(row k of dataset f) mod 2^64,
//
// with an odd factor for each row. It depends on neither blocks nor threads nor their order, and those of shares and
// ranks add up to that of the whole. io/FORMAT.md says which datasets count, and what their rows are. Private to io/
// and app/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smallbatch {

/// The part of the sum that rows [first, first + count) of a dataset of that name have, which lie one after the other.
std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, std::int64_t count, std::size_t bytes_per_row,
                        const void* rows);

/// The same of rows of different lengths: row first + k has the items offset[k] ... offset[k + 1] - 1.
std::uint64_t hash_rows(std::string_view dataset, std::int64_t first, const std::vector<std::int64_t>& offset,
                        std::size_t bytes_per_item, const void* items);

/// 16 hexadecimal digits; and back, nothing where it is no such text.
std::string problems_hash_text(std::uint64_t hash);
std::optional<std::uint64_t> parse_problems_hash(const std::string& text);

}  // namespace smallbatch
