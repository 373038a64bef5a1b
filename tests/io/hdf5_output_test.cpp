// Small numbers that are written in one piece: they are in the file at once, and what lies between them stays.
#include "io/hdf5_output.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::RawHdf5;
using Numbers = std::vector<std::int32_t>;

class WrittenTogether : public testing::FileTest {
 protected:
  /// Datasets of one number each, 4 bytes.
  void create(const std::string& group) {
    file_.create_group(group);
    for (const std::string& name : names_) file_.create(group + "/" + name, ElementType::int32, {1});
  }
  void write(const std::string& dataset, std::int32_t number) { file_.write(dataset, {}, &number); }
  /// What an uninterrupted reader of the unfinished file sees.
  [[nodiscard]] Numbers in_file(const std::string& group) const {
    const OutputLayout layout = file_.layout();
    const std::vector<char> bytes = testing::file_bytes(layout.temporary);
    Numbers numbers;
    for (const std::string& name : names_) {
      const auto found = std::ranges::find(layout.datasets, group + "/" + name, &OutputLayout::Dataset::name);
      const auto at = static_cast<std::size_t>(found->address);
      EXPECT_LE(at + sizeof(std::int32_t), bytes.size()) << found->name;
      if (at + sizeof(std::int32_t) > bytes.size()) return {};
      std::memcpy(&numbers.emplace_back(), bytes.data() + at, sizeof(std::int32_t));
    }
    return numbers;
  }
  [[nodiscard]] std::int64_t address(const std::string& dataset) const {
    const OutputLayout layout = file_.layout();
    return std::ranges::find(layout.datasets, dataset, &OutputLayout::Dataset::name)->address;
  }

  const std::vector<std::string> names_{"a", "b", "c"};
  Hdf5Output file_{path("r.h5"), false, "results", 1};
};

TEST_F(WrittenTogether, NumbersLeaveWhatLiesBetweenThem) {
  const std::string by_hdf5 = "/Header", of_set = "/solve/s";
  create(by_hdf5);
  create(of_set);
  EXPECT_EQ(address(by_hdf5 + "/c") - address(by_hdf5 + "/a"), 8);  // between them is one of 4 bytes, and nothing else
  for (const std::string& group : {by_hdf5, of_set}) {
    write(group + "/b", 2);
    file_.write_together([&] {
      write(group + "/a", 1);
      write(group + "/c", 3);
    });
    EXPECT_EQ(in_file(group), (Numbers{1, 2, 3})) << group;
  }
  file_.commit();
  const RawHdf5 file(path("r.h5"), RawHdf5::Mode::read);
  for (const std::string& group : {by_hdf5, of_set})
    for (std::int32_t k = 0; k < 3; ++k)
      EXPECT_EQ(file.read<std::int32_t>(group + "/" + names_[static_cast<std::size_t>(k)]), Numbers{k + 1}) << group;
}

TEST_F(WrittenTogether, NumbersAreInTheFileInAnyOrderAndAlsoWhereTheRestFails) {
  for (const char* const group : {"/solve/s", "/solve/t"}) create(group);
  file_.write_together([&] {
    for (const char* const dataset : {"/solve/s/c", "/solve/t/a", "/solve/s/b", "/solve/s/a"}) write(dataset, 7);
  });
  EXPECT_EQ(in_file("/solve/s"), (Numbers{7, 7, 7}));
  struct Stopped {};
  EXPECT_THROW(file_.write_together([&] {
    write("/solve/t/b", 8);
    throw Stopped{};
  }),
               Stopped);
  write("/solve/t/c", 9);  // at once
  EXPECT_EQ(in_file("/solve/t"), (Numbers{7, 8, 9}));
}

}  // namespace
}  // namespace smallbatch
