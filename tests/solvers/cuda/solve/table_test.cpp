// The table of kernels: every system finds a row, and every row finds a system. The table is printed for readers of a
// profile.
#include "solvers/cuda/solve/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <set>
#include <string>

namespace smallbatch::testing {
namespace {

constexpr std::array family_names{"pieces", "columns", "lanes", "as_stored", "one_pass", "blocks"};
constexpr std::array arrival_names{"pieces", "aligned", "anywhere"};

template <class Visit>
void for_each_request(Visit&& visit) {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64})
    for (int n = 1; n <= 64; ++n)
      for (const int nrhs : {0, 1, 2, 16})
        for (const Storage storage : {Storage::dense, Storage::dense_lower, Storage::packed_lower})
          for (const Arrival arrival : {Arrival::pieces, Arrival::aligned, Arrival::anywhere})
            for (const Asked asked : {Asked::x, Asked::error, Asked::pivots, Asked::everything})
              for (const bool has_sizes : {false, true})
                for (const std::int64_t count : {1, 2, 4, 7, 8, 1000}) {
                  // All rows are aligned to pieces of 16 bytes only if a row is a whole number of pieces.
                  const bool whole = n % (type == ScalarType::float32 ? 4 : 2) == 0;
                  if (arrival == Arrival::pieces && storage != Storage::packed_lower && !whole) continue;
                  visit(SolveRequest{type, n, nrhs, storage, arrival, asked, has_sizes, count});
                }
}

TEST(SolveTable, EverySystemHasARowWithRoomForIt) {
  for_each_request([](const SolveRequest& request) {
    const SolveRow& row = choose_row(request);
    ASSERT_TRUE(fits(row, request)) << "n = " << request.n << ", nrhs = " << request.nrhs;
    ASSERT_TRUE(row.padded == 0 || row.padded >= request.n);
    ASSERT_EQ(32 % row.lanes, 0);
  });
}

TEST(SolveTable, EveryRowTakesASystem) {
  std::set<const SolveRow*> taken;
  for_each_request([&](const SolveRequest& request) { taken.insert(&choose_row(request)); });
  for (const SolveRow& row : solve_table)
    EXPECT_EQ(taken.count(&row), 1) << family_names[static_cast<std::size_t>(row.family)] << " of " << row.padded
                                    << " rows, which rows above it take";
}

TEST(SolveTable, IsPrinted) {
  std::cout << "precision | rows | storages | arrival | asked | sides | kernel | lanes | warps | gain\n";
  for (const SolveRow& row : solve_table) {
    const auto names_of = [](unsigned bits, std::initializer_list<const char*> names) {
      std::string text;
      unsigned bit = 1;
      for (const char* name : names) {
        if ((bits & bit) != 0) text += (text.empty() ? "" : " ") + std::string(name);
        bit *= 2;
      }
      return text;
    };
    std::cout << (row.type == ScalarType::float32 ? "float32 | " : "float64 | ") << row.first << " to " << row.last
              << " | " << names_of(row.storages, {"dense", "dense_lower", "packed_lower"}) << " | "
              << arrival_names[static_cast<std::size_t>(row.arrival)] << " | "
              << names_of(row.asked, {"x", "error", "pivots", "everything"}) << " | "
              << names_of(row.sides, {"none", "one", "several"}) << " | "
              << family_names[static_cast<std::size_t>(row.family)] << ' ' << row.padded << " | " << row.lanes << " | "
              << row.warps.here << " | " << row.gain << '\n';
  }
  EXPECT_GT(solve_table.size(), 0);
}

}  // namespace
}  // namespace smallbatch::testing
