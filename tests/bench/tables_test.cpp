#include "bench/tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"

namespace smallbatch {
namespace {

using Names = std::vector<std::string>;

TEST(Tables, EachNameComesOnce) {
  const Names names = table_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const char* name : {"solve",           "packed",
                           "inverse",         "sizes",
                           "many_sizes",      "rhs",
                           "determinant",     "potential",
                           "field",           "potential_cpu",
                           "correlation",     "correlation_sizes",
                           "correlation_cpu", "pair_sum",
                           "potential_sizes", "potential_calls",
                           "reduce",          "saxpy",
                           "unroll",          "reduce_calls",
                           "calls",           "cpu"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
}

TEST(Tables, EverySizeHasItsRow) {
  const std::vector<SizesTable>& tables = solve_sizes();
  ASSERT_EQ(tables.size(), 4U) << "solutions and inverses of both types";
  for (const SizesTable& table : tables) {
    EXPECT_EQ(table.sizes.size(), table.rows.size());
    const bool inverses = table.title.find("inverse") != std::string::npos;
    for (int n = inverses ? 8 : 4; n <= 64; n += inverses ? 8 : 1)
      EXPECT_EQ(std::count(table.sizes.begin(), table.sizes.end(), n), 1) << table.title << ", n = " << n;
    EXPECT_EQ(table.sizes.at(table.fullest), 8) << "where the vendor's routines all are";
  }
}

TEST(Tables, AListOfNamesIsTakenApart) {
  EXPECT_EQ(parse_table_names("solve"), (Names{"solve"}));
  EXPECT_EQ(parse_table_names("calls,solve"), (Names{"calls", "solve"}));
}

TEST(Tables, AnUnknownNameIsRefusedWithTheKnownOnes) {
  for (const char* list : {"sovle", "", "solve,", "solve, calls"}) {
    try {
      (void)parse_table_names(list);
      ADD_FAILURE() << '"' << list << "\" was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("solve, packed"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace smallbatch
