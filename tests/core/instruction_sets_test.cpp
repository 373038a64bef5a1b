#include "core/instruction_sets.hpp"

#include <gtest/gtest.h>

namespace smallbatch {
namespace {

TEST(InstructionSet, NamesParseBack) {
  for (const InstructionSet set :
       {InstructionSet::best, InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512})
    EXPECT_EQ(parse_instruction_set(instruction_set_name(set)), set);
  EXPECT_EQ(parse_instruction_set("AVX2"), std::nullopt);
  EXPECT_EQ(parse_instruction_set(""), std::nullopt);
}

}  // namespace
}  // namespace smallbatch
