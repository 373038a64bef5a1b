#include "core/batch.hpp"

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

TEST(DescribeInfo, NamesThePivot) {
  EXPECT_EQ(describe_spd_info(0), "solved");
  EXPECT_EQ(describe_spd_info(17), "pivot 17 is not positive");
  EXPECT_EQ(describe_spd_info(info_matrix_not_symmetric), "A is not symmetric");
  EXPECT_EQ(describe_potential_info(3), "evaluated; 3 charges lie on lattice points");
  EXPECT_EQ(describe_potential_info(info_values_out_of_range), "evaluated, but V or E leaves the range of its type");
}

TEST(HasValues, IsFalseWhereInputCannotBeUsed) {
  EXPECT_TRUE(has_values(0));
  EXPECT_TRUE(has_values(7));
  EXPECT_TRUE(has_values(info_values_out_of_range));
  EXPECT_FALSE(has_values(info_charges_not_finite));
  EXPECT_FALSE(has_values(info_charges_out_of_range));
}

TEST(IsSoftening, HasASquareThatIsANormalDouble) {
  for (const double length : {0.0, 0x1p-511, 1e-150, 1e-19, 1.0, 1e15, 1e150, 0x1p511}) {
    EXPECT_TRUE(is_softening(length)) << length;
    EXPECT_TRUE(length == 0 || std::isnormal(length * length)) << length;
  }
  for (const double length : {0x1.fp-512, 1e-163, 5e-324, 0x1p512, 1e300, HUGE_VAL, -1.0, std::nan("")})
    EXPECT_FALSE(is_softening(length)) << length;
}

TEST(PotentialBlock, HasASummaryForEachPlaneOrProblem) {
  PotentialBlock<float> block;
  block.shape = {4, 3, 9};
  block.count = 2;
  block.plane_count = 5;
  block.resize_results(false);
  EXPECT_EQ(block.potential.size(), 120U);
  EXPECT_EQ(block.summary.size(), 10U);
  block.targets = TargetKind::points;
  block.point_offset = {0, 7, 7};
  block.resize_results(true);
  EXPECT_EQ(block.field.size(), 21U);
  EXPECT_EQ(block.summary.size(), 2U);
}

}  // namespace
}  // namespace smallbatch
