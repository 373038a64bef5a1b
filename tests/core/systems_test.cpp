#include "core/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace smallbatch {
namespace {

TEST(SpdShape, CountsNumbers) {
  const SpdShape dense{32, 4, Storage::dense};
  EXPECT_EQ(dense.matrix_size(), 1024);
  EXPECT_EQ(dense.rhs_size(), 128);
  EXPECT_EQ(dense.solution_size(), 128);
  const SpdShape packed{32, 1, Storage::packed_lower};
  EXPECT_EQ(packed.matrix_size(), 528);
  const SpdShape inverse{5, 0, Storage::packed_lower};
  EXPECT_TRUE(inverse.wants_inverse());
  EXPECT_EQ(inverse.matrix_size(), 15);
  EXPECT_EQ(inverse.rhs_size(), 0);
  EXPECT_EQ(inverse.solution_size(), 25);
}

TEST(SpdBlock, HasRoomForItsSystems) {
  SpdBlock<float> block;
  block.resize({3, 2, Storage::dense}, 5);
  EXPECT_EQ(block.a.size(), 45U);
  EXPECT_EQ(block.b.size(), 30U);
  EXPECT_EQ(block.x.size(), 30U);
  EXPECT_EQ(block.info.size(), 5U);
  EXPECT_EQ(block.backward_error.size(), 5U);
  for (const float* first : {block.a.data(), block.b.data(), block.x.data()})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
}

TEST(IsInputRefused, IsTrueWhereNothingWasComputed) {
  for (const int info : {info_matrix_not_finite, info_matrix_not_symmetric, info_rhs_not_finite})
    EXPECT_TRUE(is_input_refused(info));
  for (const int info : {0, 1, 64, info_result_not_finite, info_result_underflowed})
    EXPECT_FALSE(is_input_refused(info));
}

TEST(DescribeInfo, NamesThePivot) {
  EXPECT_EQ(describe_spd_info(0), "solved");
  EXPECT_EQ(describe_spd_info(17), "pivot 17 is not positive");
  EXPECT_EQ(describe_spd_info(info_matrix_not_symmetric), "A is not symmetric");
}

}  // namespace
}  // namespace smallbatch
