// The cpu kernels, each instruction set forced by name.
#include "solvers/ldlt_lanes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver_backends.hpp"
#include "tests/solvers/spd_problems.hpp"

namespace smallbatch::testing {
namespace {

TEST(Ldlt, BaselineIsAlwaysUsableAndTheBestComesFirst) {
  const std::vector<LdltKernels> usable = usable_ldlt_kernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_STREQ(usable.back().name, "baseline");
  for (std::size_t i = 1; i < usable.size(); ++i) {
    EXPECT_GT(usable[i - 1].float32.lanes, usable[i].float32.lanes);
    EXPECT_GT(usable[i - 1].float64.lanes, usable[i].float64.lanes);
  }
}

TEST(Ldlt, EveryInstructionSetSolvesEveryShape) {
  for (const LdltKernels& kernels : usable_ldlt_kernels()) {
    const auto solver = make_cpu_spd_solver(1, kernels, {});
    EXPECT_EQ(solver->description(), std::string("cpu ldlt ") + kernels.name);
    for (const Storage storage : {Storage::dense, Storage::packed_lower})
      for (int n = 1; n <= max_system_size; ++n)
        for (const int nrhs : {0, 1, 3, 6}) {
          SCOPED_TRACE(std::string(kernels.name) + ", n = " + std::to_string(n) + ", nrhs = " + std::to_string(nrhs));
          const SpdShape shape{n, nrhs, storage};
          const auto check = [&]<class T>(T) {
            SpdBlock<T> block = generated_block<T>(SpdFamily::random_log_uniform, shape, 21);
            element(block, 20, 0, 0) = 0;  // one failure in the group that is not full
            solve(*solver, block);
            EXPECT_EQ(block.info[20], 1);
            for (std::int64_t k = 0; k < 20; ++k) {
              ASSERT_EQ(block.info[k], 0);
              const SpdJudgement judgement = judge_spd_solution(shape, block.a.data() + k * shape.matrix_size(),
                                                                block.b.data() + k * shape.rhs_size(),
                                                                block.x.data() + k * shape.solution_size(), 0);
              ASSERT_LT(judgement.residual_ratio, spd_ratio_limit);
              ASSERT_LT(judgement.forward_ratio, spd_ratio_limit);
            }
          };
          check(float{});
          check(double{});
        }
  }
}

TEST(Ldlt, InstructionSetsWithFusedMultiplyAddAgreeBitForBit) {
  std::vector<SpdBlock<float>> results;
  for (const LdltKernels& kernels : usable_ldlt_kernels()) {
    if (std::string(kernels.name) == "baseline") continue;
    results.push_back(generated_block<float>(SpdFamily::random, {32, 2, Storage::dense}, 50));
    solve(*make_cpu_spd_solver(2, kernels, {}), results.back());
  }
  for (std::size_t r = 1; r < results.size(); ++r)
    for (std::int64_t k = 0; k < 50; ++k) ASSERT_TRUE(same_bits(results[0], k, results[r], k)) << "system " << k;
}

TEST(Ldlt, TheNumberOfThreadsChangesNoBit) {
  const LdltKernels kernels = usable_ldlt_kernels().front();
  SpdBlock<double> one = generated_block<double>(SpdFamily::random, {32, 1, Storage::dense}, 1000), three = one;
  solve(*make_cpu_spd_solver(1, kernels, {}), one);
  solve(*make_cpu_spd_solver(3, kernels, {}), three);
  for (std::int64_t k = 0; k < 1000; ++k) ASSERT_TRUE(same_bits(one, k, three, k)) << "system " << k;
}

}  // namespace
}  // namespace smallbatch::testing
