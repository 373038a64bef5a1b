// The processes of a run in a build without MPI: one, and never several that know nothing of each other.
#include "app/ranks.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace smallbatch {
namespace {

/// What launchers tell the processes that they start, and nothing else.
class RanksAlone : public ::testing::Test {
 protected:
  RanksAlone() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
      ::unsetenv(name);
  }
};

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
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    ::setenv(name, "1", 1);
    EXPECT_NO_THROW(Ranks()) << name;
    ::setenv(name, "2", 1);
    EXPECT_EQ(launched_processes(), 2) << name;
    try {
      const Ranks ranks;
      ADD_FAILURE() << "each of two processes takes itself for the only one: " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("--shard"), std::string::npos) << error.what();
    }
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace smallbatch
