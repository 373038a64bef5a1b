// HDF5 finds the blocks that several threads wrote without HDF5.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::RawHdf5;

using ResultThreads = testing::FileTest;

TEST_F(ResultThreads, large_blocks_come_back_while_hdf5_is_at_work_elsewhere) {
  testing::write_good_problems(path("p.h5"));
  SolveSet set{"s", ScalarType::float32, {16, 16, Storage::dense}, false, 30'000};
  const auto answer = [](std::size_t i) { return static_cast<float>(i % 1'000'003); };
  {
    ResultWriter writer(path("r.h5"), false, 3);
    writer.add(set);
    std::thread writing([&] {
      for (const std::int64_t first : {20'000, 0, 10'000}) {  // blocks of 10 MB each
        SpdBlock<float> block;
        block.resize(set.shape, 10'000);
        block.first = first;
        for (std::size_t i = 0; i < block.x.size(); ++i) {
          block.x[i] = answer(static_cast<std::size_t>(first) * 256 + i);
        }
        for (std::size_t i = 0; i < block.info.size(); ++i) block.info[i] = static_cast<std::int32_t>(first % 7777 + i);
        writer.write(set, block);
      }
    });
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(RawHdf5(path("p.h5"), RawHdf5::Mode::read).has("/solve/s/A"));
    writing.join();
    writer.commit();
  }
  const RawHdf5 file(path("r.h5"), RawHdf5::Mode::read);
  const auto x = file.read<float>("/solve/s/x");
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wrong += x[i] != answer(i) ? 1 : 0;
  EXPECT_EQ(x.size(), 30'000U * 256);
  EXPECT_EQ(wrong, 0U);
  const auto info = file.read<std::int32_t>("/solve/s/info");
  for (std::size_t i = 0; i < info.size(); ++i) {
    ASSERT_EQ(info[i], static_cast<std::int32_t>(i / 10'000 * 10'000 % 7777 + i % 10'000));
  }
}

}  // namespace
}  // namespace smallbatch
