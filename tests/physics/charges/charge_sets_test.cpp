// Generated sets of charges.
#include "physics/charges/charge_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smallbatch {
namespace {

const RandomCharges plain{2000, {-1, 2, 10}, {2, 4, 8}, false};

TEST(RandomCharges, AreTheSameOnEveryMachine) {
  // These numbers were computed by other code, from splitmix64's published constants.
  const ChargeSet set = random_charges(42, 7, {4, {0, 0, 0}, {1, 1, 1}, false});
  EXPECT_EQ(set.position[0], 0.49065578802934007);
  EXPECT_EQ(set.position[1], 0.4851921098626455);
  EXPECT_EQ(set.position[2], 0.9236102686407555);
  EXPECT_EQ(set.position[5], 0.7369544930139487);
  EXPECT_EQ(set.charge[0], -0.22127887115431233);
  EXPECT_EQ(random_charge_count(42, 7, 50, 500), 455);
}

TEST(RandomCharges, DependOnSeedAndProblemAlone) {
  const ChargeSet set = random_charges(1, 2, plain), again = random_charges(1, 2, plain);
  EXPECT_EQ(set.position, again.position);
  EXPECT_EQ(set.charge, again.charge);
  EXPECT_NE(set.charge, random_charges(1, 3, plain).charge);
  EXPECT_NE(set.charge, random_charges(2, 2, plain).charge);
  RandomCharges fewer = plain;
  fewer.count = 100;
  const ChargeSet start = random_charges(1, 2, fewer);
  EXPECT_TRUE(std::equal(start.charge.begin(), start.charge.end(), set.charge.begin()));
  EXPECT_TRUE(std::equal(start.position.begin(), start.position.end(), set.position.begin()));
}

TEST(RandomCharges, FillTheBoxEvenly) {
  const ChargeSet set = random_charges(3, 0, plain);
  ASSERT_EQ(set.position.size(), 6000U);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
      const double u = (set.position[3 * i + axis] - plain.corner[axis]) / plain.edges[axis];
      EXPECT_TRUE(u >= 0 && u <= 1);
      sum += u;
    }
    EXPECT_NEAR(sum / 2000, 0.5, 0.03);
  }
  const auto [least, most] = std::minmax_element(set.charge.begin(), set.charge.end());
  EXPECT_TRUE(*least >= -1 && *least < -0.98 && *most < 1 && *most > 0.98);
}

TEST(RandomCharges, NeutralOnesAddUpToNothing) {
  RandomCharges wanted = plain;
  const ChargeSet charged = random_charges(4, 0, wanted);
  EXPECT_GT(std::abs(std::accumulate(charged.charge.begin(), charged.charge.end(), 0.0)), 0.1);
  wanted.neutral = true;
  const ChargeSet set = random_charges(4, 0, wanted);
  EXPECT_NEAR(std::accumulate(set.charge.begin(), set.charge.end(), 0.0), 0, 1e-11);
  wanted.count = 0;
  EXPECT_TRUE(random_charges(4, 0, wanted).charge.empty());
}

TEST(RandomChargeCount, ReachesBothEndsAndNoFurther) {
  bool seen[4] = {};
  for (std::int64_t problem = 0; problem < 200; ++problem) {
    const std::int64_t count = random_charge_count(9, problem, 3, 6);
    ASSERT_TRUE(count >= 3 && count <= 6);
    seen[count - 3] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1] && seen[2] && seen[3]);
}

TEST(RockSaltCube, GivesMadelungsConstantAtItsCentre) {
  for (const auto& [half_edge, madelung] : {std::pair{10, -1.747568603771808}, {20, -1.747564845218306}}) {
    const ChargeSet set = rock_salt_cube(half_edge, 2.5);
    const std::size_t edge = 2 * static_cast<std::size_t>(half_edge) + 1;
    ASSERT_EQ(set.charge.size(), edge * edge * edge);
    double sum = 0, net = 0;
    for (std::size_t i = 0; i < set.charge.size(); ++i) {
      const double x = set.position[3 * i], y = set.position[3 * i + 1], z = set.position[3 * i + 2];
      const double r = std::sqrt(x * x + y * y + z * z);
      if (r > 0) sum += set.charge[i] / r;
      if (r == 0) {
        EXPECT_EQ(set.charge[i], 1);
      }
      net += set.charge[i];
    }
    EXPECT_NEAR(sum * 2.5, madelung, 1e-11);
    EXPECT_NEAR(net, 0, 1e-9);
  }
}

}  // namespace
}  // namespace smallbatch
