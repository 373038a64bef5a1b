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
  for (const char* name : {"solve",
                           "packed",
                           "inverse",
                           "sizes",
                           "rhs",
                           "determinant",
                           "potential",
                           "field",
                           "potential_cpu",
                           "correlation",
                           "correlation_sizes",
                           "correlation_cpu",
                           "pair_sum",
                           "potential_sizes",
                           "potential_calls",
                           "reduce",
                           "saxpy",
                           "unroll",
                           "reduce_calls",
                           "calls",
                           "cpu"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
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
