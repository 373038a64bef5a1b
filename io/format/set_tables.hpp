// Tables of the datasets and attributes in a problem file: one table for each kind of set. The rows are those of
// io/FORMAT.md. Known names, accepted types, units, defaults and limits of numbers follow from the rows. A test
// compares them with FORMAT.md. Private to io/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/sets.hpp"

namespace smallbatch {

inline constexpr std::string_view no_unit;

struct DatasetRow {
  std::string_view name;
  std::string_view types;  ///< as in FORMAT.md: "int32 or int64"
  std::string_view shape;  ///< as in FORMAT.md: "(batch, n)"
  /// The unit if the dataset's attribute `unit` is absent. "any": any text may be a unit. Empty: the dataset has no
  /// attribute `unit`.
  std::string_view unit = no_unit;
};

/// The default and the limits of a number.
struct NumberRule {
  double absent = 0;  ///< the number if the attribute is absent
  bool (*allowed)(double) = nullptr;
  std::string_view expected, remedy;  ///< for messages
};

struct AttributeRow {
  std::string_view name;
  std::string_view type;  ///< as in FORMAT.md
  NumberRule number = {};
};

struct SetTable {
  std::vector<DatasetRow> datasets;
  std::vector<AttributeRow> attributes;

  /// Returns the row of that name, which must exist.
  [[nodiscard]] const DatasetRow& dataset(std::string_view name) const;
  [[nodiscard]] const AttributeRow& attribute(std::string_view name) const;
};

extern const SetTable solve_set_table, charge_set_table, potential_set_table, pair_energy_set_table,
    correlation_set_table;

/// Throws unless the dataset has one of the row's types.
void expect_type_of(const InputFile& file, const std::string& dataset, const DatasetRow& row,
                    const std::string& remedy);

/// Returns the number of an attribute, or the row's default. Throws if the number is not finite or not allowed.
double read_number(const InputFile& file, const std::string& group, const AttributeRow& row);

}  // namespace smallbatch
