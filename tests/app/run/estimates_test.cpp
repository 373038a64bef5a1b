// Choices of --device auto and --verify auto, for the smallest and the largest jobs.
#include "app/run/estimates.hpp"

#include <gtest/gtest.h>

namespace smallbatch {
namespace {

TEST(Estimates, ASmallJobIsTheCpusAndALongOneTheGpus) {
  const Estimate small{1e-3, 1e-5, 1e-3, 1e-5}, large{1e3, 1, 1e2, 1};
  for (const unsigned threads : {1U, 16U, 128U}) {
    EXPECT_FALSE(is_gpu_quicker(small, true, threads)) << threads;
    EXPECT_TRUE(is_gpu_quicker(large, true, threads)) << threads;
  }
  // The referee takes longest. It runs on the same cores with either device.
  const Estimate verified{0.1, 0.01, 1e3, 0.01};
  EXPECT_FALSE(is_gpu_quicker(verified, false, 16));
}

TEST(Estimates, EverythingIsVerifiedUntilThatTakesTenTimesTheComputing) {
  EXPECT_EQ(affordable_share({1, 1, 12, 0}, false, 1), 1);
  EXPECT_EQ(affordable_share({1, 1, 23.9, 0}, false, 1), 0.5);  // 10 x computing + 2 s = 12 s are affordable
  EXPECT_EQ(affordable_share({1, 1, 24.1, 0}, false, 1), 0.25);
  EXPECT_EQ(affordable_share({100, 1, 1000, 0}, false, 100), 1);  // 100 threads compute and verify
  EXPECT_EQ(affordable_share({100, 1, 12 * 1024, 0}, true, 1), 1.0 / 1024);
}

TEST(Estimates, AutoBecomesAllOrASampleAndOtherModesStayWhatTheyAre) {
  using Kind = VerifyMode::Kind;
  const VerifyMode automatic{Kind::automatic, 0};
  EXPECT_EQ(mode_for(automatic, 1000, 1).kind, Kind::all);
  EXPECT_EQ(mode_for(automatic, 1000, 0.125).kind, Kind::sample);
  EXPECT_EQ(mode_for(automatic, 1000, 0.125).sample, 125);
  EXPECT_EQ(mode_for(automatic, 3, 0.125).sample, 1);  // at least one problem of a set
  EXPECT_EQ(mode_for({Kind::none, 0}, 1000, 0.125).kind, Kind::none);
  EXPECT_EQ(mode_for({Kind::all, 0}, 1000, 0.125).kind, Kind::all);
  EXPECT_EQ(mode_for({Kind::sample, 7}, 1000, 0.125).sample, 7);
}

}  // namespace
}  // namespace smallbatch
