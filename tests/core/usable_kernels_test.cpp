#include "core/usable_kernels.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace smallbatch {
namespace {

TEST(UsableKernels, TheBestIsTheFirstAndOthersAreFoundByName) {
  EXPECT_EQ(chosen_instruction_set(InstructionSet::best, {"avx2", "baseline"}), 0U);
  EXPECT_EQ(chosen_instruction_set(InstructionSet::avx2, {"avx2", "baseline"}), 0U);
  EXPECT_EQ(chosen_instruction_set(InstructionSet::baseline, {"avx2", "baseline"}), 1U);
}

TEST(UsableKernels, OneThatTheProcessorDoesNotHaveIsRefusedWithThoseItHas) {
  try {
    (void)chosen_instruction_set(InstructionSet::avx512, {"avx2", "baseline"});
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    for (const char* const word : {"avx512", "avx2, baseline"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

struct Named {
  const char* name;
};
constexpr Named baseline{"baseline"}, avx2{"avx2"}, avx512{"avx512"};

/// Returns whether the operating system lists this feature of the processor.
bool has(const std::string& feature) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == feature) return true;
    return false;
  }
  return false;
}

TEST(UsableKernels, AreThereWhereTheProcessorHasAllTheirInstructions) {
  std::vector<std::string> expected{"baseline"};
  const bool fused = has("avx2") && has("fma");
  if (fused) expected.insert(expected.begin(), "avx2");
  if (fused && has("avx512f") && has("avx512dq") && has("avx512vl")) expected.insert(expected.begin(), "avx512");
  EXPECT_EQ(processor_has_avx512_vnni(), expected.front() == "avx512" && has("avx512bw") && has("avx512_vnni"));
  std::vector<std::string> found;
  const auto usable = usable_kernels<baseline, avx2, avx512>();
  for (const Named& kernels : usable) found.emplace_back(kernels.name);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(chosen_kernels(InstructionSet::best, usable).name, expected.front());
  EXPECT_EQ(chosen_kernels(InstructionSet::baseline, usable).name, expected.back());
}

}  // namespace
}  // namespace smallbatch
