#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "app/cli/interruption.hpp"
#include "app/cli/json_text.hpp"
#include "app/cli/output_check.hpp"
#include "app/commands/commands.hpp"
#include "app/report/provenance.hpp"
#include "app/report/set_json.hpp"
#include "core/error.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/interchange/h5md.hpp"
#include "io/interchange/molecule.hpp"
#include "io/problem_writer.hpp"

namespace smallbatch {

namespace {

using Vector = std::array<double, 3>;

/// Smallest box around some points.
struct Box {
  Vector low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
             std::numeric_limits<double>::infinity()};
  Vector high{-low[0], -low[1], -low[2]};
  void add(const std::vector<double>& position) {
    for (std::size_t i = 0; i < position.size(); ++i) {
      low[i % 3] = std::min(low[i % 3], position[i]);
      high[i % 3] = std::max(high[i % 3], position[i]);
    }
  }
  void add(const Box& other) {
    for (std::size_t a = 0; a < 3; ++a) {
      low[a] = std::min(low[a], other.low[a]);
      high[a] = std::max(high[a], other.high[a]);
    }
  }
  [[nodiscard]] double centre(std::size_t a) const { return high[a] >= low[a] ? (low[a] + high[a]) / 2 : 0; }
  [[nodiscard]] double extent(std::size_t a) const { return high[a] >= low[a] ? high[a] - low[a] : 0; }
};

/// The problems of all input files, one after the other.
class Source {
 public:
  explicit Source(const ImportOptions& options) : inputs_(options.inputs) {
    if (is_hdf5(inputs_[0])) {
      if (inputs_.size() > 1)
        throw Error(ErrorKind::usage, "import takes one H5MD file, or PQR files",
                    inputs_[0] + " and " + std::to_string(inputs_.size() - 1) + " more were given",
                    "Import them one by one.");
      std::optional<GivenCharges> given;
      if (!options.charges.empty()) {
        Molecule topology = read_pqr(options.charges);
        given = {options.charges, std::move(topology.charge), std::move(topology.atomic_number)};
      }
      trajectory_ = std::make_unique<H5mdReader>(inputs_[0], options.group, given);
      for (const std::string& warning : trajectory_->warnings()) spdlog::warn("{}", warning);
      labels_ = trajectory_->labels();
      return;
    }
    for (const auto& [name, value] : {std::pair{"--charges ", options.charges}, {"--group ", options.group}})
      if (!value.empty())
        throw Error(ErrorKind::usage, name + value + " applies only to an H5MD trajectory",
                    inputs_[0] + " is not one, or cannot be read", "Leave it out.");
    for (const std::string& input : inputs_) labels_.name.push_back(std::filesystem::path(input).stem().string());
    std::vector<std::string> names = labels_.name;
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      spdlog::warn("Several molecules are called {}: their files have the same name.", visible_text(*twice));
  }
  [[nodiscard]] std::int64_t size() const {
    return trajectory_ ? trajectory_->frames() : static_cast<std::int64_t>(inputs_.size());
  }
  [[nodiscard]] Molecule read(std::int64_t p) {
    if (!trajectory_) {
      const std::string& input = inputs_[static_cast<std::size_t>(p)];
      if (const auto kept = from_pipes_.find(p); kept != from_pipes_.end()) return kept->second;
      Molecule molecule = read_pqr(input);
      std::error_code unknown;
      if (!std::filesystem::is_regular_file(input, unknown)) from_pipes_[p] = molecule;
      return molecule;
    }
    return trajectory_->read(p);
  }
  /// Returns the names of molecules, or the steps and times of frames.
  [[nodiscard]] const ProblemLabels& labels() const { return labels_; }
  /// Names the file or frame that problem p comes from, for messages.
  [[nodiscard]] std::string text(std::int64_t p) const {
    return trajectory_ ? "frame " + std::to_string(p) + " of " + inputs_[0] : inputs_[static_cast<std::size_t>(p)];
  }

 private:
  std::vector<std::string> inputs_;
  std::unique_ptr<H5mdReader> trajectory_;
  std::map<std::int64_t, Molecule> from_pipes_;  ///< molecules from pipes, which can be read only once
  ProblemLabels labels_;
};

constexpr double most_points = 1 << 20;  // per axis, as for --shape

/// Lays a lattice over each box. All lattices have one shape. The options give spacing and shape; the default is 65
/// points per axis.
void place_lattice(const ImportOptions& options, const std::vector<Box>& boxes, PotentialSet& set) {
  const auto extent = [&](const Box& box, std::size_t a) { return box.extent(a) + 2 * options.margin; };
  std::array<std::int64_t, 3> shape{65, 65, 65};
  if (options.shape)
    shape = *options.shape;
  else if (options.spacing)
    for (std::size_t a = 0; a < 3; ++a) {
      double largest = 0;
      for (const Box& box : boxes) largest = std::max(largest, extent(box, a));
      const double steps = std::ceil(largest / *options.spacing);
      if (!(steps < most_points))
        throw Error(ErrorKind::usage, "--spacing " + std::to_string(*options.spacing) + " is too small",
                    std::to_string(largest) + " angstrom would take more than 1048576 points", "Use a larger one.");
      shape[a] = static_cast<std::int64_t>(steps) + 1;
    }
  set.shape = {shape[0], shape[1], shape[2]};

  for (const Box& box : boxes) {
    for (std::size_t a = 0; a < 3; ++a) {
      const double steps = static_cast<double>(shape[a] - 1), covered = extent(box, a);
      const double spacing = options.spacing ? *options.spacing : steps > 0 && covered > 0 ? covered / steps : 1.0;
      set.spacing.push_back(spacing);
      set.origin.push_back(options.origin ? (*options.origin)[a] : box.centre(a) - steps * spacing / 2);
    }
  }
}

/// Returns "2", or "1 to 2" if the numbers differ in the digits shown, or "nan" if one is NaN. Needs at least one
/// number.
std::string range_text(const std::vector<double>& numbers) {
  for (const double number : numbers)
    if (std::isnan(number)) return text_of(number);
  const auto [low, high] = std::ranges::minmax(numbers);
  return text_of(low) == text_of(high) ? text_of(low) : text_of(low) + " to " + text_of(high);
}

/// Returns the spacings along x, y and z.
std::string spacing_text(const std::vector<double>& spacing) {
  std::array<std::vector<double>, 3> along;
  for (std::size_t i = 0; i < spacing.size(); ++i) along[i % 3].push_back(spacing[i]);
  return range_text(along[0]) + ", " + range_text(along[1]) + ", " + range_text(along[2]);
}

}  // namespace

std::string import_charges(const ImportOptions& options, const std::string& command_line) {
  Source source(options);
  PotentialSet set;
  set.name = options.set;
  set.batch = source.size();
  set.labels = source.labels();
  set.output_unit = options.unit;
  set.temperature = options.temperature;
  ask(set, options.asked);
  const bool on_lattice = set.targets == TargetKind::lattice;
  set.offset.push_back(0);
  std::vector<Box> boxes(static_cast<std::size_t>(set.batch));
  std::vector<double> sums;  // total charge of each problem
  for (std::int64_t p = 0; p < set.batch;
       ++p) {  // a first pass finds the sizes, so that memory holds one problem at a time
    stop_if_interrupted();
    const Molecule molecule = source.read(p);
    for (const double coordinate : molecule.position)
      if (on_lattice && !std::isfinite(coordinate))
        throw Error(ErrorKind::bad_input, "no lattice can be laid around " + source.text(p),
                    "a position is NaN or infinite", "Correct the file.");
    boxes[static_cast<std::size_t>(p)].add(molecule.position);
    set.offset.push_back(set.offset.back() + static_cast<std::int64_t>(molecule.charge.size()));
    constexpr double shown = 1e-9;  // smaller sums are shown as 0, because charges that cancel leave rounding errors
    const double sum = std::accumulate(molecule.charge.begin(), molecule.charge.end(), 0.0);
    sums.push_back(std::abs(sum) < shown ? 0 : sum);
    set.has_atomic_numbers = set.has_atomic_numbers || !molecule.atomic_number.empty();
  }
  if (options.placement == LatticePlacement::common) {
    Box all;
    for (const Box& box : boxes) all.add(box);
    boxes.assign(boxes.size(), all);
  }
  if (on_lattice) place_lattice(options, boxes, set);

  for (const std::string& input : options.inputs) refuse_output_that_is_input(input, options.output);
  if (!options.charges.empty()) refuse_output_that_is_input(options.charges, options.output);
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  for (std::int64_t p = 0; p < set.batch; ++p) {
    stop_if_interrupted();
    const Molecule molecule = source.read(p);
    const std::int64_t first = set.offset[static_cast<std::size_t>(p)];
    writer.write_charges(set, first, molecule.position, molecule.charge);
    if (set.has_atomic_numbers) writer.write_atomic_numbers(set, first, molecule.atomic_number);
  }
  write_origin(writer, command_line, options.inputs);
  writer.commit();

  const bool is_one = !sums.empty() && range_text(sums) == text_of(sums.front());
  if (options.json) {
    SetJson json = json_of_made(options, set);
    json["total_charge"] = is_one ? sums.front() : std::numeric_limits<double>::quiet_NaN();
    return json_text(json);
  }
  TextWriter text;
  text << visible_text(options.output) << ": potential/" << set.name << ", " << set.batch
       << (set.batch == 1 ? " problem, " : " problems, ") << set.charges() << " charges";
  if (set.batch > 0) text << " (sum " << range_text(sums) << (set.batch == 1 ? " e)" : " e in each)");
  if (on_lattice) text << ", lattice " << set.shape.nx << "x" << set.shape.ny << "x" << set.shape.nz;
  if (on_lattice && set.batch > 0) text << " with spacing " << spacing_text(set.spacing) << " angstrom";
  text << "\n";
  return text.str();
}

}  // namespace smallbatch
