// Opening checks what each set declares. Reading copies numbers. One file, because reading a set relies on what opening
// it has checked.
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
#include "io/format/result_tables.hpp"
#include "io/format/vtkhdf.hpp"
#include "io/hdf5/input.hpp"
#include "io/integrity/row_hashes.hpp"

namespace smallbatch {
namespace {

constexpr std::array sample_types{SampleType::complex_float32, SampleType::complex_int8, SampleType::complex_int4};

/// The minor version of the format that added names of problems, coordinates and `units`.
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
  std::int64_t minor = format_minor;  ///< minor version of the file's format

  /// Throws if the type, shape or unit of a dataset differs from the table.
  void expect(const std::string& group, const ResultTable& table) const {
    for (const ResultRow& row : table) {
      if (row.since > minor || row.created == Created::apart) continue;
      const std::string dataset = group + "/" + row.name;
      std::vector<std::int64_t> shape = shape_of(row);
      if (row.type.starts_with("compound")) shape.push_back(2);
      if (const std::string& type = file.dataset(dataset).type_name; type != row.type)
        throw file.error(dataset, "expected " + row.type + ", found " + type, "Write the results anew.");
      expect_shape(file, dataset, shape);
      if (shape.size() == 1 && row.name != "V") file.check_proportion(dataset);  // callers may read it whole
      if (!row.unit.empty()) expect_text(dataset, "unit", row.unit);
    }
  }

  /// Returns how many numbers these ranges of the first axes hold.
  static std::size_t numbers_in(const std::vector<std::int64_t>& shape, std::initializer_list<AxisRange> ranges) {
    std::int64_t numbers = 1;
    for (const AxisRange& range : ranges) numbers *= range.count;
    for (std::size_t axis = ranges.size(); axis < shape.size(); ++axis) numbers *= shape[axis];
    return static_cast<std::size_t>(numbers);
  }

  /// Reads a block's part of a set's datasets. Members of the block without a dataset in the file become empty.
  template <class Set, class Block>
  void read(const Set& set, Block& block) const {
    const std::string group = set_path(set);
    const ResultTable table = result_table(set);
    for_each_part(set, block, {}, [&](const char* name, std::initializer_list<AxisRange> ranges, auto& values) {
      const ResultRow* row = find_row(table, name);
      if (row && row->since > minor) row = nullptr;
      if constexpr (requires { values.clear(); }) values.resize(row ? numbers_in(shape_of(*row), ranges) : 0);
      if (row) file.read(group + "/" + name, ranges, values.data());
    });
  }

  /// Throws unless a text attribute has the expected value.
  void expect_text(const std::string& object, const std::string& attribute, const std::string& expected) const {
    const auto found = file.string(object, attribute);
    if (found == expected) return;
    throw file.error(object + "@" + attribute,
                     "expected " + quoted(expected) + ", found " + (found ? quoted(*found) : "nothing"),
                     "Write the results anew.");
  }

  /// Throws if a text attribute exists and has another value. It may be missing, because a program that rewrites the
  /// dataset may drop it.
  void expect_text_if_present(const std::string& object, const std::string& attribute,
                              const std::string& expected) const {
    if (file.string(object, attribute)) expect_text(object, attribute, expected);
  }

  /// Throws unless values along an axis are the expected ones. The message names the first that differs.
  template <class T>
  void expect_values(const std::string& dataset, const std::vector<T>& expected, const std::vector<T>& found) const {
    const auto alike = [](const T& a, const T& b) { return a == b || (a != a && b != b); };  // a NaN equals a NaN here
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

  /// Throws unless a dataset has the expected numbers.
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

  /// Compares labels in the results with those of the problem file.
  void expect_labels(const ChargesOfSet& asked, const ProblemLabels& found, const std::string& group) const {
    std::vector<std::int64_t> problem(static_cast<std::size_t>(asked.batch));
    std::iota(problem.begin(), problem.end(), 0);
    expect_stored(group + "/problem", problem);
    expect_values(group + "/name", asked.labels.name, found.name);
    expect_values(group + "/step", asked.labels.step, found.step);
    expect_values(group + "/time", asked.labels.time, found.time);
    if (!found.time.empty())
      expect_values(group + "/time@unit", {asked.labels.time_unit}, std::vector{found.time_unit});
  }
  /// Checks netCDF's attributes for units and coordinates.
  void expect_units_and_coordinates(const std::string& group, const ResultTable& table) const {
    for (const ResultRow& row : table) {
      const std::string dataset = group + "/" + row.name;
      for (const char* attribute : {"unit", "units"})
        if (!row.unit.empty()) expect_text_if_present(dataset, attribute, row.unit);
      if (!row.coordinates.empty()) expect_text_if_present(dataset, "coordinates", row.coordinates);
    }
  }

  /// Finds the type and the shape of a set from its solutions or inverses.
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

  /// Opens a set without solutions. Its type is that of `rcond`, and n is an attribute.
  void open_determinants(const std::string& group, SolveSet& set) const {
    const DatasetInfo& info = file.float_dataset(group + "/rcond");
    set.type = scalar_type(info.type);
    set.batch = info.shape.empty() ? 0 : info.shape[0];
    set.shape.n = static_cast<int>(count(group, "n", 1, max_system_size));
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
    set.shape.has_sizes = file.kind(group + "/size") != ObjectKind::none;
    expect(group, result_table(set));
    if (set.shape.has_sizes) check_sizes(file, set, "Write the results anew.");
  }

  void open_set(PotentialSet& set) const {
    const std::string group = set_path(set);
    read_potential_attributes(file, set);
    const DatasetInfo& info = file.float_dataset(group + "/V");
    set.type = scalar_type(info.type);
    const std::int64_t values = info.shape.empty() ? 0 : info.shape[0];
    if (set.targets == TargetKind::lattice) {
      set.batch = values;
    } else {
      const bool at_points = set.targets == TargetKind::points;
      std::vector<std::int64_t>& offset = at_points ? set.point_offset : set.offset;
      offset = read_offset(file, group + (at_points ? "/point_offset" : "/offset"), values, "values of V");
      set.batch = static_cast<std::int64_t>(offset.size()) - 1;
    }
    set.has_groups = file.kind(group + "/energy") != ObjectKind::none;
    expect(group, result_table(set));
    set.labels = read_labels(file, group, set.batch);
    set.has_widths = read_flag(file, group, "widths", "Write the results anew.");
    read_potential_lengths(file, set, 1);
    if (set.targets != TargetKind::lattice) return;
    for (const char* dataset : {"/origin", "/spacing"}) expect_text(group + dataset, "unit", "angstrom");
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
    if (set.per_charge) {
      const std::vector<std::int64_t>& shape = file.dataset(group + "/energy_per_charge").shape;
      set.offset = {shape.empty() ? 0 : shape[0]};  // only the total is known yet; offsets follow below
    }
    expect(group, result_table(set));
    if (set.per_charge) set.offset = read_offset(file, group + "/offset", set.charges(), "energies of charges");
    set.labels = read_labels(file, group, set.batch);
  }

  /// Reads an attribute that is a count from `least` to `most`.
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
    const std::string group = set_path(set);
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
    read_correlation_attributes(file, set);
    const ResultTable table = result_table(set);
    // The rows are checked from last to first. A message about a wrong shape then names `weight`, which has no axis of
    // real and imaginary parts.
    expect(group, {table.rbegin(), table.rend()});
  }

  void open(Bytes bytes) {
    std::vector<std::string> warnings;
    minor = check_format(file, warnings);
    if (!smallbatch::is_result_file(file)) {
      throw Error(ErrorKind::bad_input, "cannot use " + file.path(),
                  "it is a problem file, not a result file: /provenance has no kind \"results\"",
                  "Give the file that smallbatch run made from it.");
    }
    for_each_kind(sets, [&]<class Set>(const std::vector<Set>&) {
      file.describe(kind_path<Set>(), 2);
      file.describe("/provenance" + kind_path<Set>(), 1);  // /provenance itself is described already
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
  // The block keeps the shape that the caller gave it, because results do not say how A was stored.
  block.first = first;
  block.count = count;
  impl_->read(set, block);
}

template <class T>
void ResultReader::read(const PotentialSet& set, PotentialBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(block.first, block.count, set.batch, set.name);
  if (set.targets == TargetKind::lattice) expect_range(block.first_plane, block.plane_count, set.shape.nz, set.name);
  block.targets = set.targets;
  block.shape = set.shape;
  impl_->read(set, block);
}

void ResultReader::read(const PairEnergySet& set, PairEnergyBlock& block) const {
  expect_range(block.first, block.count, set.batch, set.name);
  impl_->read(set, block);
}

const InputFile& ResultReader::file() const { return impl_->file; }

void ResultReader::read(const CorrelationSet& set, SignalBlock& block) const {
  expect_range(block.first, block.channels, set.batch, set.name);
  expect_range(block.first_time, block.times, set.times, set.name);
  block.type = set.type;
  block.inputs = set.inputs;
  block.integrate = set.integrate;
  block.sum = set.visibility();
  block.resize_sums();
  impl_->read(set, block);
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
  const std::string group = set_path(set);
  const ResultTable table = result_table(set);
  for (const auto& [name, values] : statistics_of_v) {
    if (find_row(table, name)->since > impl_->minor) continue;
    (statistics.*values).resize(static_cast<std::size_t>(set.batch));
    impl_->file.read(group + "/" + name, {}, (statistics.*values).data());
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
  const std::string group = set_path(found);
  const ResultTable table = result_table(asked);
  impl_->expect_labels(asked, found.labels, group);
  impl_->expect_units_and_coordinates(group, table);
  if (find_row(table, "axis"))
    impl_->expect_values(group + "/axis", {"x", "y", "z"}, impl_->file.texts(group + "/axis"));
  if (asked.targets != TargetKind::lattice || !has_one_lattice(asked)) return;
  for (std::size_t axis = 0; axis < 3; ++axis)
    impl_->expect_stored(group + "/" + "xyz"[axis], coordinates_along(asked, axis));
}

void ResultReader::check_labels(const PairEnergySet& asked, const PairEnergySet& found) const {
  if (impl_->minor < labels_since) return;
  impl_->expect_labels(asked, found.labels, set_path(found));
  impl_->expect_units_and_coordinates(set_path(found), result_table(asked));
}

void ResultReader::check_labels(const CorrelationSet& asked, const CorrelationSet& found) const {
  if (impl_->minor < labels_since) return;
  impl_->expect_units_and_coordinates(set_path(found), result_table(asked));
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
  // Before format 1.3 a set without systems had no verdicts.
  if (batch > 0 || file.kind(verdict) != ObjectKind::none) {
    impl_->expect(group, verdict_table(kind, batch));
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
      const std::string at_index = "[" + std::to_string(index) + "]";
      const float worst = errors[i];
      switch (static_cast<Verdict>(verdicts[i])) {
        case Verdict::not_checked:
          if (!std::isnan(worst)) refuse(error + at_index, "NaN where nothing was checked", std::to_string(worst));
          continue;
        case Verdict::agreed:
          if (!(worst >= 0 && worst <= 1))
            refuse(error + at_index, "0 to 1 as the verdict says", std::to_string(worst));
          ++found.agreed;
          break;
        case Verdict::disagreed:  // the error may have been rounded to 1
          if (!(worst >= 1)) refuse(error + at_index, "more than 1 as the verdict says", std::to_string(worst));
          ++found.disagreed;
          break;
        default:
          refuse(verdict + at_index, "0, 1 or 2", std::to_string(verdicts[i]));
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
