// Which tables there are. The benchmark measures them; the tests check every row of each on small batches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

struct LadderTable {
  std::string name;                ///< for --only; several tables may share one
  std::function<Ladder()> full;    ///< as it is measured
  std::function<Ladder()> sample;  ///< the same steps on sizes that no tile divides, for tests
};
const std::vector<LadderTable>& ladder_tables();

/// One operation on systems of many sizes: a ladder for each, whose steps are columns.
struct SizesTable {
  std::string title;
  std::vector<int> sizes;  ///< n of each row
  std::vector<LadderTable> rows;
  std::size_t fullest = 0;  ///< the row whose ladder has all steps
};
const std::vector<SizesTable>& solve_sizes();

/// The time of single calls, one right-hand side, single precision: for each n a table, with batches of these sizes.
/// Left out are sizes that no solver accepts.
inline constexpr int call_sizes[] = {27, 32, 48, 64, 81};
inline constexpr std::int64_t call_batches[] = {1, 10, 100, 1000, 8192, 65536};

/// Potentials by the production call, one step on problems of several sizes. The first one is large: the others are
/// compared with it.
const std::vector<LadderTable>& potential_sizes();

/// Potentials so small that the call's own time shows.
const std::vector<LadderTable>& small_potential_sizes();

/// Sums so short that the call's own time shows, by the vendor's library and by production.
const std::vector<LadderTable>& sums_of_sizes();

/// The names of all tables, each once, in the order of the report: those of the ladders, then "potential_sizes",
/// "potential_calls", "reduce_calls", "sizes", "calls" and "cpu".
std::vector<std::string> table_names();

/// The names in "solve,calls". Throws Error (usage) for one that no table has.
std::vector<std::string> parse_table_names(std::string_view list);

}  // namespace smallbatch
