// Groups of very many members are made without HDF5: HDF5 finds each member by its name, counts one link to it, and
// goes on adding and removing there.
#include "io/hdf5_dense_links.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "io/hdf5_output.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::RawHdf5;

/// Of lengths up to `longest`, no two alike.
std::string name_of(std::size_t k, std::size_t longest) {
  std::string name = "set " + std::to_string(k) + " ";
  const std::size_t length = k * 7919 % (longest + 1);
  return name.size() < length ? name + std::string(length - name.size(), 'n') : name;
}

/// What is found in a group, by the names, as HDF5 lists them.
std::map<std::string, int> members_of(const RawHdf5& file, const char* group) {
  std::map<std::string, int> members;
  const auto note = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
    ++(*static_cast<std::map<std::string, int>*>(into))[name];
    return 0;
  };
  hsize_t position = 0;
  EXPECT_GE(H5Literate_by_name(file.id(), group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, note, &members, H5P_DEFAULT),
            0);
  return members;
}

void expect_set(const RawHdf5& file, const std::string& name, std::int32_t number) {
  const std::string group = "/solve/" + name;
  H5O_info_t info{};
  ASSERT_GE(H5Oget_info_by_name2(file.id(), group.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT), 0) << name;
  EXPECT_EQ(info.rc, 1U) << name;
  EXPECT_EQ(file.read<std::int32_t>(group + "/info"), std::vector{number}) << name;
}

struct Many {
  std::size_t count, longest_name;
};

class DenseLinks : public testing::FileTest, public ::testing::WithParamInterface<Many> {
 protected:
  /// A file of so many sets, each with its number.
  void write() const {
    Hdf5Output file(path("r.h5"), false, "results", 1);
    for (std::size_t k = 0; k < GetParam().count; ++k) {
      const std::string group = "/solve/" + name(k);
      const auto number = static_cast<std::int32_t>(k);
      file.create(group + "/info", ElementType::int32, {1});
      file.end_group(group);
      file.write(group + "/info", {}, &number);
    }
    file.commit();
  }
  [[nodiscard]] static std::string name(std::size_t k) { return name_of(k, GetParam().longest_name); }
  /// Of those that are looked at one by one.
  [[nodiscard]] static std::size_t step() { return 1 + GetParam().count / 500; }
};

TEST_P(DenseLinks, AreFoundByHdf5) {
  write();
  const RawHdf5 file(path("r.h5"), RawHdf5::Mode::read);
  const std::map<std::string, int> members = members_of(file, "/solve");
  EXPECT_EQ(members.size(), GetParam().count);
  for (std::size_t k = 0; k < GetParam().count; ++k) {
    const auto found = members.find(name(k));
    ASSERT_TRUE(found != members.end() && found->second == 1) << name(k);
    if (k % step() == 0) expect_set(file, name(k), static_cast<std::int32_t>(k));
  }
  EXPECT_FALSE(file.has("/solve/set"));
  EXPECT_FALSE(file.has("/solve/set 0"));
}

class ChangedDenseLinks : public DenseLinks {};

TEST_P(ChangedDenseLinks, AreAddedToAndRemovedByHdf5) {
  write();
  const std::size_t count = GetParam().count, added = 200 + count / 4;
  {
    RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
    for (std::size_t k = 0; k < added; ++k) file.group("/solve/added " + name(k));
    for (std::size_t k = 0; k < count; ++k)
      if (k % 3 != 0) file.remove("/solve/" + name(k));
    for (std::size_t k = 0; k < added; k += 2) file.remove("/solve/added " + name(k));
  }
  {
    const RawHdf5 file(path("r.h5"), RawHdf5::Mode::read);
    EXPECT_EQ(members_of(file, "/solve").size(), (count + 2) / 3 + added / 2);
    for (std::size_t k = 0; k < count; k += step()) {
      EXPECT_EQ(file.has("/solve/" + name(k)), k % 3 == 0) << name(k);
      if (k % 3 == 0) expect_set(file, name(k), static_cast<std::int32_t>(k));
    }
    for (std::size_t k = 0; k < added; k += step()) EXPECT_EQ(file.has("/solve/added " + name(k)), k % 2 == 1);
  }
  RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
  for (const auto& [name, times] : members_of(file, "/solve")) file.remove("/solve/" + name);
  EXPECT_TRUE(members_of(file, "/solve").empty());
}

std::string name_of_size(const ::testing::TestParamInfo<Many>& size) {
  return std::to_string(size.param.count) + "UpTo" + std::to_string(size.param.longest_name);
}

// What fits into the header, and no more; into one leaf; into trees of two and three levels, and one more than each;
// into the heap's direct blocks, one after the other, and the blocks of blocks behind them; and names that are too
// long.
const auto sizes = ::testing::Values(Many{1, 10}, Many{32, 10}, Many{33, 10}, Many{45, 10}, Many{46, 10},
                                     Many{1149, 10}, Many{1150, 10}, Many{2500, 10}, Many{2500, 400}, Many{40, 400},
                                     Many{60, 400}, Many{100, 401}, Many{40, 5000});
INSTANTIATE_TEST_SUITE_P(Sizes, DenseLinks, sizes, name_of_size);
INSTANTIATE_TEST_SUITE_P(Sizes, ChangedDenseLinks, sizes, name_of_size);
// Trees of three levels that are full, and of four. HDF5 takes a minute to remove so many.
INSTANTIATE_TEST_SUITE_P(LargeSizes, DenseLinks, ::testing::Values(Many{26449, 10}, Many{26450, 10}), name_of_size);

}  // namespace
}  // namespace smallbatch
