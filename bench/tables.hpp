// The list of tables. The benchmark measures them; the tests check every row on small batches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

struct LadderTable {
  std::string name;                ///< name for --only; several tables may share a name
  std::function<Ladder()> full;    ///< ladder to measure
  std::function<Ladder()> sample;  ///< ladder for tests: all steps, on sizes that no tile divides
};
const std::vector<LadderTable>& ladder_tables();

/// Table of one operation on systems of many sizes. Each size has a ladder, and steps are columns.
struct SizesTable {
  std::string title;
  std::vector<int> sizes;  ///< n of each row
  std::vector<LadderTable> rows;
  std::size_t fullest = 0;  ///< the row whose ladder has all steps
};
const std::vector<SizesTable>& solve_sizes();

/// Sizes n and batches for the tables of single calls: one right-hand side, single precision, a table for each n. Sizes
/// that no solver accepts are left out.
inline constexpr int call_sizes[] = {27, 32, 48, 64, 81, 96, 128};
inline constexpr std::int64_t call_batches[] = {1, 10, 100, 1000, 8192, 65536};

/// The production call of the potential on problems of several sizes. The first problem is large, and all others are
/// compared with it.
const std::vector<LadderTable>& potential_sizes();

/// Small potential problems, where the overhead of a call matters.
const std::vector<LadderTable>& small_potential_sizes();

/// Sums of few values, by the vendor's library and by production. The overhead of a call matters here.
const std::vector<LadderTable>& sums_of_sizes();

/// Returns the names of all tables, each once, in the order of the report: the ladders, then "potential_sizes",
/// "potential_calls", "reduce_calls", "sizes", "calls" and "cpu".
std::vector<std::string> table_names();

/// Splits a list like "solve,calls" into names. Throws Error (usage) for a name that no table has.
std::vector<std::string> parse_table_names(std::string_view list);

}  // namespace smallbatch
