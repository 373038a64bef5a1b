// Tables of the datasets in a result file: one table for each kind of set. The rows are those of io/FORMAT.md.
// Creating, writing, reading and checking follow from the rows. A test compares them with FORMAT.md. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/share.hpp"

namespace smallbatch {

enum class Created {
  empty,   ///< ResultWriter::add() creates it; every element is written later
  filled,  ///< ResultWriter::add() creates it with 0 or NaN
  apart    ///< other code creates it, together with its numbers or texts
};

struct ResultAxis {
  std::string name;
  std::int64_t length = 0;
};

struct ResultRow {
  std::string name;
  std::string type;  ///< as DatasetInfo names it
  std::vector<ResultAxis> axes;
  // NOLINTBEGIN(readability-redundant-member-init): without the `= {}`, g++ warns where only the first members are
  // given
  std::string unit = {};  ///< empty: none
  Created created = Created::empty;
  std::string coordinates = {};  ///< value of the attribute `coordinates`; empty: none
  // NOLINTEND(readability-redundant-member-init)
  int since = 0;  ///< the minor version of the format that added the dataset
};

/// Rows of a set's datasets. x, y and z may be absent from the file.
using ResultTable = std::vector<ResultRow>;
ResultTable result_table(const SolveSet& set);
ResultTable result_table(const PotentialSet& set, ScalarType computed);
inline ResultTable result_table(const PotentialSet& set) { return result_table(set, set.type); }
ResultTable result_table(const PairEnergySet& set);
ResultTable result_table(const CorrelationSet& set);
/// Returns the table of /verification/<kind>/<set>.
ResultTable verdict_table(const std::string& kind, std::int64_t batch);

/// Returns the row of that name, or null.
const ResultRow* find_row(const ResultTable& table, std::string_view name);
/// Returns the lengths of the row's axes. A complex number counts as one element.
std::vector<std::int64_t> shape_of(const ResultRow& row);

inline constexpr std::array<std::pair<const char*, std::vector<double> PotentialStatistics::*>, 3> statistics_of_v{
    {{"V_min", &PotentialStatistics::lowest},
     {"V_max", &PotentialStatistics::highest},
     {"V_mean", &PotentialStatistics::mean}}};

/// Calls visit(name, ranges of the first axes, numbers) for each dataset of a block. A const block is written to the
/// file. A mutable block is filled from the file.
template <class Block, class Visit>
void for_each_part(const SolveSet& set, Block& block, const ShareStart& start, const Visit& visit) {
  const AxisRange systems{start.problem + block.first, block.count};
  visit(set.shape.wants_inverse() ? "inverse" : "x", {systems}, block.x);
  visit("info", {systems}, block.info);
  visit("size", {systems}, block.sizes);
  for_each_spd_number<typename decltype(block.x)::value_type>(
      [&](const auto& number) { visit(number.name, {systems}, block.*number.in_block); });
}
template <class Block, class Visit>
void for_each_part(const PotentialSet& set, Block& block, const ShareStart& start, const Visit& visit) {
  const AxisRange problems{start.problem + block.first, block.count}, planes{block.first_plane, block.plane_count};
  const auto visit_targets = [&](const char* name, auto& values) {
    if (set.targets == TargetKind::lattice) return visit(name, {problems, planes}, values);
    const std::int64_t first = set.targets_before(block.first);
    visit(name, {{start.target + first, set.targets_before(block.first + block.count) - first}}, values);
  };
  visit_targets("V", block.potential);
  visit_targets("E", block.field);
  visit("info", {problems}, block.info);
  if (!std::is_const_v<Block> || block.first_plane == 0)
    visit("energy", {problems}, block.energy);  // the energy is written with the first plane alone
}
template <class Block, class Visit>
void for_each_part(const PairEnergySet& set, Block& block, const ShareStart& start, const Visit& visit) {
  const AxisRange problems{start.problem + block.first, block.count};
  visit("energy", {problems}, block.energy);
  visit("info", {problems}, block.info);
  AxisRange charges{0, 0};
  if (set.per_charge) {
    const std::int64_t first = set.offset[static_cast<std::size_t>(block.first)];
    charges = {start.target + first, set.offset[static_cast<std::size_t>(block.first + block.count)] - first};
  }
  visit("energy_per_charge", {charges}, block.energy_per_charge);
}
template <class Block, class Visit>
void for_each_part(const CorrelationSet& set, Block& block, const ShareStart& start, const Visit& visit) {
  const AxisRange channels{start.problem + block.first, block.channels};
  const AxisRange integrations{block.first_time / set.integrate, block.batch().integrations()};
  const auto visit_as = [&]<class T>(T /*of the type*/) {
    using Number = std::conditional_t<std::is_const_v<Block>, const T, T>;
    const std::span numbers(reinterpret_cast<Number*>(block.visibility.data()), block.visibility.size() / sizeof(T));
    visit("visibility", {integrations, channels}, numbers);
  };
  block.sum == SumType::complex_float32 ? visit_as(float{})
  : block.sum == SumType::complex_int32 ? visit_as(std::int32_t{})
                                        : visit_as(std::int64_t{});
  visit("weight", {integrations, channels}, block.weight);
  if constexpr (!std::is_const_v<Block>) visit("info", {channels}, block.info);  // written by write_info()
}

}  // namespace smallbatch
