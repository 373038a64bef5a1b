#include "io/format/set_tables.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace smallbatch {
namespace {

bool is_positive(double value) { return value > 0; }
bool is_not_negative(double value) { return value >= 0; }
bool is_latitude(double value) { return std::abs(value) <= 90; }
bool is_angle(double value) { return std::abs(value) <= 360; }
bool is_altitude(double value) { return std::abs(value) <= 1e12; }

constexpr NumberRule length{0, is_not_negative, "a finite length of 0 or more",
                            "Give a length in the unit of the positions; 0 is none."};
constexpr NumberRule latitude{0, is_latitude, "a number of at most 90 in magnitude", "Correct it."};
constexpr NumberRule angle{0, is_angle, "a number of at most 360 in magnitude", "Correct it."};
constexpr std::string_view floats = "float32 or float64", integers = "int32 or int64";
constexpr std::string_view small_integers = "int8, int32 or int64", texts = "strings of fixed length";

SetTable with(SetTable table, const SetTable& more) {
  table.datasets.insert(table.datasets.end(), more.datasets.begin(), more.datasets.end());
  table.attributes.insert(table.attributes.end(), more.attributes.begin(), more.attributes.end());
  return table;
}

template <class Row>
const Row& find(const std::vector<Row>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found == rows.end())
    throw Error(ErrorKind::internal, "no table has a row " + std::string(name) + ". Please report this.");
  return *found;
}

}  // namespace

const SetTable solve_set_table{
    {{"A", floats, "(batch, n, n)"}, {"b", "the type of `A`", "(batch, n)"}, {"size", integers, "(batch)"}},
    {{"uplo", "string"}, {"storage", "string"}, {"compute", "string"}}};

const SetTable charge_set_table{
    {{"position", floats, "(charges, 3)", "angstrom"},
     {"charge", "the type of `position`", "(charges)", "e"},
     {"width", floats, "(charges)", "angstrom"},
     {"offset", integers, "(batch + 1)"},
     {"group", small_integers, "(charges)"},
     {"atomic_number", small_integers, "(charges)"},
     {"name", texts, "(batch)"},
     {"step", integers, "(batch)"},
     {"time", floats, "(batch)", "any"}},
    {{"softening", "number", length},
     {"cutoff", "number", length},
     {"screening_length", "number", length},
     {"width", "number", length},
     {"dielectric",
      "number",
      {1, is_positive, "a finite number above 0", "Set the relative permittivity; 1 is the vacuum."}},
     {"output_unit", "string"},
     {"temperature",
      "number",
      {default_temperature_kelvin, is_positive, "kelvin above 0", "Set the temperature in kelvin."}},
     {"particles", "string"}}};

const SetTable potential_set_table = with({{{"origin", floats, "(batch, 3) or (3)", "angstrom"},
                                            {"spacing", floats, "(batch, 3) or (3)", "angstrom"},
                                            {"points", floats, "(points, 3)", "angstrom"},
                                            {"point_offset", integers, "(batch + 1)"}},
                                           {{"targets", "string"}, {"shape", "three integers"}, {"field", "0 or 1"}}},
                                          charge_set_table);

const SetTable pair_energy_set_table = with({{}, {{"per_charge", "0 or 1"}}}, charge_set_table);

const SetTable correlation_set_table{
    {{"signal", "compound {`r`, `i`} of float32", "(channel, time, input)"},
     {"flag", "uint8, int8 or Boolean", "(channel, time, input)"},
     {"frequency", floats, "(channel)", "Hz"},
     {"input_position", floats, "(input, 3)", "m"},
     {"input_antenna", "integers", "(input)"},
     {"input_antenna_name", texts, "(input)"},
     {"input_feed", texts, "(input)"}},
    {{"integrate", "integer"},
     {"output", "string"},
     {"packing", "string"},
     {"sample_time",
      "number",
      {0, is_positive, "a finite number above 0", "Give the seconds from one sample to the next, or remove it."}},
     {"start_time",
      "number",
      {0, is_positive, "a finite number above 0",
       "Give the Julian date at which the first sample begins, or remove it."}},
     {"telescope", "string"},
     {"latitude", "number", latitude},
     {"longitude", "number", angle},
     {"altitude", "number", {0, is_altitude, "a number of at most 1e12 in magnitude", "Correct it."}},
     {"phase_center", "string"},
     {"phase_center_ra", "number", angle},
     {"phase_center_dec", "number", latitude},
     {"visibility_unit", "string"}}};

const DatasetRow& SetTable::dataset(std::string_view name) const { return find(datasets, name); }
const AttributeRow& SetTable::attribute(std::string_view name) const { return find(attributes, name); }

void expect_type_of(const InputFile& file, const std::string& dataset, const DatasetRow& row,
                    const std::string& remedy) {
  const std::string& found = file.dataset(dataset).type_name;
  std::string words = " " + std::string(row.types) + " ";  // " int8, int32 or int64 "
  std::erase(words, ',');
  if (words.find(" " + found + " ") != std::string::npos) return;
  throw file.error(dataset, "expected " + std::string(row.types) + ", found " + found, remedy);
}

double read_number(const InputFile& file, const std::string& group, const AttributeRow& row) {
  const std::string name(row.name);
  const auto value = file.number(group, name);
  if (!value) return row.number.absent;
  if (row.number.allowed(*value) && std::isfinite(*value)) return *value;
  throw file.error(group + "@" + name,
                   "expected " + std::string(row.number.expected) + ", found " + std::to_string(*value),
                   std::string(row.number.remedy));
}

}  // namespace smallbatch
