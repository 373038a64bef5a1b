// Reads and checks attributes and small datasets of sets. One file, because each function takes a few lines, and
// problem files and result files both use them.
#include "io/format/common.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/visible_text.hpp"
#include "io/format/labels.hpp"
#include "io/format/local_coordinates.hpp"
#include "io/format/set_tables.hpp"
#include "io/hdf5/units.hpp"

namespace smallbatch {
namespace {

/// Triples in angstrom, and their rounding errors. Without a conversion of units `rests` is empty.
struct Triples {
  std::vector<double> values, rests;
};

/// Reads (3) or (batch, 3) numbers. Three numbers are repeated to (batch, 3).
Triples read_triples(const InputFile& file, const std::string& dataset, std::int64_t batch, double unit_in_angstrom) {
  const DatasetInfo& info = file.float_dataset(dataset);
  const bool one_for_all = info.shape == std::vector<std::int64_t>{3};
  if (!one_for_all && info.shape != std::vector<std::int64_t>{batch, 3}) {
    const bool is_one_number = std::ranges::count(info.shape, 1) == std::ssize(info.shape);
    throw file.error(
        dataset,
        "it is understood as x, y, z of a batch of " + std::to_string(batch) + ": expected shape (3) or " +
            shape_text({batch, 3}) + ", found " + shape_text(info.shape),
        is_one_number ? "Store the number for each axis, three times."
                      : remedy_of_shape(
                            info.shape, {batch, 3},
                            remedy_of_shape(info.shape, {3}, "Store one triple for all problems or one per problem.")));
  }
  file.check_proportion(dataset);
  std::vector<double> values(static_cast<std::size_t>(batch) * 3);
  if (one_for_all) {
    std::vector<double> triple(3);
    file.read(dataset, {}, triple.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = triple[i % 3];
  } else {
    file.read(dataset, {}, values.data());
  }
  const double factor = length_unit(file, dataset).value_or(unit_in_angstrom);
  Triples triples{std::move(values), {}};
  if (factor == 1) return triples;
  for (double& value : triples.values) {
    const auto [rounded, rest] = exact_coordinate(value, factor);
    value = rounded;
    triples.rests.push_back(rest);
  }
  return triples;
}

std::string triple_index(const std::string& dataset, std::size_t i) {
  return dataset + "[" + std::to_string(i / 3) + ", " + std::to_string(i % 3) + "]";
}

/// Numbers of a correlation set that are read and written in the same way.
constexpr std::array<std::pair<const char*, double CorrelationSet::*>, 2> array_numbers{
    {{"sample_time", &CorrelationSet::sample_time}, {"start_time", &CorrelationSet::start_time}}};

constexpr std::array target_kinds{TargetKind::lattice, TargetKind::points, TargetKind::charges};

bool is_finite(double value) { return std::isfinite(value); }

/// Reads a dataset of finite numbers about the array of antennas. Returns nothing if there is no such dataset.
std::vector<double> read_known(const InputFile& file, const std::string& group, const DatasetRow& row,
                               const std::vector<std::int64_t>& shape, const std::string& signal) {
  const std::string dataset = group + "/" + std::string(row.name), unit(row.unit);
  if (file.kind(dataset) == ObjectKind::none) return {};
  (void)file.float_dataset(dataset);
  expect_shape(file, dataset, shape, signal);
  if (const auto found = file.string(dataset, "unit"); found && *found != unit) {
    throw file.error(dataset + "@unit", "expected " + quoted(unit) + ", found " + quoted(*found),
                     "Convert the numbers to it.");
  }
  std::size_t count = 1;
  for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
  file.check_proportion(dataset);
  std::vector<double> values(count);
  file.read(dataset, {}, values.data());
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    const std::string element = shape.size() == 1 ? dataset + "[" + std::to_string(i) + "]" : triple_index(dataset, i);
    throw file.error(element, "expected a finite number, found " + std::to_string(values[i]), "Correct it.");
  }
  return values;
}

/// Throws if the factor of V's unit, divided by the dielectric constant, is no normal number.
void check_unit_factor(const InputFile& file, const std::string& group, const ChargesOfSet& set) {
  const double factor = potential_unit_factor(set.output_unit, set.temperature);
  if (std::isnormal(factor) && std::isnormal(factor / set.dielectric)) return;
  const bool by_temperature = !std::isnormal(factor);
  throw file.error(
      group + (by_temperature ? "@temperature" : "@dielectric"),
      "expected a factor of V's unit that is a normal float64, found " +
          text_of(by_temperature ? factor : factor / set.dielectric) + " with " +
          text_of(by_temperature ? set.temperature : set.dielectric),
      by_temperature ? "Set the temperature in kelvin." : "Set the relative permittivity; 1 is the vacuum.");
}

void read_targets(const InputFile& file, PotentialSet& set) {
  const std::string group = set_path(set);
  const auto name = file.string(group, "targets");
  if (!name) return;
  const auto found = std::ranges::find(target_kinds, *name, target_kind_name);
  if (found == target_kinds.end()) {
    throw file.error(group + "@targets", "expected one of lattice, points, charges, found " + quoted(*name),
                     "Say where V is wanted.");
  }
  set.targets = *found;
}

/// Reads the shape of a set of lattices. Refuses lattices in any other set.
void read_shape(const InputFile& file, PotentialSet& set) {
  const std::string group = set_path(set);
  const auto shape = file.integers(group, "shape");
  if (set.targets != TargetKind::lattice) {
    const std::string why =
        "the attribute 'targets' asks for V at " + target_kind_name(set.targets) + ", which have no lattice";
    if (shape) throw file.error(group + "@shape", why, "Remove the attribute 'shape', or the attribute 'targets'.");
    for (const char* dataset : {"/origin", "/spacing"}) {
      if (file.kind(group + dataset) != ObjectKind::none) {
        throw file.error(group + dataset, why, "Remove the dataset, or the attribute 'targets'.");
      }
    }
    return;
  }
  if (!shape) {
    throw file.error(group, "it has no attribute shape",
                     "Set shape to (nx, ny, nz), the lattice points per axis, or targets to points or charges.");
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
}

}  // namespace

std::int64_t check_format(const InputFile& file, std::vector<std::string>& warnings) {
  const auto version = file.integers("/", "smallbatch_format");
  if (!version) {
    const bool is_h5md = file.kind("/h5md") == ObjectKind::group;
    const bool is_uvh5 = file.kind("/Header") == ObjectKind::group && file.kind("/Data") == ObjectKind::group;
    throw file.error("/",
                     std::string(is_h5md   ? "it is understood as H5MD, and "
                                 : is_uvh5 ? "it is understood as UVH5, and "
                                           : "") +
                         "it has no attribute smallbatch_format",
                     is_h5md || is_uvh5 ? "Import it first: smallbatch import."
                                        : "Set it to the int32 pair " + format_pair +
                                              ", as FORMAT.md says, or import the file if another program wrote it.");
  }
  if (version->size() != 2 || version->front() < 1 || version->back() < 0) {
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
                       ": its new parts are not read.");
  }
  return version->at(1);
}

bool is_result_file(const InputFile& file) { return file.string("/provenance", "kind") == "results"; }

std::vector<std::string> set_names(const InputFile& file, const std::string& kind) {
  auto names = file.members(kind);
  for (const std::string& name : names) {
    // HDF5 can read a link without a name, but cannot write one properly.
    if (name.empty()) throw file.error(kind, "it has a set without a name", "Give it one.");
    if (has_control_bytes(name)) {
      throw file.error(kind, "the set " + quoted(name) + " has control characters in its name", "Rename it.");
    }
    if (file.kind(kind + "/" + name) != ObjectKind::group) {
      throw file.error(kind + "/" + name, "expected a group (a set), found a dataset",
                       "Put the set's datasets into a group.");
    }
  }
  return names;
}

std::string signal_text(const CorrelationSet& set) {
  return "the signal is understood as " + std::to_string(set.batch) + " channels, " + std::to_string(set.times) +
         " times, " + std::to_string(set.inputs) + " inputs: ";
}

std::vector<std::int64_t> read_offset(const InputFile& file, const std::string& dataset, std::int64_t total,
                                      const std::string& things) {
  expect_type_of(file, dataset, charge_set_table.dataset("offset"), "Store it as int64.");
  const DatasetInfo& info = file.dataset(dataset);
  if (info.shape.size() != 1 || info.shape[0] < 1) {
    throw file.error(dataset, "expected shape (batch + 1), found " + shape_text(info.shape),
                     "Store where each problem begins, and the number of " + things + " at the end.");
  }
  file.check_proportion(dataset);
  std::vector<std::int64_t> offset(static_cast<std::size_t>(info.shape[0]));
  file.read(dataset, {}, offset.data());
  const auto at = [&](std::size_t i) { return "[" + std::to_string(i) + "] is " + std::to_string(offset[i]); };
  const bool are_counts = std::accumulate(offset.begin(), offset.end(), 0.0) == static_cast<double>(total);
  const std::string remedy = are_counts ? "Are these counts? Store numpy.cumsum of them, after a 0."
                                        : "Let it rise from 0 to the number of " + things + ".";
  if (offset.front() != 0) throw file.error(dataset, at(0) + ", expected 0", remedy);
  for (std::size_t i = 1; i < offset.size(); ++i) {
    if (offset[i] < offset[i - 1]) {
      throw file.error(
          dataset, at(i) + ", expected at least " + std::to_string(offset[i - 1]) + ", the offset before it", remedy);
    }
  }
  if (offset.back() != total) {
    throw file.error(
        dataset, at(offset.size() - 1) + ", expected the number of " + things + ", " + std::to_string(total), remedy);
  }
  return offset;
}

std::vector<std::int64_t> read_sizes(const InputFile& file, const SolveSet& set, const AxisRange& systems,
                                     const std::string& remedy) {
  const std::string dataset = set_path(set) + "/size";
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(systems.count));
  file.read(dataset, {systems}, sizes.data());
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] >= 0 && sizes[k] <= set.shape.n) continue;
    throw file.error(dataset,
                     "expected numbers from 0 to " + std::to_string(set.shape.n) + ", the rows of A, found " +
                         std::to_string(sizes[k]) + " at index " +
                         std::to_string(systems.first + static_cast<std::int64_t>(k)),
                     remedy);
  }
  return sizes;
}

void check_sizes(const InputFile& file, SolveSet& set, const std::string& remedy) {
  expect_shape(file, set_path(set) + "/size", {set.batch});
  set.systems_of_size.assign(static_cast<std::size_t>(set.shape.n) + 1, 0);
  constexpr std::int64_t at_once = 1 << 20;
  for (std::int64_t first = 0; first < set.batch; first += at_once) {
    for (const std::int64_t size : read_sizes(file, set, {first, std::min(at_once, set.batch - first)}, remedy)) {
      ++set.systems_of_size[static_cast<std::size_t>(size)];
    }
  }
}

bool read_flag(const InputFile& file, const std::string& group, const std::string& name, const std::string& remedy) {
  const auto found = file.integers(group, name);
  if (!found) return false;
  if (found->size() != 1 || (found->front() != 0 && found->front() != 1)) {
    throw file.error(group + "@" + name, "expected 0 or 1, found " + shape_text(*found), remedy);
  }
  return found->front() == 1;
}

void read_charge_attributes(const InputFile& file, const std::string& group, ChargesOfSet& set) {
  set.dielectric = read_number(file, group, charge_set_table.attribute("dielectric"));
  set.temperature = read_number(file, group, charge_set_table.attribute("temperature"));
  if (const auto unit = file.string(group, "output_unit")) {
    const auto parsed = parse_potential_unit(*unit);
    if (!parsed) {
      const std::string per_charge = *unit == "eV" ? "volt" : *unit + "/e";  // if `unit` is one of energies
      throw file.error(
          group + "@output_unit", "expected a unit of V, one of " + potential_unit_names() + ", found " + quoted(*unit),
          parse_potential_unit(per_charge) ? "Name " + quoted(per_charge) + ": energies are then in " + *unit + "."
                                           : "Name one of these.");
    }
    set.output_unit = *parsed;
  }
  check_unit_factor(file, group, set);
}

void read_charge_lengths(const InputFile& file, const std::string& group, ChargesOfSet& set, double unit_in_angstrom) {
  const auto length = [&](const char* name, bool (*allowed)(double), const std::string& expected) {
    const AttributeRow& row = charge_set_table.attribute(name);
    const double stored = read_number(file, group, row);
    const double angstrom = unit_in_angstrom * stored;
    if (!allowed(angstrom) || (angstrom == 0) != (stored == 0)) {
      throw file.error(group + "@" + name,
                       "expected 0 or " + expected + ", found " + text_of(stored) + " in a unit of " +
                           text_of(unit_in_angstrom) + " angstrom",
                       std::string(row.number.remedy));
    }
    return angstrom + 0.0;  // turns -0 into 0
  };
  const std::string with_square = "a length from " + text_of(least_softening) + " to " + text_of(largest_softening) +
                                  " angstrom, so that its square is a normal float64";
  set.softening = length("softening", is_softening, with_square);
  set.cutoff = length("cutoff", is_finite, "a length that is a float64 in angstrom");
  set.screening_length = length("screening_length", is_screening_length, with_square);
  set.width = length("width", is_softening, with_square);
  if (!set.is_gaussian()) return;
  for (const auto& [name, number] : {std::pair{"softening", set.softening}, {"screening_length", set.screening_length}})
    if (number > 0)
      throw file.error(group + "@" + name,
                       "the charges have a width, and Gaussian charges are neither softened nor screened",
                       "Remove the attribute, or the width.");
}

void write_charge_attributes(Hdf5Output& file, const std::string& group, const ChargesOfSet& set) {
  file.attribute(group, "softening", set.softening);
  file.attribute(group, "cutoff", set.cutoff);
  if (set.screening_length > 0) file.attribute(group, "screening_length", set.screening_length);
  if (set.width > 0) file.attribute(group, "width", set.width);
  if (set.has_widths)
    file.attribute(group, "widths", std::int64_t{1});  // in results: the widths are in the problem file
  file.attribute(group, "dielectric", set.dielectric);
  file.attribute(group, "output_unit", potential_unit_name(set.output_unit));
  file.attribute(group, "temperature", set.temperature);
  write_labels(file, group, set.labels, set.batch);
}

void read_potential_attributes(const InputFile& file, PotentialSet& set) {
  const std::string group = set_path(set);
  read_targets(file, set);
  read_shape(file, set);
  set.has_field = read_flag(file, group, "field", "Set it to 1 where E is wanted, too.");
  read_charge_attributes(file, group, set);
}

std::vector<double> read_potential_lengths(const InputFile& file, PotentialSet& set, double unit_in_angstrom) {
  const std::string group = set_path(set);
  read_charge_lengths(file, group, set, unit_in_angstrom);
  if (set.targets != TargetKind::lattice) return {};
  // Counts the bytes of V, of E if it is wanted, and of a summary for each plane. There may be as many planes as
  // points.
  std::int64_t bytes = set.shape.points();
  if (__builtin_mul_overflow(bytes, (set.has_field ? 4 : 1) * sizeof(double) + sizeof(PotentialSummary), &bytes) ||
      __builtin_mul_overflow(bytes, set.batch, &bytes)) {
    throw file.error(
        group + "@shape",
        "the potentials of " + std::to_string(set.batch) + " problems take more bytes than a file can hold",
        "Make the lattice or the batch smaller.");
  }
  Triples origin = read_triples(file, group + "/origin", set.batch, unit_in_angstrom);
  set.origin = std::move(origin.values);
  set.spacing = read_triples(file, group + "/spacing", set.batch, unit_in_angstrom).values;
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
    if (set.spacing[i] < least_spacing) {
      throw file.error(
          triple_index(group + "/spacing", i),
          "expected at least " + text_of(least_spacing) + " angstrom, found " + text_of(set.spacing[i]) + " angstrom",
          "Correct the spacing, or its unit.");
    }
  }
  return std::move(origin.rests);
}

void write_potential_attributes(Hdf5Output& file, const PotentialSet& set) {
  const std::string group = set_path(set);
  file.attribute(group, "targets", target_kind_name(set.targets));
  file.attribute(group, "field", std::int64_t{set.has_field});
  write_charge_attributes(file, group, set);
  if (set.targets != TargetKind::lattice) return;
  const auto numbers = static_cast<std::size_t>(set.batch) * 3;
  if (set.origin.size() != numbers || set.spacing.size() != numbers) {
    throw Error(ErrorKind::usage, "set " + quoted(set.name) + " has " + std::to_string(set.batch) + " problems",
                "but not as many origins and spacings", "Give one of each per problem.");
  }
  file.attribute(group, "shape", std::vector<std::int64_t>{set.shape.nx, set.shape.ny, set.shape.nz});
  for (const auto& [name, values] : {std::pair{"/origin", &set.origin}, std::pair{"/spacing", &set.spacing}}) {
    file.create(group + name, ElementType::float64, {set.batch, 3});
    file.attribute(group + name, "unit", std::string("angstrom"));
    file.write(group + name, {{0, set.batch}}, values->data());
  }
}

void read_correlation_attributes(const InputFile& file, CorrelationSet& set) {
  const std::string group = set_path(set);
  if (const auto output = file.string(group, "output")) {
    if (*output != output_sum && *output != output_mean) {
      throw file.error(group + "@output", "expected sum or mean, found " + quoted(*output),
                       "Say whether visibilities are sums or means over samples.");
    }
    set.is_mean = *output == output_mean;
  }
  for (const auto& [name, number] : array_numbers)
    set.*number = read_number(file, group, correlation_set_table.attribute(name));
  const std::string signal = signal_text(set);
  set.frequency = read_known(file, group, correlation_set_table.dataset("frequency"), {set.batch}, signal);
  set.input_position =
      read_known(file, group, correlation_set_table.dataset("input_position"), {set.inputs, 3}, signal);
  set.labels = read_array_labels(file, group, set.inputs);
}

void write_correlation_attributes(Hdf5Output& file, const CorrelationSet& set) {
  const std::string group = set_path(set);
  file.attribute(group, "integrate", set.integrate);
  file.attribute(group, "output", set.is_mean ? output_mean : output_sum);
  for (const auto& [name, number] : array_numbers)
    if (set.*number > 0) file.attribute(group, name, set.*number);
  const auto write = [&](const char* name, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
    if (values.empty()) return;
    const std::string dataset = group + "/" + name;
    file.create(dataset, ElementType::float64, shape);
    file.attribute(dataset, "unit", std::string(correlation_set_table.dataset(name).unit));
    file.write(dataset, {}, values.data());
  };
  write("frequency", {set.batch}, set.frequency);
  write("input_position", {set.inputs, 3}, set.input_position);
  write_array_labels(file, group, set.labels);
}

void expect_type(ScalarType asked, ScalarType stored, const std::string& set) {
  if (asked == stored) return;
  throw Error(ErrorKind::usage, "set " + quoted(set) + " holds " + precision_name(stored),
              "asked for " + precision_name(asked), "Ask for its own type.");
}

}  // namespace smallbatch
