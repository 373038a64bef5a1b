#include "io/format/result_tables.hpp"

#include <algorithm>

#include "io/format/common.hpp"

namespace smallbatch {
namespace {

/// Adds rows for name, step and time, if known. Sets `coordinates` of the earlier rows that have one number per
/// problem.
void add_labels(ResultTable& table, const ProblemLabels& labels, const ResultAxis& problem) {
  std::string known;
  const auto add = [&](const char* name, const char* type, bool is_known, const std::string& unit = "") {
    if (!is_known) return;
    table.push_back({name, type, {problem}, unit, Created::apart});
    known += (known.empty() ? "" : " ") + std::string(name);
  };
  // "days since ..." would be read as dates, and times of a simulation are seldom dates.
  const bool is_of_dates = labels.time_unit.find("since") != std::string::npos;
  add("name", "strings", !labels.name.empty());
  add("step", "int64", !labels.step.empty());
  add("time", "float64", !labels.time.empty(), is_of_dates ? "" : labels.time_unit);
  for (ResultRow& row : table)
    if (row.created != Created::apart && row.axes.size() == 1 && row.axes[0].name == "problem") row.coordinates = known;
  table.push_back({"problem", "int64", {problem}, "1", Created::apart});
}

}  // namespace

const ResultRow* find_row(const ResultTable& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &ResultRow::name);
  return found == table.end() ? nullptr : &*found;
}
std::vector<std::int64_t> shape_of(const ResultRow& row) {
  std::vector<std::int64_t> shape;
  for (const ResultAxis& axis : row.axes) shape.push_back(axis.length);
  return shape;
}

ResultTable result_table(const SolveSet& set) {
  const SpdShape& shape = set.shape;
  const ResultAxis problem{"problem", set.batch}, row{"row", shape.n}, column{"column", shape.n};
  const std::string type = precision_name(set.type);
  ResultTable table;
  if (shape.wants_inverse()) table.push_back({"inverse", type, {problem, row, column}});
  if (shape.nrhs > 0) table.push_back({"x", type, {problem, row}});
  if (shape.nrhs > 0 && !set.rhs_is_vector) table.back().axes.push_back({"rhs", shape.nrhs});
  table.push_back({"info", "int32", {problem}});
  if (shape.has_sizes) table.push_back({"size", "int32", {problem}});
  for_each_spd_number<float>([&]<class V>(const SpdNumber<float, V>& number) {
    const std::string of_number = std::is_integral_v<V> ? "int32" : sizeof(V) == 8 ? "float64" : type;
    if (number.is_of(shape)) table.push_back({number.name, of_number, {problem}, "", {}, "", number.since});
  });
  return table;
}

ResultTable result_table(const PotentialSet& set, ScalarType computed) {
  const bool on_lattice = set.targets == TargetKind::lattice, at_points = set.targets == TargetKind::points;
  const ResultAxis problem{"problem", set.batch}, axis{"axis", 3}, boundary{"boundary", set.batch + 1};
  const ResultAxis z{"z", set.shape.nz}, y{"y", set.shape.ny}, x{"x", set.shape.nx};
  const std::string type = precision_name(computed), unit = potential_unit_name(set.output_unit);
  ResultTable table{{"V", type, {problem, z, y, x}, unit}};
  if (!on_lattice) table[0].axes = {{at_points ? "point" : "charge", set.targets_before(set.batch)}};
  if (set.has_field) {
    table.push_back({"E", type, table[0].axes, field_unit_name(set.output_unit)});
    table.back().axes.push_back(axis);
  }
  if (on_lattice || set.has_field) table.push_back({"axis", "strings", {axis}, "", Created::apart});
  if (set.has_groups) table.push_back({"energy", "float64", {problem}, energy_unit_name(set.output_unit)});
  table.push_back({"info", "int32", {problem}, "", Created::filled});
  for (const auto& [name, values] : statistics_of_v)
    table.push_back({name, "float64", {problem}, unit, Created::filled, "", 2});
  if (!on_lattice) table.push_back({at_points ? "point_offset" : "offset", "int64", {boundary}});
  add_labels(table, set.labels, problem);
  if (!on_lattice) return table;
  for (const char* name : {"origin", "spacing"})
    table.push_back({name, "float64", {problem, axis}, "angstrom", Created::apart});
  for (const ResultAxis& along : {x, y, z})  // in the file only if all problems have the same lattice
    table.push_back({along.name, "float64", {along}, "angstrom", Created::apart});
  return table;
}

ResultTable result_table(const PairEnergySet& set) {
  const ResultAxis problem{"problem", set.batch};
  const std::string unit = energy_unit_name(set.output_unit);
  ResultTable table{{"energy", "float64", {problem}, unit}, {"info", "int32", {problem}}};
  if (set.per_charge) table.push_back({"energy_per_charge", "float64", {{"charge", set.charges()}}, unit});
  if (set.per_charge) table.push_back({"offset", "int64", {{"boundary", set.batch + 1}}});
  add_labels(table, set.labels, problem);
  return table;
}

ResultTable result_table(const CorrelationSet& set) {
  const ResultAxis channel{"channel", set.batch}, input{"input", set.inputs};
  const std::vector<ResultAxis> axes{{"integration", set.integrations()}, channel, {"baseline", set.baselines()}};
  const std::string type = visibility_type_name(set.visibility()), known = set.frequency.empty() ? "" : "frequency";
  ResultTable table{{"visibility", type, axes, "", {}, known},
                    {"weight", "int32", axes, "", {}, known},
                    {"info", "int32", {channel}, "", Created::filled}};
  if (set.visibility() != SumType::complex_float32) table[0].axes.push_back({"part", 2});
  const auto add = [&](const char* name, const char* row_type, bool is_known, const std::vector<ResultAxis>& of,
                       const char* unit = "") {
    if (is_known) table.push_back({name, row_type, of, unit, Created::apart});
  };
  add("frequency", "float64", !set.frequency.empty(), {channel}, "Hz");
  add("input_position", "float64", !set.input_position.empty(), {input, {"axis", 3}}, "m");
  add("input_antenna", "int64", !set.labels.antenna.empty(), {input});
  add("input_antenna_name", "strings", !set.labels.antenna_name.empty(), {input});
  add("input_feed", "strings", !set.labels.feed.empty(), {input});
  return table;
}

ResultTable verdict_table(const std::string& kind, std::int64_t batch) {
  const ResultAxis axis{kind == CorrelationSet::kind ? "channel" : "problem", batch};
  return {{"verdict", "int8", {axis}, "", Created::filled},
          {"error_over_bound", "float32", {axis}, "", Created::filled}};
}

}  // namespace smallbatch
