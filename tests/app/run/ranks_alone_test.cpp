// In a build without MPI, a run has one process. Several processes of a launcher are refused, because each of them
// would compute the whole run.
#include "app/run/ranks.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace smallbatch {
namespace {

constexpr const char* size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                      "SLURM_STEP_NUM_TASKS"};
constexpr const char* rank_names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
                                      "SLURM_PROCID"};

/// Removes the variables of launchers from the environment, before and after a test.
class RanksAlone : public ::testing::Test {
 protected:
  RanksAlone() { forget(); }
  ~RanksAlone() override { forget(); }

 private:
  static void forget() {
    for (const char* name : size_names) ::unsetenv(name);
    for (const char* name : rank_names) ::unsetenv(name);
    for (const char* name : {"SLURM_NTASKS", "SLURM_STEP_ID"}) ::unsetenv(name);
  }
};

void expect_refusal(const std::string& what) {
  try {
    const Ranks alone;
    ADD_FAILURE() << "each of several processes takes itself for the only one: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("--shard"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(Ranks(true)) << "a share is refused: " << what;
}

TEST_F(RanksAlone, AreTheOnlyOne) {
  const Ranks ranks;
  EXPECT_TRUE(ranks.is_first());
  EXPECT_EQ(ranks.size(), 1);
  EXPECT_EQ(ranks.local_rank(), 0);
  EXPECT_EQ(ranks.local_size(), 1);
  EXPECT_EQ(ranks.broadcast("said"), "said");
  EXPECT_EQ(ranks.gather("said"), std::vector<std::string>{"said"});
  EXPECT_NO_THROW(do_on_all(ranks, [] {}));
  EXPECT_THROW(do_on_all(ranks, [] { throw std::domain_error("its own"); }), std::domain_error);
}

TEST_F(RanksAlone, RefuseToBeOneOfSeveral) {
  for (const char* name : size_names) {
    ::setenv(name, "1", 1);
    EXPECT_NO_THROW(Ranks()) << name;
    ::setenv(name, "2", 1);
    EXPECT_EQ(launched_processes(), 2) << name;
    expect_refusal(name);
    ::unsetenv(name);
  }
}

TEST_F(RanksAlone, KnowThatARankIsOneOfSeveral) {
  for (const char* name : rank_names) {
    ::setenv(name, "0", 1);
    EXPECT_EQ(launched_processes(), 1) << name;
    ::setenv(name, "3", 1);
    EXPECT_EQ(launched_processes(), 4) << name;
    expect_refusal(name);
    ::unsetenv(name);
  }
}

TEST_F(RanksAlone, TakeTheTasksOfABatchScriptForWhatItMayStartLater) {
  ::setenv("SLURM_NTASKS", "4", 1);
  ::setenv("SLURM_PROCID", "0", 1);
  EXPECT_EQ(launched_processes(), 1);
  ::setenv("SLURM_STEP_ID", "0", 1);
  EXPECT_EQ(launched_processes(), 4);
  expect_refusal("SLURM_NTASKS of a step");
  ::setenv("SLURM_STEP_NUM_TASKS", "1", 1);  // srun -n 1, within an allocation of four
  EXPECT_EQ(launched_processes(), 1);
}

}  // namespace
}  // namespace smallbatch
