// The memory of blocks is aligned, reused for later blocks, and locked and unlocked once each.
#include "core/block_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "core/aligned_allocator.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t large = std::size_t{5} << 20;

TEST(BlockMemory, IsAlignedWhateverItsSize) {
  BlockMemory memory;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{70000}, large}) {
    auto* const place = static_cast<char*>(memory.allocate(bytes, cache_line_bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % cache_line_bytes, 0U) << bytes;
    std::memset(place, 1, bytes);
    memory.deallocate(place, bytes, cache_line_bytes);
  }
}

TEST(BlockMemory, WhatIsGivenBackServesAgainAndWhatIsInUseDoesNot) {
  BlockMemory memory;
  void* const first = memory.allocate(large, cache_line_bytes);
  void* const second = memory.allocate(large, cache_line_bytes);
  EXPECT_NE(first, second);
  memory.deallocate(first, large, cache_line_bytes);
  EXPECT_EQ(memory.allocate(large - 100, cache_line_bytes), first);
  void* const third = memory.allocate(large, cache_line_bytes);
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  memory.deallocate(first, large - 100, cache_line_bytes);
  memory.deallocate(second, large, cache_line_bytes);
  memory.deallocate(third, large, cache_line_bytes);
}

TEST(BlockMemory, IsLockedWholeAndUnlockedBeforeItIsGone) {
  std::map<void*, std::size_t> locked;
  const PageLock page_lock{[&](void* place, std::size_t bytes) { return locked.emplace(place, bytes).second; },
                           [&](void* place) {
                             ASSERT_TRUE(locked.contains(place));
                             static_cast<volatile char*>(place)[locked[place] - 1] = 1;  // the memory still exists
                             locked.erase(place);
                           }};
  {
    BlockMemory memory(page_lock);
    AlignedVector<float> numbers(&memory);
    numbers.resize(large / sizeof(float));
    ASSERT_EQ(locked.count(numbers.data()), 1U);
    EXPECT_GE(locked[numbers.data()], large);
    numbers.resize(3 * large / sizeof(float));  // frees the smaller piece, which the next request unmaps
    ASSERT_EQ(locked.count(numbers.data()), 1U);
    AlignedVector<float> more(&memory);
    more.resize(8 * large / sizeof(float));
    EXPECT_EQ(locked.size(), 2U);
  }
  EXPECT_TRUE(locked.empty());
}

TEST(BlockMemory, OfBeforeALockIsLockedWhenItServesAgain) {
  std::map<void*, std::size_t> locked;
  {
    BlockMemory memory;
    void* const kept = memory.allocate(large, cache_line_bytes);
    void* const returned = memory.allocate(large, cache_line_bytes);
    memory.deallocate(returned, large, cache_line_bytes);
    memory.lock_with({[&](void* place, std::size_t bytes) { return locked.emplace(place, bytes).second; },
                      [&](void* place) { EXPECT_EQ(locked.erase(place), 1U); }});
    EXPECT_TRUE(locked.empty());
    EXPECT_EQ(memory.allocate(large, cache_line_bytes), returned);
    EXPECT_EQ(locked.size(), 1U);
    EXPECT_TRUE(locked.contains(returned));
    memory.deallocate(returned, large, cache_line_bytes);
    EXPECT_EQ(memory.allocate(large, cache_line_bytes), returned);  // and is not locked twice
    memory.deallocate(returned, large, cache_line_bytes);
    memory.deallocate(kept, large, cache_line_bytes);
  }
  EXPECT_TRUE(locked.empty());
}

TEST(BlockMemory, ThatCannotBeLockedServesAllTheSame) {
  const PageLock page_lock{[](void*, std::size_t) { return false; }, [](void*) { FAIL() << "was never locked"; }};
  BlockMemory memory(page_lock);
  AlignedVector<double> numbers(&memory);
  numbers.resize(large, 1.5);
  EXPECT_EQ(numbers.back(), 1.5);
}

TEST(BlockMemory, OfACopyIsNotThatOfTheOriginal) {
  AlignedVector<int> copy;
  {
    BlockMemory memory;
    AlignedVector<int> numbers(&memory);
    numbers.resize(large, 7);
    AlignedVector<int> copied = numbers;
    copy = std::move(copied);
  }
  EXPECT_EQ(copy, AlignedVector<int>(large, 7));
}

TEST(BlockMemory, ServesSeveralThreads) {
  BlockMemory memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int round = 0; round < 50; ++round) {
        AlignedVector<int> numbers(&memory);
        numbers.resize(static_cast<std::size_t>(10000 * (1 + (round + t) % 7)), t);
        for (const int number : numbers) ASSERT_EQ(number, t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace smallbatch
