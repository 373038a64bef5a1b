// A file has the bytes that were written last, or the first extent that lacks them is reported.
#include "io/hdf5/written_extents.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

namespace smallbatch {
namespace {

struct WrittenFile : ::testing::Test {
  void write(std::uint64_t address, const std::string& text, bool is_lost = false) {
    written.add({address, text.size()}, text.data());
    if (!is_lost) bytes.replace(address, text.size(), text);
  }
  [[nodiscard]] std::optional<std::uint64_t> lost() const {
    FileWindow window(bytes.size(), [&](const Extent& extent, char* into) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(extent.address), extent.size, into);
      return true;
    });
    const auto found = written.find_lost(window);
    return found ? std::optional(found->address) : std::nullopt;
  }

  std::string bytes = std::string(300'000, '.');
  WrittenExtents written;
};

TEST_F(WrittenFile, TellsOfALostWriteAlsoWhereAnOlderOneLies) {
  const std::string large(200'000, 'x');
  write(100'000, large);
  write(10, "header");
  write(16, "next");
  EXPECT_FALSE(lost());
  write(10, "HEADER", true);
  EXPECT_EQ(lost(), 10U);
  write(10, "HEADER");
  EXPECT_FALSE(lost());
  bytes[299'999] = 'y';
  EXPECT_EQ(lost(), 100'000U);
  bytes.resize(299'999);
  EXPECT_EQ(lost(), 100'000U);
}

TEST_F(WrittenFile, LeavesAloneWhatHasLostItsRoom) {
  write(10, "abcdefgh");
  write(30, "ijkl");
  write(40, "mnop");
  write(14, "new");  // over the middle of the first
  EXPECT_FALSE(lost());
  bytes.replace(10, 4, "past");
  EXPECT_FALSE(lost());
  bytes.replace(33, 8, "numbers.");
  EXPECT_EQ(lost(), 30U);
  written.forget({33, 8});
  EXPECT_FALSE(lost());
  bytes[15] = '!';
  EXPECT_EQ(lost(), 14U);
}

}  // namespace
}  // namespace smallbatch
