// near_indices(): the lattice points near a charge.
#include "physics/charges/summed_in_double.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smallbatch {
namespace {

TEST(NearIndices, AreThoseWithinTheRadius) {
  for (const double spacing : {1.0, 0.25, 3.0})
    for (const double radius : {0.0, 0.2, 1.0, 7.5})
      for (double coordinate = -12; coordinate < 40; coordinate += 0.171875) {
        const LatticeIndices range = near_indices(coordinate, spacing, 10, radius);
        for (std::int64_t k = 0; k < 10; ++k) {
          const bool near = std::abs(static_cast<double>(k) * spacing - coordinate) <= radius;
          EXPECT_EQ(near, k >= range.first && k <= range.last) << spacing << ' ' << radius << ' ' << coordinate;
        }
        EXPECT_GE(range.first, 0);
        EXPECT_LE(range.last, 9);
      }
}

TEST(NearIndices, StandHugeAndMissingNumbers) {
  EXPECT_TRUE(near_indices(1e300, 1e-10, 10, 1).empty());
  EXPECT_TRUE(near_indices(-1e300, 1e-10, 10, 1).empty());
  EXPECT_TRUE(near_indices(NAN, 1, 10, 1).empty());
  const LatticeIndices all = near_indices(0, 1e-30, 10, 1e20);
  EXPECT_EQ(all.first, 0);
  EXPECT_EQ(all.last, 9);
}

TEST(NearestIndex, StaysOnTheLattice) {
  EXPECT_EQ(nearest_index(-5, 1, 10), 0);
  EXPECT_EQ(nearest_index(3.4, 1, 10), 3);
  EXPECT_EQ(nearest_index(3.6, 1, 10), 4);
  EXPECT_EQ(nearest_index(9.4, 1, 10), 9);
  EXPECT_EQ(nearest_index(1e300, 1e-10, 10), 9);
  EXPECT_EQ(nearest_index(5, 7, 1), 0);
}

TEST(NearRadius, GrowsWithTheDistanceFromTheOrigin) {
  EXPECT_EQ(near_radius<float>(0, 1e-6, false), 2e-6);
  EXPECT_EQ(near_radius<float>(65536, 1e-6, false), 1);
  EXPECT_EQ(near_radius<double>(65536, 1e-6, true), 2e-6);
  EXPECT_GT(near_radius<float>(0, 1e-40, false), 1e-19);
}

TEST(ApplySingularity, MarksOrSkips) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(apply_singularity(Singular::infinite, 3, 0, 0), 3);
  EXPECT_EQ(apply_singularity(Singular::infinite, 3, 1, 5), infinity);
  EXPECT_EQ(apply_singularity(Singular::infinite, 3, -1, 5), -infinity);
  EXPECT_EQ(apply_singularity(Singular::infinite, 3, 1e-17, 0.5), 3);
  EXPECT_EQ(apply_singularity(Singular::infinite, 3, -1e-17, 0.5), 3);
  EXPECT_EQ(apply_singularity(Singular::skip, 3, 1, 1), 3);
}

}  // namespace
}  // namespace smallbatch
