// The rows of set_tables.hpp and result_tables.hpp say what io/FORMAT.md says: names, types, shapes, units, defaults.
#include "io/format/set_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "io/format/result_tables.hpp"

namespace smallbatch {
namespace {

using Row = std::vector<std::string>;

/// Texts between the bars of a table's row.
Row cells(const std::string& line) {
  Row row;
  for (std::size_t begin = 2, end = 0; (end = line.find(" |", begin - 1)) != std::string::npos; begin = end + 3)
    row.push_back(line.substr(begin, end > begin ? end - begin : 0));
  return row;
}

/// Names between back quotes, as in "`a`, `b`".
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; (begin = cell.find('`', begin)) != std::string::npos;) {
    const std::size_t end = cell.find('`', begin + 1);
    names.push_back(cell.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return names;
}

/// Tables of a section of FORMAT.md: rows by name, and the attribute `unit` of each dataset.
struct Section {
  std::map<std::string, Row> datasets, attributes;
  std::map<std::string, std::string> units;
};

Section section(const std::string& title) {
  std::ifstream page(SMALLBATCH_SOURCE_DIR "/io/FORMAT.md");
  Section found;
  bool is_inside = false;
  Row head, last;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ") || line.starts_with("### ")) is_inside = line.starts_with(title);
    if (!is_inside) continue;
    if (!line.starts_with("|")) head.clear();
    if (!line.starts_with("| ")) continue;
    Row row = cells(line);
    if (head.empty()) {
      head = row;
      continue;
    }
    const bool has_owner = head[0] == "attribute of";
    if (has_owner && row[0] != "the set") {
      for (const std::string& dataset : names_in(row[0])) found.units[dataset] = row[3];
      continue;
    }
    if (has_owner) row.erase(row.begin());
    std::vector<std::string> names = names_in(row[0]);
    if (names.empty() && head[0] == "dataset") names = last;  // an empty first cell continues the row above
    for (const std::string& name : names) {
      Row& kept = (head[0] == "dataset" ? found.datasets : found.attributes)[name];
      if (row != kept) kept.insert(kept.end(), row.begin(), row.end());
    }
    last = names;
  }
  return found;
}

template <class Rows>
std::set<std::string> names_of(const Rows& rows) {
  std::set<std::string> names;
  for (const auto& row : rows) names.emplace(row.name);
  return names;
}
std::set<std::string> names_of(const std::map<std::string, Row>& rows) {
  std::set<std::string> names;
  for (const auto& [name, row] : rows) names.insert(name);
  return names;
}

void expect_alike(const SetTable& table, const Section& page) {
  EXPECT_EQ(names_of(table.datasets), names_of(page.datasets));
  EXPECT_EQ(names_of(table.attributes), names_of(page.attributes));
  for (const DatasetRow& row : table.datasets) {
    const Row& said = page.datasets.at(std::string(row.name));
    EXPECT_EQ(said[1], row.types) << row.name;
    EXPECT_EQ(said[2], row.shape) << row.name;
    const auto unit = page.units.find(std::string(row.name));
    const std::string text = said[3] + (unit == page.units.end() ? "" : " `unit` " + unit->second);
    const bool says_unit = text.find("`unit`") != std::string::npos || text.find("(likewise)") != std::string::npos;
    EXPECT_EQ(says_unit, !row.unit.empty()) << row.name << ": " << text;
    const bool names_its_own = row.unit == "Hz" || row.unit == "m" || row.name == "position" || row.name == "charge";
    EXPECT_TRUE(!names_its_own || text.find(row.unit) != std::string::npos) << row.name;
  }
  for (const AttributeRow& row : table.attributes) {
    const Row& said = page.attributes.at(std::string(row.name));
    EXPECT_TRUE(said[1].starts_with(row.type)) << row.name << ": " << said[1];
    EXPECT_EQ(row.type == "number", row.number.allowed != nullptr) << row.name;
    const std::string absent = number_text(row.number.absent, 6);
    EXPECT_EQ(said[2].find("efault " + absent) != std::string::npos, row.number.absent != 0) << row.name;
  }
}

TEST(SetTables, SayWhatThePageSays) {
  expect_alike(solve_set_table, section("## Systems"));
  expect_alike(potential_set_table, section("## Charges and potentials"));
  expect_alike(correlation_set_table, section("## Signals"));
}

TEST(SetTables, PairEnergiesHaveTheRowsOfCharges) {
  const Section charges = section("## Charges and potentials"), pairs = section("## Energies of pairs");
  std::set<std::string> attributes = names_of(charge_set_table.attributes);
  for (const std::string& name : names_of(pairs.attributes)) attributes.insert(name);
  EXPECT_EQ(names_of(pair_energy_set_table.attributes), attributes);
  EXPECT_EQ(names_of(pair_energy_set_table.datasets), names_of(charge_set_table.datasets));
  for (const DatasetRow& row : charge_set_table.datasets) EXPECT_TRUE(charges.datasets.contains(std::string(row.name)));
}

/// The row's shape in the words of FORMAT.md.
std::string shape_on_page(const ResultRow& row) {
  const std::map<std::string, std::string> words{
      {"problem", "batch"}, {"row", "n"},  {"column", "n"},     {"rhs", "nrhs"},
      {"z", "nz"},          {"y", "ny"},   {"x", "nx"},         {"boundary", "batch + 1"},
      {"axis", "3"},        {"part", "2"}, {"point", "points"}, {"charge", "charges"}};
  std::string shape;
  for (const auto& [name, length] : row.axes)
    shape += (shape.empty() ? "(" : ", ") + (words.contains(name) ? words.at(name) : name);
  return shape + ")";
}

/// Expects that FORMAT.md has exactly the rows of `tables`, with the same types, shapes and units. Cells of the page
/// that refer to another row are not compared.
void expect_results_alike(const std::vector<ResultTable>& tables, const std::string& title) {
  const Section page = section("### `/" + title);
  std::set<std::string> names;
  for (const ResultTable& table : tables) {
    for (const ResultRow& row : table) {
      names.insert(row.name);
      ASSERT_TRUE(page.datasets.contains(row.name)) << title << ": " << row.name;
      std::string said;
      for (const std::string& cell : page.datasets.at(row.name)) said += cell + " | ";
      std::erase(said, '`');
      EXPECT_TRUE(said.find(row.type) != std::string::npos || said.find("| as ") != std::string::npos ||
                  title == "pair_energy/<set>")
          << said;
      const bool is_as_another = said.find("| as b") != std::string::npos || said.find("| as V") != std::string::npos ||
                                 said.find("| the same") != std::string::npos;
      EXPECT_TRUE(is_as_another || said.find(shape_on_page(row)) != std::string::npos) << said << shape_on_page(row);
      const bool is_said = row.unit.empty() || row.unit == "1" || said.find("unit") != std::string::npos ||
                           said.find(row.unit) != std::string::npos || row.name.starts_with("V_");
      EXPECT_TRUE(is_said) << said << row.unit;
    }
  }
  EXPECT_EQ(names, names_of(page.datasets)) << title;
}

TEST(ResultTables, SayWhatThePageSays) {
  SolveSet inverse, vector, matrix;
  inverse.shape.nrhs = 0;
  inverse.shape.has_sizes = true;
  vector.shape.nrhs = 1;
  matrix.shape.nrhs = 2;
  matrix.rhs_is_vector = false;
  expect_results_alike({result_table(inverse), result_table(vector), result_table(matrix)}, "solve/<set>");
  PotentialSet lattice;
  lattice.has_field = lattice.has_groups = true;
  lattice.labels.name = {"a"};
  lattice.labels.step = {1};
  lattice.labels.time = {1};
  lattice.offset = lattice.point_offset = {0, 1};
  PotentialSet points = lattice, charges = lattice;
  points.targets = TargetKind::points;
  charges.targets = TargetKind::charges;
  expect_results_alike({result_table(lattice), result_table(points), result_table(charges)}, "potential/<set>");
  PairEnergySet pairs;
  pairs.per_charge = true;
  pairs.labels = lattice.labels;
  expect_results_alike({result_table(pairs)}, "pair_energy/<set>");
  CorrelationSet means, sums;
  means.frequency = {1};
  means.input_position = {1};
  means.labels.antenna = {1};
  means.labels.antenna_name = means.labels.feed = {"a"};
  sums.type = SampleType::complex_int8;
  expect_results_alike({result_table(means), result_table(sums)}, "correlation/<set>");
  expect_results_alike({verdict_table("solve", 1), verdict_table("correlation", 1)}, "verification/");
}

}  // namespace
}  // namespace smallbatch
