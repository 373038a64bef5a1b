#include "physics/charges/cpu/cutoff_groups.hpp"

#include <algorithm>
#include <utility>

#include "physics/charges/cpu/partial_sums.hpp"

namespace smallbatch {

namespace {
constexpr int bits_per_axis = 16;

/// Moves bit k of `index` to bit 3 k.
std::uint64_t spread(std::uint64_t index) {
  std::uint64_t spread_out = 0;
  for (int bit = 0; bit < bits_per_axis; ++bit) spread_out |= (index >> bit & 1) << 3 * bit;
  return spread_out;
}
}  // namespace

std::vector<std::int64_t> spatial_order(const Coordinates& positions) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(positions.count));
  if (positions.count == 0) return order;
  const Box box = box_around(positions.x, positions.y, positions.z, positions.count);
  double edge = 0;  // the box is a cube, so that its cells are cubes too
  for (std::size_t axis = 0; axis < 3; ++axis) edge = std::max(edge, box.high[axis] - box.low[axis]);
  const double cells = edge > 0 ? ((1 << bits_per_axis) - 1) / edge : 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> keys(order.size());
  for (std::int64_t i = 0; i < positions.count; ++i) {
    const auto cell = [&](double coordinate, std::size_t axis) {
      return spread(static_cast<std::uint64_t>((coordinate - box.low[axis]) * cells)) << axis;
    };
    keys[static_cast<std::size_t>(i)] = {cell(positions.x[i], 0) | cell(positions.y[i], 1) | cell(positions.z[i], 2),
                                         i};
  }
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].second;
  return order;
}

Box box_around(const Box& a, const Box& b) {
  Box box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.low[axis] = std::min(a.low[axis], b.low[axis]);
    box.high[axis] = std::max(a.high[axis], b.high[axis]);
  }
  return box;
}

CutoffGroups::CutoffGroups(const Coordinates& charges) {
  for (std::int64_t first = 0; first < charges.count; first += charges_per_partial_sum) {
    const std::int64_t count = std::min<std::int64_t>(charges_per_partial_sum, charges.count - first);
    const Box box = box_around(charges.x + first, charges.y + first, charges.z + first, count);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low_[axis].push_back(box.low[axis]);
      high_[axis].push_back(box.high[axis]);
    }
  }
}

void CutoffGroups::within(double reach, const Box& targets, const std::vector<std::int32_t>* from,
                          std::vector<std::int32_t>& out) const {
  const std::size_t candidates = from ? from->size() : low_[0].size();
  out.resize(candidates);
  std::size_t found = 0;
  for (std::size_t k = 0; k < candidates; ++k) {
    const std::size_t sum = from ? static_cast<std::size_t>((*from)[k]) : k;
    double distance2 = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double gap = std::max({low_[axis][sum] - targets.high[axis], targets.low[axis] - high_[axis][sum], 0.0});
      distance2 += gap * gap;
    }
    out[found] = static_cast<std::int32_t>(sum);
    found += distance2 <= reach * reach ? 1 : 0;
  }
  out.resize(found);
}

}  // namespace smallbatch
