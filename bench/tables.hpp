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

/// The time of single calls, n = 32, one right-hand side, single precision: these steps, on batches of these sizes.
inline constexpr std::int64_t call_batches[] = {1, 10, 100, 1000, 10'000, 100'000, 1 << 20};
Ladder calls_ladder(std::int64_t batch);

/// Potentials by the production call, one step on problems of several sizes. The first one is large: the others are
/// compared with it.
const std::vector<LadderTable>& potential_sizes();

/// Potentials so small that the call's own time shows.
const std::vector<LadderTable>& small_potential_sizes();

/// Sums so short that the call's own time shows, by the vendor's library and by production.
const std::vector<LadderTable>& sums_of_sizes();

/// The names of all tables, each once, in the order of the report: those of the ladders, then "potential_sizes",
/// "potential_calls", "reduce_calls", "calls" and "cpu".
std::vector<std::string> table_names();

/// The names in "solve,calls". Throws Error (usage) for one that no table has.
std::vector<std::string> parse_table_names(std::string_view list);

}  // namespace smallbatch
