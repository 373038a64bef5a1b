// Datasets and attributes of a problem file's sets: one table for each kind of set, whose rows are those of
// io/FORMAT.md. Names that are known, types that are accepted, units, defaults and limits of numbers follow from the
// rows. A test compares them with FORMAT.md. Private to io/.
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
  std::string_view types;  ///< as FORMAT.md says: "int32 or int64"
  std::string_view shape;  ///< likewise: "(batch, n)"
  /// The unit where its attribute `unit` is absent; "any" where any text may be one; empty: it has no such attribute.
  std::string_view unit = no_unit;
};

/// The default and the limits of a number.
struct NumberRule {
  double absent = 0;  ///< the number where there is no attribute
  bool (*allowed)(double) = nullptr;
  std::string_view expected, remedy;  ///< for messages
};

struct AttributeRow {
  std::string_view name;
  std::string_view type;  ///< as FORMAT.md says
  NumberRule number = {};
};

struct SetTable {
  std::vector<DatasetRow> datasets;
  std::vector<AttributeRow> attributes;

  /// A row that is there.
  [[nodiscard]] const DatasetRow& dataset(std::string_view name) const;
  [[nodiscard]] const AttributeRow& attribute(std::string_view name) const;
};

extern const SetTable solve_set_table, charge_set_table, potential_set_table, pair_energy_set_table,
    correlation_set_table;

/// Throws where the dataset, which is of this row, has none of the row's types.
void expect_type_of(const InputFile& file, const std::string& dataset, const DatasetRow& row,
                    const std::string& remedy);

/// The number of an attribute, or the row's. Throws where it is not finite, or not allowed.
double read_number(const InputFile& file, const std::string& group, const AttributeRow& row);

}  // namespace smallbatch
