#include "core/aligned_allocator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace smallbatch {
namespace {

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(AlignedAllocator, VectorsBeginAtACacheLineWhateverTheirSize) {
  std::vector<AlignedVector<float>> floats;  // all are kept alive, so that no address is used twice
  std::vector<AlignedVector<double>> doubles;
  for (std::size_t size = 1; size < 200; ++size) {
    EXPECT_EQ(address_of(floats.emplace_back(size).data()) % 64, 0U) << size;
    EXPECT_EQ(address_of(doubles.emplace_back(size).data()) % 64, 0U) << size;
  }
}

TEST(AlignedAllocator, VectorsKeepNumbersAndAlignmentAsTheyGrow) {
  AlignedVector<float> values;
  for (int k = 0; k < 1000; ++k) {
    values.push_back(static_cast<float>(k));
    ASSERT_EQ(address_of(values.data()) % 64, 0U) << k;
  }
  for (int k = 0; k < 1000; ++k) ASSERT_EQ(values[k], static_cast<float>(k));
}

/// Returns how many bytes of this process are in memory.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(AlignedAllocator, MemoryIsTouchedByWhoFillsItAndNotBefore) {
  constexpr std::int64_t size = std::int64_t{1} << 26;
  const std::int64_t before = resident_bytes();
  AlignedVector<char> values;
  values.resize(size);
  EXPECT_LT(resident_bytes() - before, size / 8);
  std::fill(values.begin(), values.end(), 'x');
  EXPECT_GT(resident_bytes() - before, size / 2);
}

TEST(AlignedAllocator, ValuesThatAreGivenAreThere) {
  EXPECT_EQ(AlignedVector<double>(3, 0.0), (AlignedVector<double>{0, 0, 0}));
  AlignedVector<int> values{1, 2};
  values.resize(4, 7);
  EXPECT_EQ(values, (AlignedVector<int>{1, 2, 7, 7}));
}

TEST(AlignedAllocator, MovingAVectorMovesItsMemory) {
  AlignedVector<double> from{1, 2, 3};
  const double* const memory = from.data();
  AlignedVector<double> to;
  to = std::move(from);
  EXPECT_EQ(to.data(), memory);
  EXPECT_EQ(to, (AlignedVector<double>{1, 2, 3}));
}

TEST(AlignedAllocator, StricterAlignmentOfTheTypeItselfIsKept) {
  struct alignas(256) Page {
    char first;
  };
  std::vector<AlignedVector<Page>> pages;
  for (int k = 0; k < 20; ++k) EXPECT_EQ(address_of(pages.emplace_back(1).data()) % 256, 0U);
}

TEST(AlignedAllocator, SizesWhoseBytesDoNotFitThrow) {
  // 2^61 doubles would be 2^64 bytes, which is 0 modulo the range.
  EXPECT_THROW((void)AlignedAllocator<double>().allocate(std::size_t{1} << 61), std::bad_array_new_length);
  EXPECT_THROW((void)AlignedAllocator<double>().allocate(std::numeric_limits<std::size_t>::max()),
               std::bad_array_new_length);
}

}  // namespace
}  // namespace smallbatch
