// The spatial order of charges, and the partial sums that a cut-off does not skip.
#include "physics/charges/cpu/cutoff_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "physics/charges/charge_sets.hpp"
#include "physics/charges/cpu/partial_sums.hpp"

namespace smallbatch {
namespace {

struct Places {
  std::vector<double> x, y, z;
  explicit Places(std::int64_t count) {
    const ChargeSet set = random_charges(1, 0, {count, {-5, 0, 100}, {30, 30, 30}, false});
    for (std::size_t i = 0; i < set.position.size(); i += 3) {
      x.push_back(set.position[i]);
      y.push_back(set.position[i + 1]);
      z.push_back(set.position[i + 2]);
    }
  }
  [[nodiscard]] Coordinates coordinates() const {
    return {static_cast<std::int64_t>(x.size()), x.data(), y.data(), z.data()};
  }
  void put_in(const std::vector<std::int64_t>& order) {
    for (auto* const axis : {&x, &y, &z}) {
      std::vector<double> moved;
      for (const std::int64_t i : order) moved.push_back((*axis)[static_cast<std::size_t>(i)]);
      *axis = moved;
    }
  }
};

TEST(SpatialOrder, HoldsEveryPlaceOnceAndKeepsNeighboursTogether) {
  Places places(4096);
  std::vector<std::int64_t> order = spatial_order(places.coordinates());
  places.put_in(order);
  double longest = 0, sum = 0;
  // Each group has 1/64 of the charges, so its edges are at best 7.5.
  for (std::int64_t first = 0; first < 4096; first += 64) {
    const Box box = box_around(places.x.data() + first, places.y.data() + first, places.z.data() + first, 64);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      longest = std::max(longest, box.high[axis] - box.low[axis]);
      sum += box.high[axis] - box.low[axis];
    }
  }
  EXPECT_LT(sum / (64 * 3), 15);  // an arbitrary order would give nearly 30
  EXPECT_LT(longest, 30);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 4096; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(SpatialOrder, OfOnePlaceAndOfNone) {
  const double same[3] = {7, 7, 7};
  EXPECT_TRUE(spatial_order({0, same, same, same}).empty());
  EXPECT_EQ(spatial_order({3, same, same, same}), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(CutoffGroups, KeepEverySumWithAChargeInReachAndLeaveOutMost) {
  Places places(3000);
  places.put_in(spatial_order(places.coordinates()));
  const CutoffGroups groups(places.coordinates());
  const Box targets{{0, 10, 110}, {2, 11, 114}};
  for (const double reach : {1.0, 4.0, 12.0, 100.0}) {
    std::vector<std::int32_t> kept, nothing, again;
    groups.within(reach, targets, nullptr, kept);
    std::size_t in_reach = 0;
    for (std::size_t i = 0; i < 3000; ++i) {
      const double dx = std::max({targets.low[0] - places.x[i], places.x[i] - targets.high[0], 0.0});
      const double dy = std::max({targets.low[1] - places.y[i], places.y[i] - targets.high[1], 0.0});
      const double dz = std::max({targets.low[2] - places.z[i], places.z[i] - targets.high[2], 0.0});
      if (std::sqrt(dx * dx + dy * dy + dz * dz) > reach) continue;
      ++in_reach;
      EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), static_cast<std::int32_t>(i / charges_per_partial_sum)));
    }
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    if (reach < 5) {
      EXPECT_LT(kept.size(), 30U);
    }
    if (reach == 100) {
      EXPECT_EQ(kept.size(), 94U);
      EXPECT_EQ(in_reach, 3000U);
    }
    groups.within(reach, targets, &kept, again);
    EXPECT_EQ(again, kept);
    groups.within(reach, targets, &nothing, again);
    EXPECT_TRUE(again.empty());
  }
}

}  // namespace
}  // namespace smallbatch
