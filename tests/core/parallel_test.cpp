#include "core/parallel.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace smallbatch {
namespace {

TEST(ParallelFor, CoversEveryIndexOnceForAnyThreadsAndGrain) {
  for (const unsigned threads : {0U, 1U, 2U, 9U})
    for (const std::int64_t grain : {1, 7, 100, 1000}) {
      std::vector<std::atomic<int>> visits(100);
      parallel_for(100, grain, threads, [&](std::int64_t first, std::int64_t last) {
        EXPECT_EQ(first % grain, 0);
        EXPECT_LE(last - first, grain);
        for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
    }
}

TEST(HardwareThreads, AQuotaIsSoManyCores) {
  EXPECT_EQ(cores_of_quota("200000 100000"), 2U);
  EXPECT_EQ(cores_of_quota("150000 100000\n"), 2U);
  EXPECT_EQ(cores_of_quota("1000 100000"), 1U);
  EXPECT_EQ(cores_of_quota("100000000 1000"), 100000U);
  for (const char* none : {"max 100000", "", "x", "100000", "0 100000", "-5 100000", "100000 0"})
    EXPECT_EQ(cores_of_quota(none), std::nullopt) << none;
}

TEST(HardwareThreads, AreThoseOfTheAffinity) {
  EXPECT_GE(hardware_threads(), 1U);
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_LE(hardware_threads(), static_cast<unsigned>(CPU_COUNT(&allowed)));
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, 1, 4, [](std::int64_t, std::int64_t) { FAIL() << "called for an empty range"; });
}

TEST(ParallelFor, PassesOnAnException) {
  EXPECT_THROW(parallel_for(100, 1, 4,
                            [](std::int64_t first, std::int64_t) {
                              if (first == 50) throw std::runtime_error("fifty");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace smallbatch
