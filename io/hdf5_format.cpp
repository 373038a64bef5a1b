#include "io/hdf5_format.hpp"

#include <cmath>

#include "io/hdf5_units.hpp"

namespace smallbatch {
namespace {

/// (3) or (batch, 3) numbers, widened to (batch, 3), in angstrom.
std::vector<double> read_triples(const InputFile& file, const std::string& dataset, std::int64_t batch,
                                 double unit_in_angstrom) {
  const DatasetInfo& info = file.float_dataset(dataset);
  const bool one_for_all = info.shape == std::vector<std::int64_t>{3};
  if (!one_for_all && info.shape != std::vector<std::int64_t>{batch, 3}) {
    throw file.error(dataset, "expected shape (3) or " + shape_text({batch, 3}) + ", found " + shape_text(info.shape),
                     "Store one triple for all problems or one per problem.");
  }
  std::vector<double> values(static_cast<std::size_t>(batch) * 3);
  if (one_for_all) {
    std::vector<double> triple(3);
    file.read(dataset, {}, triple.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = triple[i % 3];
  } else {
    file.read(dataset, {}, values.data());
  }
  const double factor = length_unit(file, dataset).value_or(unit_in_angstrom);
  for (double& value : values) value *= factor;
  return values;
}

std::string triple_index(const std::string& dataset, std::size_t i) {
  return dataset + "[" + std::to_string(i / 3) + ", " + std::to_string(i % 3) + "]";
}

}  // namespace

std::int64_t check_format(const InputFile& file, std::vector<std::string>& warnings) {
  const auto version = file.integers("/", "smallbatch_format");
  if (!version) {
    throw file.error("/", "it has no attribute smallbatch_format",
                     "Set it to the int32 pair " + format_pair +
                         ", as FORMAT.md says, or import the file if it is of another "
                         "program.");
  }
  if (version->size() != 2 || version->front() < 1) {
    throw file.error("/@smallbatch_format", "expected the pair " + format_pair + ", found " + shape_text(*version),
                     "Set it to the int32 pair " + format_pair + ".");
  }
  const std::string found = std::to_string(version->at(0)) + "." + std::to_string(version->at(1));
  if (version->at(0) > format_major) {
    throw file.error("/@smallbatch_format", "expected version 1, found version " + found,
                     "Use a newer smallbatch, or write the file in format " + format_version + ".");
  }
  if (version->at(1) > format_minor) {
    warnings.push_back(file.path() + " is of format " + found + ", newer than " + format_version +
                       ": what is new in it is not read.");
  }
  return version->at(1);
}

bool is_result_file(const InputFile& file) { return file.string("/provenance", "kind") == "results"; }

void expect_shape(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape) {
  const DatasetInfo& info = file.dataset(dataset);
  if (info.shape != shape) {
    throw file.error(dataset, "expected shape " + shape_text(shape) + ", found " + shape_text(info.shape),
                     "See FORMAT.md for the shapes.");
  }
}

void read_lattice_attributes(const InputFile& file, PotentialSet& set) {
  const std::string group = potential_path(set.name);
  const auto shape = file.integers(group, "shape");
  if (!shape) {
    throw file.error(group, "it has no attribute shape", "Set shape to (nx, ny, nz), the lattice points per axis.");
  }
  std::int64_t bytes = sizeof(double);
  bool fits = shape->size() == 3;
  for (const std::int64_t length : *shape) fits = fits && length >= 1 && !__builtin_mul_overflow(bytes, length, &bytes);
  if (!fits) {
    throw file.error(group + "@shape",
                     "expected three positive integers whose product fits in memory, found " + shape_text(*shape),
                     "Set shape to (nx, ny, nz), the lattice points per axis.");
  }
  set.shape = {shape->at(0), shape->at(1), shape->at(2)};

  if (const auto unit = file.string(group, "output_unit")) {
    const auto parsed = parse_potential_unit(*unit);
    if (!parsed) {
      throw file.error(group + "@output_unit",
                       "expected one of volt, kT/e, kcal/mol/e, e/angstrom, found " + quoted(*unit),
                       "Name a known unit.");
    }
    set.output_unit = *parsed;
  }
  if (const auto temperature = file.number(group, "temperature")) {
    if (!(*temperature > 0) || !std::isfinite(*temperature)) {
      throw file.error(group + "@temperature", "expected kelvin above 0, found " + std::to_string(*temperature),
                       "Set the temperature in kelvin.");
    }
    set.temperature = *temperature;
  }
}

void read_lattice_places(const InputFile& file, PotentialSet& set, double unit_in_angstrom) {
  const std::string group = potential_path(set.name);
  std::int64_t bytes = set.shape.points() * static_cast<std::int64_t>(sizeof(double));
  if (__builtin_mul_overflow(bytes, set.batch, &bytes)) {
    throw file.error(group + "@shape",
                     "the potentials of " + std::to_string(set.batch) + " problems are more bytes than a file can hold",
                     "Make the lattice or the batch smaller.");
  }
  set.origin = read_triples(file, group + "/origin", set.batch, unit_in_angstrom);
  set.spacing = read_triples(file, group + "/spacing", set.batch, unit_in_angstrom);
  for (std::size_t i = 0; i < set.origin.size(); ++i) {
    if (!std::isfinite(set.origin[i])) {
      throw file.error(triple_index(group + "/origin", i),
                       "expected a finite number, found " + std::to_string(set.origin[i]), "Correct the origin.");
    }
    if (!(set.spacing[i] > 0) || !std::isfinite(set.spacing[i])) {
      throw file.error(triple_index(group + "/spacing", i),
                       "expected a finite number above 0, found " + std::to_string(set.spacing[i]),
                       "Correct the spacing.");
    }
  }
}

void write_lattice(Hdf5Output& file, const PotentialSet& set) {
  const std::string group = potential_path(set.name);
  const auto numbers = static_cast<std::size_t>(set.batch) * 3;
  if (set.origin.size() != numbers || set.spacing.size() != numbers) {
    throw Error(ErrorKind::usage,
                "set " + quoted(set.name) + " has " + std::to_string(set.batch) +
                    " problems (but not as many origins and spacings). Give one of each per problem.");
  }
  file.attribute(group, "shape", std::vector<std::int64_t>{set.shape.nx, set.shape.ny, set.shape.nz});
  file.attribute(group, "output_unit", potential_unit_name(set.output_unit));
  file.attribute(group, "temperature", set.temperature);
  for (const auto& [name, values] : {std::pair{"/origin", &set.origin}, std::pair{"/spacing", &set.spacing}}) {
    file.create(group + name, ElementType::float64, {set.batch, 3});
    file.attribute(group + name, "unit", std::string("angstrom"));
    file.write(group + name, {{0, set.batch}}, values->data());
  }
}

void expect_type(ScalarType asked, ScalarType stored, const std::string& set) {
  if (asked == stored) return;
  const auto name = [](ScalarType type) { return std::string(type == ScalarType::float32 ? "float32" : "float64"); };
  throw Error(ErrorKind::usage, "set " + quoted(set) + " holds " + name(stored) + " (asked for " + name(asked) +
                                    "). Ask for its own type.");
}

void expect_range(std::int64_t first, std::int64_t count, std::int64_t batch, const std::string& set) {
  if (first >= 0 && count >= 0 && first <= batch && count <= batch - first) return;
  throw Error(ErrorKind::usage, "set " + quoted(set) + " has " + std::to_string(batch) + " problems (asked for " +
                                    std::to_string(count) + " from " + std::to_string(first) +
                                    "). Ask for what is there.");
}

}  // namespace smallbatch
