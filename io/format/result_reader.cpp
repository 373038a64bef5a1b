// Opening checks what a set declares, reading relies on it. One file, because the two are of one set at a time.
#include "io/result_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "io/format/byte_check.hpp"
#include "io/format/common.hpp"
#include "io/format/labels.hpp"
#include "io/format/vtkhdf.hpp"
#include "io/hdf5/input.hpp"
#include "io/integrity/row_hashes.hpp"

namespace smallbatch {
namespace {

constexpr std::array sample_types{SampleType::complex_float32, SampleType::complex_int8, SampleType::complex_int4};

/// The version that brought names of problems, coordinates and `units`.
constexpr std::int64_t labels_since = 5;

std::string exact_text(std::int64_t number) { return std::to_string(number); }
std::string exact_text(double number) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.17g", number);
  return digits.data();
}

}  // namespace

struct ResultReader::Impl {
  Impl(const std::string& path, unsigned threads) : file(path, threads) {}

  InputFile file;
  ProblemSets sets;
  std::int64_t minor = format_minor;  ///< version of the file's format
  bool has_statistics = true;         ///< of V: V_min, V_max, V_mean; formats 1.0 and 1.1 lack them

  /// Whether the file has that number of the set's systems.
  [[nodiscard]] bool has(const auto& number, const SolveSet& set) const {
    return number.is_of(set.shape) && number.since <= minor;
  }

  void expect_type_name(const std::string& dataset, const std::string& expected) const {
    const DatasetInfo& info = file.dataset(dataset);
    if (info.type_name != expected) {
      throw file.error(dataset, "expected " + expected + ", found " + info.type_name, "Write the results anew.");
    }
  }

  /// A dataset with one number per system.
  void expect_numbers(const std::string& dataset, const std::string& type, std::int64_t batch) const {
    expect_type_name(dataset, type);
    expect_shape(file, dataset, {batch});
    file.check_proportion(dataset);
  }

  /// A text attribute that says what it must say.
  void expect_text(const std::string& object, const std::string& attribute, const std::string& expected) const {
    const auto found = file.string(object, attribute);
    if (found == expected) return;
    throw file.error(object + "@" + attribute,
                     "expected " + quoted(expected) + ", found " + (found ? quoted(*found) : "nothing"),
                     "Write the results anew.");
  }

  /// Checks an attribute only if it is there: a program that stores the dataset anew may drop it.
  void expect_said(const std::string& object, const std::string& attribute, const std::string& expected) const {
    if (file.string(object, attribute)) expect_text(object, attribute, expected);
  }

  /// Values along an axis that are what they must be; of those that are not, the first is said.
  template <class T>
  void expect_values(const std::string& dataset, const std::vector<T>& expected, const std::vector<T>& found) const {
    const auto alike = [](const T& a, const T& b) { return a == b || (a != a && b != b); };  // a NaN may be stored
    const auto [asked, got] = std::ranges::mismatch(expected, found, alike);
    if (asked == expected.end() && got == found.end()) return;
    const auto text = [](const std::vector<T>& values, auto value) {
      if (value == values.end()) return std::string("nothing");
      if constexpr (std::is_same_v<T, std::string>)
        return quoted(*value);
      else
        return exact_text(*value);
    };
    throw file.error(dataset + "[" + std::to_string(asked - expected.begin()) + "]",
                     "expected " + text(expected, asked) + " as the problems say, found " + text(found, got),
                     "Name the file that the results were made from, or write them anew.");
  }

  /// Checks a dataset of numbers.
  template <class T>
  void expect_stored(const std::string& dataset, const std::vector<T>& expected) const {
    std::vector<T> found;
    if (file.kind(dataset) != ObjectKind::none) {
      const DatasetInfo& info = file.dataset(dataset);
      if (info.type == ElementType::other)
        throw file.error(dataset, "expected numbers, found " + info.type_name, "Write the results anew.");
      expect_shape(file, dataset, {static_cast<std::int64_t>(expected.size())});
      found.resize(expected.size());
      if (!found.empty()) file.read(dataset, {}, found.data());
    }
    expect_values(dataset, expected, found);
  }

  /// A dataset along the axis of problems, and its unit, if it has one.
  struct OfProblems {
    const char* name;
    std::string unit;
  };
  void expect_labels(const ChargesOfSet& asked, const ProblemLabels& found, const std::string& group,
                     const std::vector<OfProblems>& others) const {
    std::vector<std::int64_t> problem(static_cast<std::size_t>(asked.batch));
    std::iota(problem.begin(), problem.end(), 0);
    expect_stored(group + "/problem", problem);
    expect_values(group + "/name", asked.labels.name, found.name);
    expect_values(group + "/step", asked.labels.step, found.step);
    expect_values(group + "/time", asked.labels.time, found.time);
    if (!found.time.empty()) {
      expect_values(group + "/time@unit", {asked.labels.time_unit}, std::vector{found.time_unit});
      const std::string& unit = asked.labels.time_unit;
      if (unit.find("since") == std::string::npos) expect_said(group + "/time", "units", unit);
    }
    std::string known;
    for (const auto& [name, is_known] :
         {std::pair{"name", !found.name.empty()}, {"step", !found.step.empty()}, {"time", !found.time.empty()}}) {
      if (is_known) known += (known.empty() ? "" : " ") + std::string(name);
    }
    for (const auto& [name, unit] : others) {
      if (!unit.empty()) expect_said(group + "/" + name, "units", unit);
      if (!known.empty()) expect_said(group + "/" + name, "coordinates", known);
    }
  }

  /// V, E and the energy are in the unit that the set names, and lengths in angstrom.
  void expect_units(const PotentialSet& set) const {
    const std::string group = set_path(set), unit = potential_unit_name(set.output_unit);
    expect_text(group + "/V", "unit", unit);
    if (set.has_field) expect_text(group + "/E", "unit", field_unit_name(set.output_unit));
    if (set.has_groups) expect_text(group + "/energy", "unit", energy_unit_name(set.output_unit));
    if (has_statistics) {
      for (const char* statistic : {"/V_min", "/V_max", "/V_mean"}) expect_text(group + statistic, "unit", unit);
    }
    if (set.targets != TargetKind::lattice) return;
    for (const char* place : {"/origin", "/spacing"}) expect_text(group + place, "unit", "angstrom");
  }

  /// The type and shape that a solution or an inverse tells.
  void open_answer(const std::string& group, SolveSet& set) const {
    const bool inverse = file.kind(group + "/inverse") != ObjectKind::none;
    const std::string answer = group + (inverse ? "/inverse" : "/x");
    const DatasetInfo& info = file.float_dataset(answer);
    set.type = scalar_type(info.type);
    const auto& shape = info.shape;
    const bool fits = inverse ? shape.size() == 3 && shape[1] == shape[2]
                              : shape.size() == 2 || (shape.size() == 3 && shape[2] >= 1 && shape[2] <= most_rhs);
    if (!fits || shape[1] < 1 || shape[1] > max_system_size) {
      throw file.error(answer,
                       std::string("expected shape ") + (inverse ? "(batch, n, n)" : "(batch, n[, nrhs])") +
                           " with 1 <= n <= " + std::to_string(max_system_size) + ", found " + shape_text(shape),
                       "Write the results anew.");
    }
    set.batch = shape[0];
    set.shape.n = static_cast<int>(shape[1]);
    set.rhs_is_vector = shape.size() == 2;
    set.shape.nrhs = inverse ? 0 : set.rhs_is_vector ? 1 : static_cast<int>(shape[2]);
  }

  /// What a set without solutions tells: the type by its numbers, n by an attribute.
  void open_determinants(const std::string& group, SolveSet& set) const {
    const DatasetInfo& info = file.float_dataset(group + "/rcond");
    set.type = scalar_type(info.type);
    set.batch = info.shape.empty() ? 0 : info.shape[0];
    const auto n = file.integers(group, "n");
    if (!n || n->size() != 1 || n->front() < 1 || n->front() > max_system_size) {
      throw file.error(group + "@n",
                       "expected a number from 1 to " + std::to_string(max_system_size) + ", found " +
                           (n ? shape_text(*n) : "nothing"),
                       "Write the results anew.");
    }
    set.shape.n = static_cast<int>(n->front());
    set.shape.nrhs = 0;
    set.shape.determinant_only = true;
  }

  void open_set(SolveSet& set) const {
    const std::string group = set_path(set);
    if (file.string(group, "compute")) {
      expect_text(group, "compute", compute_log_determinant);
      open_determinants(group, set);
    } else {
      open_answer(group, set);
    }
    expect_numbers(group + "/info", "int32", set.batch);
    set.shape.has_sizes = file.kind(group + "/size") != ObjectKind::none;
    if (set.shape.has_sizes) {
      expect_type_name(group + "/size", "int32");
      check_sizes(file, set, "Write the results anew.");
    }
    for_each_spd_number(set.type, [&]<class T, class V>(const SpdNumber<T, V>& number) {
      const char* const type = std::is_integral_v<V> ? "int32" : sizeof(V) == 4 ? "float32" : "float64";
      if (has(number, set)) expect_numbers(group + "/" + number.name, type, set.batch);
    });
  }

  void open_set(PotentialSet& set) const {
    const std::string group = set_path(set);
    read_potential_attributes(file, set);
    const DatasetInfo& info = file.float_dataset(group + "/V");
    set.type = scalar_type(info.type);
    std::vector<std::int64_t> shape{info.shape.empty() ? 0 : info.shape[0]};
    if (set.targets == TargetKind::lattice) {
      set.batch = shape[0];
      shape.insert(shape.end(), {set.shape.nz, set.shape.ny, set.shape.nx});
    } else {
      const bool at_points = set.targets == TargetKind::points;
      std::vector<std::int64_t>& offset = at_points ? set.point_offset : set.offset;
      offset = read_offset(file, group + (at_points ? "/point_offset" : "/offset"), shape[0], "values of V");
      set.batch = static_cast<std::int64_t>(offset.size()) - 1;
    }
    expect_shape(file, group + "/V", shape);
    if (set.has_field) {
      expect_type_name(group + "/E", info.type_name);
      shape.push_back(3);
      expect_shape(file, group + "/E", shape);
    }
    expect_numbers(group + "/info", "int32", set.batch);
    set.has_groups = file.kind(group + "/energy") != ObjectKind::none;
    if (set.has_groups) expect_numbers(group + "/energy", "float64", set.batch);
    if (has_statistics) {
      for (const char* statistic : {"/V_min", "/V_max", "/V_mean"}) {
        expect_numbers(group + statistic, "float64", set.batch);
      }
    }
    set.labels = read_labels(file, group, set.batch);
    set.has_widths = read_flag(file, group, "widths", "Write the results anew.");
    read_potential_lengths(file, set, 1);
    expect_units(set);
  }

  void open_set(PairEnergySet& set) const {
    const std::string group = set_path(set), remedy = "Write the results anew.";
    set.per_charge = read_flag(file, group, "per_charge", remedy);
    set.has_groups = read_flag(file, group, "groups", remedy);
    set.has_widths = read_flag(file, group, "widths", remedy);
    const auto precision = file.string(group, "precision");
    if (precision != "float32" && precision != "float64") {
      throw file.error(group + "@precision",
                       "expected \"float32\" or \"float64\", found " + (precision ? quoted(*precision) : "nothing"),
                       remedy);
    }
    set.type = precision == "float32" ? ScalarType::float32 : ScalarType::float64;
    read_charge_attributes(file, group, set);
    read_charge_lengths(file, group, set, 1);
    const DatasetInfo& energies = file.dataset(group + "/energy");
    set.batch = energies.shape.empty() ? 0 : energies.shape[0];
    expect_numbers(group + "/energy", "float64", set.batch);
    expect_text(group + "/energy", "unit", energy_unit_name(set.output_unit));
    expect_numbers(group + "/info", "int32", set.batch);
    set.labels = read_labels(file, group, set.batch);
    if (!set.per_charge) return;
    const std::string per_charge = group + "/energy_per_charge";
    const DatasetInfo& of_charges = file.dataset(per_charge);
    const std::int64_t charges = of_charges.shape.empty() ? 0 : of_charges.shape[0];
    expect_numbers(per_charge, "float64", charges);
    expect_text(per_charge, "unit", energy_unit_name(set.output_unit));
    set.offset = read_offset(file, group + "/offset", charges, "energies of charges");
    expect_shape(file, group + "/offset", {set.batch + 1});
  }

  /// An attribute that is a count.
  [[nodiscard]] std::int64_t count(const std::string& group, const char* name, std::int64_t least,
                                   std::int64_t most) const {
    const auto found = file.integers(group, name);
    if (found && found->size() == 1 && found->front() >= least && found->front() <= most) return found->front();
    throw file.error(group + "@" + name,
                     "expected a number from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
                         (found ? shape_text(*found) : "nothing"),
                     "Write the results anew.");
  }

  void open_set(CorrelationSet& set) const {
    const std::string group = set_path(set), visibility = group + "/visibility";
    const auto signal = file.string(group, "signal");
    const auto found = std::ranges::find(sample_types, signal.value_or(""), sample_type_name);
    if (found == sample_types.end()) {
      throw file.error(group + "@signal",
                       "expected one of float32, int8, int4, found " + (signal ? quoted(*signal) : "nothing"),
                       "Write the results anew.");
    }
    set.type = *found;
    set.inputs = count(group, "inputs", 1, max_inputs);
    set.times = count(group, "times", 0, std::numeric_limits<std::int64_t>::max());
    const std::int64_t all = std::min<std::int64_t>(std::max<std::int64_t>(1, set.times), INT32_MAX);
    set.integrate = count(group, "integrate", 1, all);
    const DatasetInfo& info = file.dataset(group + "/info");
    set.batch = info.shape.empty() ? 0 : info.shape[0];
    expect_numbers(group + "/info", "int32", set.batch);
    read_correlation_attributes(file, set);
    std::vector<std::int64_t> shape{set.integrations(), set.batch, set.baselines()};
    expect_type_name(group + "/weight", "int32");
    expect_shape(file, group + "/weight", shape);
    shape.push_back(2);
    expect_type_name(visibility, visibility_type_name(set.visibility()));
    expect_shape(file, visibility, shape);
  }

  void open(Bytes bytes) {
    std::vector<std::string> warnings;
    minor = check_format(file, warnings);
    has_statistics = minor >= 2;
    if (!smallbatch::is_result_file(file)) {
      throw Error(ErrorKind::bad_input, "cannot use " + file.path(),
                  "it is a problem file, not a results file: /provenance has no kind \"results\"",
                  "Give the file that smallbatch run made of it.");
    }
    for_each_kind(sets, [&]<class Set>(const std::vector<Set>&) {
      file.describe(kind_path<Set>(), 2);
      file.describe("/provenance" + kind_path<Set>(), 1);  // of /provenance itself somebody has asked
    });
    file.describe("/verification", 3);
    if (bytes == Bytes::compared) compare_reads(file);
    for_each_kind(sets, [&]<class Set>(std::vector<Set>& list) {
      for (const std::string& name : set_names(file, kind_path<Set>())) {
        list.emplace_back().name = name;
        open_set(list.back());
      }
    });
    file.end_describing();
  }
};

ResultReader::ResultReader(const std::string& path, unsigned threads, Bytes bytes)
    : impl_(std::make_unique<Impl>(path, threads)) {
  impl_->open(bytes);
}
ResultReader::ResultReader(const std::string& path, unsigned threads, const std::function<void()>& between,
                           const std::function<void(const ByteCheck&)>& take)
    : impl_(std::make_unique<Impl>(path, threads)) {
  take(check_bytes(impl_->file, threads, between));
  impl_->open(Bytes::as_they_are);
}
ResultReader::~ResultReader() = default;
ResultReader::ResultReader(ResultReader&&) noexcept = default;

const ProblemSets& ResultReader::sets() const { return impl_->sets; }

template <class T>
void ResultReader::read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(first, count, set.batch, set.name);
  const std::string group = set_path(set);
  // The block keeps the shape that the caller gave it: results do not say how A was stored.
  block.first = first;
  block.count = count;
  const auto fill = [&](const std::string& name, auto& values, std::int64_t numbers, bool is_there) {
    values.resize(is_there ? static_cast<std::size_t>(count * numbers) : 0);
    if (is_there) impl_->file.read(group + "/" + name, {{first, count}}, values.data());
  };
  fill(set.shape.wants_inverse() ? "inverse" : "x", block.x, set.shape.solution_size(), !set.shape.determinant_only);
  fill("info", block.info, 1, true);
  fill("size", block.sizes, 1, set.shape.has_sizes);
  for_each_spd_number<T>(
      [&](const auto& number) { fill(number.name, block.*number.in_block, 1, impl_->has(number, set)); });
}

template <class T>
void ResultReader::read(const PotentialSet& set, PotentialBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(block.first, block.count, set.batch, set.name);
  const std::string group = set_path(set);
  const AxisRange problems{block.first, block.count}, planes{block.first_plane, block.plane_count};
  const auto values = [&](const char* name, std::int64_t per_target, AlignedVector<T>& into) {
    const std::int64_t first = set.targets_before(block.first);
    const bool on_lattices = set.targets == TargetKind::lattice;
    const std::int64_t count = on_lattices ? block.count * block.plane_count * set.shape.plane_points()
                                           : set.targets_before(block.first + block.count) - first;
    into.resize(static_cast<std::size_t>(count * per_target));
    if (on_lattices) {
      impl_->file.read(group + name, {problems, planes}, into.data());
    } else {
      impl_->file.read(group + name, {{first, count}}, into.data());
    }
  };
  if (set.targets == TargetKind::lattice) expect_range(block.first_plane, block.plane_count, set.shape.nz, set.name);
  block.targets = set.targets;
  block.shape = set.shape;
  values("/V", 1, block.potential);
  block.field.clear();
  if (set.has_field) values("/E", 3, block.field);
  block.info.resize(static_cast<std::size_t>(block.count));
  impl_->file.read(group + "/info", {problems}, block.info.data());
  block.energy.resize(set.has_groups ? block.info.size() : 0);
  if (set.has_groups) impl_->file.read(group + "/energy", {problems}, block.energy.data());
}

void ResultReader::read(const PairEnergySet& set, PairEnergyBlock& block) const {
  expect_range(block.first, block.count, set.batch, set.name);
  const std::string group = set_path(set);
  const AxisRange problems{block.first, block.count};
  block.info.resize(static_cast<std::size_t>(block.count));
  block.energy.resize(block.info.size());
  impl_->file.read(group + "/info", {problems}, block.info.data());
  impl_->file.read(group + "/energy", {problems}, block.energy.data());
  block.energy_per_charge.clear();
  if (!set.per_charge) return;
  const std::int64_t first = set.offset[static_cast<std::size_t>(block.first)];
  const std::int64_t charges = set.offset[static_cast<std::size_t>(block.first + block.count)] - first;
  block.energy_per_charge.resize(static_cast<std::size_t>(charges));
  impl_->file.read(group + "/energy_per_charge", {{first, charges}}, block.energy_per_charge.data());
}

const InputFile& ResultReader::file() const { return impl_->file; }

void ResultReader::read(const CorrelationSet& set, SignalBlock& block) const {
  expect_range(block.first, block.channels, set.batch, set.name);
  expect_range(block.first_time, block.times, set.times, set.name);
  const std::string group = set_path(set), visibility = group + "/visibility";
  block.type = set.type;
  block.inputs = set.inputs;
  block.integrate = set.integrate;
  block.sum = set.visibility();
  block.resize_sums();
  const AxisRange channels{block.first, block.channels};
  const AxisRange integrations{block.first_time / set.integrate, block.batch().integrations()};
  std::byte* const values = block.visibility.data();
  switch (block.sum) {
    case SumType::complex_float32:
      impl_->file.read(visibility, {integrations, channels}, reinterpret_cast<float*>(values));
      break;
    case SumType::complex_int32:
      impl_->file.read(visibility, {integrations, channels}, reinterpret_cast<std::int32_t*>(values));
      break;
    case SumType::complex_int64:
      impl_->file.read(visibility, {integrations, channels}, reinterpret_cast<std::int64_t*>(values));
      break;
  }
  impl_->file.read(group + "/weight", {integrations, channels}, block.weight.data());
  impl_->file.read(group + "/info", {channels}, block.info.data());
}

bool ResultReader::read_numbers(const std::string& dataset, std::int64_t first, std::vector<double>& values) const {
  if (impl_->file.kind(dataset) != ObjectKind::dataset) return false;
  const std::vector<std::int64_t>& shape = impl_->file.dataset(dataset).shape;
  const auto count = static_cast<std::int64_t>(values.size());
  if (shape.size() != 1 || first < 0 || count > shape[0] - first) return false;
  if (count > 0) impl_->file.read(dataset, {{first, count}}, values.data());
  return true;
}

PotentialStatistics ResultReader::statistics(const PotentialSet& set) const {
  PotentialStatistics statistics;
  if (!impl_->has_statistics) return statistics;
  const std::string group = set_path(set);
  for (const auto& [name, values] :
       {std::pair{"/V_min", &statistics.lowest}, {"/V_max", &statistics.highest}, {"/V_mean", &statistics.mean}}) {
    values->resize(static_cast<std::size_t>(set.batch));
    impl_->file.read(group + name, {}, values->data());
  }
  return statistics;
}

std::vector<double> ResultReader::read_potential(const PotentialSet& set, std::int64_t problem,
                                                 std::int64_t first_plane, std::int64_t plane_count) const {
  expect_range(problem, 1, set.batch, set.name);
  expect_range(first_plane, plane_count, set.shape.nz, set.name);
  std::vector<double> values(static_cast<std::size_t>(plane_count * set.shape.plane_points()));
  impl_->file.read(set_path(set) + "/V", {{problem, 1}, {first_plane, plane_count}}, values.data());
  return values;
}

std::vector<double> ResultReader::read_potential_rows(const PotentialSet& set, std::int64_t problem, std::int64_t plane,
                                                      std::int64_t first_row, std::int64_t row_count) const {
  expect_range(problem, 1, set.batch, set.name);
  expect_range(plane, 1, set.shape.nz, set.name);
  expect_range(first_row, row_count, set.shape.ny, set.name);
  std::vector<double> values(static_cast<std::size_t>(row_count * set.shape.nx));
  impl_->file.read(set_path(set) + "/V", {{problem, 1}, {plane, 1}, {first_row, row_count}}, values.data());
  return values;
}

VerificationSummary ResultReader::verification(const std::string& kind, const std::string& set) const {
  const std::string group = verification_path(kind, set);
  VerificationSummary summary;
  if (impl_->file.kind(group) == ObjectKind::none) return summary;
  auto integer = [&](const char* name) {
    const auto values = impl_->file.integers(group, name);
    return values && values->size() == 1 ? values->front() : 0;
  };
  summary.criterion = impl_->file.string(group, "criterion").value_or("");
  summary.checked = integer("checked");
  summary.agreed = integer("agreed");
  summary.disagreed = integer("disagreed");
  summary.worst_index = integer("worst_index");
  summary.worst_error_over_bound = impl_->file.number(group, "worst_error_over_bound").value_or(0);
  return summary;
}

void ResultReader::check_labels(const PotentialSet& asked, const PotentialSet& found) const {
  if (impl_->minor < labels_since) return;
  const std::string group = set_path(found), unit = potential_unit_name(asked.output_unit);
  std::vector<Impl::OfProblems> others{{"info", ""}, {"V_min", unit}, {"V_max", unit}, {"V_mean", unit}};
  if (asked.has_groups) others.push_back({"energy", energy_unit_name(asked.output_unit)});
  impl_->expect_labels(asked, found.labels, group, others);
  impl_->expect_said(group + "/V", "units", unit);
  if (asked.has_field) impl_->expect_said(group + "/E", "units", field_unit_name(asked.output_unit));
  const bool on_lattice = asked.targets == TargetKind::lattice;
  if (asked.has_field || on_lattice)
    impl_->expect_values(group + "/axis", {"x", "y", "z"}, impl_->file.texts(group + "/axis"));
  if (!on_lattice) return;
  for (const char* place : {"/origin", "/spacing"}) impl_->expect_said(group + place, "units", "angstrom");
  if (!has_one_lattice(asked)) return;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name = group + "/" + "xyz"[axis];
    impl_->expect_stored(name, places_along(asked, axis));
    for (const char* attribute : {"unit", "units"}) impl_->expect_said(name, attribute, "angstrom");
  }
}

void ResultReader::check_labels(const PairEnergySet& asked, const PairEnergySet& found) const {
  if (impl_->minor < labels_since) return;
  const std::string group = set_path(found), unit = energy_unit_name(asked.output_unit);
  impl_->expect_labels(asked, found.labels, group, {{"info", ""}, {"energy", unit}});
  if (asked.per_charge) impl_->expect_said(group + "/energy_per_charge", "units", unit);
}

void ResultReader::check_labels(const CorrelationSet& asked, const CorrelationSet& found) const {
  if (impl_->minor < labels_since) return;
  const std::string group = set_path(found);
  if (!asked.frequency.empty()) {
    impl_->expect_said(group + "/frequency", "units", "Hz");
    for (const char* name : {"/visibility", "/weight"}) impl_->expect_said(group + name, "coordinates", "frequency");
  }
  if (!asked.input_position.empty()) impl_->expect_said(group + "/input_position", "units", "m");
}

void ResultReader::check_verification(const std::string& kind, const std::string& set, std::int64_t batch) const {
  const InputFile& file = impl_->file;
  const std::string group = verification_path(kind, set);
  const auto refuse = [&](const std::string& object, const std::string& expected, const std::string& found) {
    throw file.error(object, "expected " + expected + ", found " + found,
                     "These verdicts were changed: run the problem file again.");
  };
  if (file.kind(group) != ObjectKind::group) {
    throw file.error("/verification/" + kind, "it has no group " + quoted(set), "Run the problem file again.");
  }
  const VerificationSummary stored = verification(kind, set);
  VerificationSummary found;
  const std::string verdict = group + "/verdict", error = group + "/error_over_bound";
  // Before 1.3 systems of an empty set had no verdicts.
  if (batch > 0 || file.kind(verdict) != ObjectKind::none) {
    impl_->expect_numbers(verdict, "int8", batch);
    impl_->expect_numbers(error, "float32", batch);
  }
  bool is_worst_there = stored.worst_index == -1;
  constexpr std::int64_t at_once = 1 << 20;
  for (std::int64_t first = 0; first < batch; first += at_once) {
    const std::int64_t count = std::min(at_once, batch - first);
    std::vector<std::int8_t> verdicts(static_cast<std::size_t>(count));
    std::vector<float> errors(verdicts.size());
    file.read(verdict, {{first, count}}, verdicts.data());
    file.read(error, {{first, count}}, errors.data());
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const std::int64_t index = first + static_cast<std::int64_t>(i);
      const std::string place = "[" + std::to_string(index) + "]";
      const float worst = errors[i];
      switch (static_cast<Verdict>(verdicts[i])) {
        case Verdict::not_checked:
          if (!std::isnan(worst)) refuse(error + place, "NaN where nothing was checked", std::to_string(worst));
          continue;
        case Verdict::agreed:
          if (!(worst >= 0 && worst <= 1)) refuse(error + place, "0 to 1 as the verdict says", std::to_string(worst));
          ++found.agreed;
          break;
        case Verdict::disagreed:  // the error may have been rounded to 1
          if (!(worst >= 1)) refuse(error + place, "more than 1 as the verdict says", std::to_string(worst));
          ++found.disagreed;
          break;
        default:
          refuse(verdict + place, "0, 1 or 2", std::to_string(verdicts[i]));
      }
      ++found.checked;
      found.worst_error_over_bound = std::max(found.worst_error_over_bound, static_cast<double>(worst));
      is_worst_there = is_worst_there || (index == stored.worst_index && worst == stored.worst_error_over_bound);
    }
  }
  const auto expect_total = [&](const char* name, auto expected, auto total) {
    if (expected != total) {
      refuse(group + "@" + name, std::to_string(expected) + " as its verdicts say", std::to_string(total));
    }
  };
  expect_total("checked", found.checked, stored.checked);
  expect_total("agreed", found.agreed, stored.agreed);
  expect_total("disagreed", found.disagreed, stored.disagreed);
  expect_total("worst_error_over_bound", found.worst_error_over_bound, stored.worst_error_over_bound);
  if (!is_worst_there || (stored.worst_index == -1) != (found.checked == 0)) {
    refuse(group + "@worst_index", found.checked == 0 ? "-1" : "the index of the worst error",
           std::to_string(stored.worst_index));
  }
}

StoredVerdicts ResultReader::verdicts(const std::string& kind, const std::string& set, std::int64_t batch) const {
  check_verification(kind, set, batch);
  const std::string group = verification_path(kind, set);
  StoredVerdicts found;
  found.verdict.resize(static_cast<std::size_t>(batch));
  found.error_over_bound.resize(found.verdict.size());
  if (batch == 0) return found;
  static_assert(sizeof(Verdict) == sizeof(std::int8_t));
  impl_->file.read(group + "/verdict", {}, reinterpret_cast<std::int8_t*>(found.verdict.data()));
  impl_->file.read(group + "/error_over_bound", {}, found.error_over_bound.data());
  return found;
}

std::optional<std::uint64_t> ResultReader::problems_hash(const std::string& kind, const std::string& set) const {
  const std::string group = work_path(kind, set);
  const auto text = impl_->file.string(group, "problems_hash");
  if (!text) return std::nullopt;
  const auto hash = parse_problems_hash(*text);
  if (!hash) {
    throw impl_->file.error(group + "@problems_hash", "expected 16 hexadecimal digits, found " + quoted(*text),
                            "Run the problem file again.");
  }
  return hash;
}

WorkOfSet ResultReader::work(const std::string& kind, const std::string& set) const {
  const std::string group = work_path(kind, set);
  const auto number = [&](const char* name) { return impl_->file.number(group, name).value_or(0); };
  return {number("compute_seconds"), number("work"), number("values_checked")};
}

std::string ResultReader::provenance(const std::string& key) const {
  return impl_->file.string("/provenance", key).value_or("");
}

double ResultReader::provenance_number(const std::string& key) const {
  return impl_->file.number("/provenance", key).value_or(0);
}

template void ResultReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<float>&) const;
template void ResultReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<double>&) const;
template void ResultReader::read(const PotentialSet&, PotentialBlock<float>&) const;
template void ResultReader::read(const PotentialSet&, PotentialBlock<double>&) const;

bool is_result_file(const std::string& path) {
  const InputFile file(path);
  return is_result_file(file);
}

}  // namespace smallbatch
