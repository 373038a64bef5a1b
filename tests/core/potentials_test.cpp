#include "core/potentials.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace smallbatch {
namespace {

TEST(DescribePotentialInfo, CountsCharges) {
  EXPECT_EQ(describe_potential_info(3), "evaluated; charges on targets: 3");
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
