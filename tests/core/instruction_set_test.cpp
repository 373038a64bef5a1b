#include "core/instruction_set.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace smallbatch {
namespace {

TEST(InstructionSet, NamesParseBack) {
  for (const InstructionSet set :
       {InstructionSet::best, InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512})
    EXPECT_EQ(parse_instruction_set(instruction_set_name(set)), set);
  EXPECT_EQ(parse_instruction_set("AVX2"), std::nullopt);
  EXPECT_EQ(parse_instruction_set(""), std::nullopt);
}

TEST(InstructionSet, TheBestIsTheFirstAndOthersAreFoundByName) {
  EXPECT_EQ(chosen_instruction_set(InstructionSet::best, {"avx2", "baseline"}), 0U);
  EXPECT_EQ(chosen_instruction_set(InstructionSet::avx2, {"avx2", "baseline"}), 0U);
  EXPECT_EQ(chosen_instruction_set(InstructionSet::baseline, {"avx2", "baseline"}), 1U);
}

TEST(InstructionSet, OneThatTheProcessorDoesNotHaveIsRefusedWithThoseItHas) {
  try {
    (void)chosen_instruction_set(InstructionSet::avx512, {"avx2", "baseline"});
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    for (const char* const word : {"avx512", "avx2, baseline"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace smallbatch
