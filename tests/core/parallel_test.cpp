#include "core/parallel.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace smallbatch {
namespace {

/// Returns the sum of the indices 0 .. 99, computed by `threads` threads: 4950.
std::int64_t sum_of_a_hundred(unsigned threads) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(100, 1, threads, [&](std::int64_t first, std::int64_t) { sum += first; });
  return sum;
}

/// Returns what `body` returns in a child process; -1 if it does not return within ten seconds.
template <class Body>
int in_a_child(const Body& body) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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

TEST(ParallelFor, OneInsideAnotherIsDoneToo) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(8, 1, 4, [&](std::int64_t, std::int64_t) { sum += sum_of_a_hundred(4); });
  EXPECT_EQ(sum, 8 * 4950);
}

TEST(ParallelFor, SeveralThreadsCallItAtATime) {
  std::vector<std::int64_t> sums(8);
  std::vector<std::thread> callers;
  for (std::int64_t& sum : sums)
    callers.emplace_back([&sum] {
      for (int call = 0; call < 100; ++call) sum += sum_of_a_hundred(3);
    });
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 100 * 4950);
}

TEST(ParallelFor, HasOtherThreadsWhereThereAreSome) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> arrived{0};
  parallel_for(2, 1, 2, [&](std::int64_t, std::int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();  // each thread waits for the other one
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 2U);
}

TEST(ParallelFor, WorksInAChildAfterAFork) {
  EXPECT_EQ(sum_of_a_hundred(4), 4950);  // from here on there are threads, which the child does not have
  EXPECT_EQ(in_a_child([] { return sum_of_a_hundred(4) == 4950 ? 0 : 1; }), 0);
  EXPECT_EQ(sum_of_a_hundred(4), 4950);
}

TEST(ParallelFor, GoesOnWithFewerThreadsThanItWants) {
  EXPECT_EQ(in_a_child([] {
              pthread_attr_t attributes;
              pthread_attr_init(&attributes);
              pthread_attr_setstacksize(&attributes, std::size_t{1} << 47);  // a stack larger than the address space
              if (pthread_setattr_default_np(&attributes) != 0) return 2;
              try {
                std::thread([] {}).join();
                return 3;  // the system started a thread after all
              } catch (const std::exception&) {
                return sum_of_a_hundred(50) == 4950 ? 0 : 1;
              }
            }),
            0);
}

}  // namespace
}  // namespace smallbatch
