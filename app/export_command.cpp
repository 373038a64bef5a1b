#include <sstream>

#include "app/commands.hpp"
#include "core/error.hpp"
#include "io/lattice_export.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

namespace {

/// The set that was named, or the only one.
const PotentialSet& choose_set(const std::vector<PotentialSet>& sets, const std::string& name,
                               const std::string& path) {
  std::string names;
  for (const PotentialSet& set : sets) {
    if (set.name == name) return set;
    names += (names.empty() ? "" : ", ") + set.name;
  }
  if (sets.empty())
    throw Error(ErrorKind::bad_input, path + " holds no potential maps", "only /potential sets can be exported",
                "Name a result file of such a set.");
  if (name.empty() && sets.size() == 1) return sets[0];
  throw Error(
      ErrorKind::usage,
      (name.empty() ? "several potential sets are in " + path : path + " holds no potential set '" + name + "'"),
      "it holds " + names, "Name one with --set.");
}

[[noreturn]] void refuse_index(const std::string& what, std::int64_t found, std::int64_t count) {
  throw Error(ErrorKind::usage, what + " " + std::to_string(found) + " does not exist",
              "there are " + std::to_string(count),
              count > 0 ? "Take one from 0 to " + std::to_string(count - 1) + "." : "Export another set.");
}

}  // namespace

std::string export_map(const ExportOptions& options) {
  const MapFormat& format = map_format_of(options.output);
  const ResultReader results(options.results);
  const PotentialSet& set = choose_set(results.potential_sets(), options.set, options.results);
  if (set.targets != TargetKind::lattice)
    throw Error(ErrorKind::bad_input, "potential/" + set.name + " of " + options.results + " cannot be exported",
                std::string("V is at ") + (set.targets == TargetKind::points ? "points" : "the charges") +
                    ", a map needs a lattice",
                "Read V with h5py instead.");
  if (options.index < 0 || options.index >= set.batch) refuse_index("--index", options.index, set.batch);

  const auto first = static_cast<std::size_t>(3 * options.index);
  LatticeMap map;
  map.shape = set.shape;
  for (std::size_t a = 0; a < 3; ++a) {
    map.origin[a] = set.origin[first + a];
    map.spacing[a] = set.spacing[first + a];
  }
  map.title = "smallbatch potential/" + set.name + " problem " + std::to_string(options.index) + ", " +
              potential_unit_name(set.output_unit);
  const std::vector<double> values = results.read_potential(set, options.index, 0, set.shape.nz);
  map.values = values;

  PotentialBlock<double> charges;
  if (!options.problems.empty()) {
    const ProblemReader problems(options.problems);
    const PotentialSet& source = choose_set(problems.potential_sets(), set.name, options.problems);
    if (options.index >= source.batch) refuse_index("--index", options.index, source.batch);
    problems.read(source, options.index, 1, charges);
  }
  const MapExtras extras{charges.position, charges.charge, options.axis, options.slice};
  std::ostringstream text;
  text << options.output << ": " << map.title << ", " << set.shape.nx << "x" << set.shape.ny << "x" << set.shape.nz
       << " points" << format.write(options.output, map, extras, options.overwrite) << "\n";
  return text.str();
}

}  // namespace smallbatch
