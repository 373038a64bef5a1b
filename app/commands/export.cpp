#include <algorithm>

#include "app/cli/json_text.hpp"
#include "app/cli/version.hpp"
#include "app/commands/commands.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/set_json.hpp"
#include "core/error.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/interchange/uvh5.hpp"
#include "io/picture/visibility_picture.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

namespace {

/// Returns whether the set has this name. "kind/name" is accepted too, because sets of several kinds may share a name.
template <class Set>
bool is_named(const Set& set, const std::string& name) {
  return set.name == name || std::string(Set::kind) + "/" + set.name == name;
}

/// Returns the set with this name, or the only set if the name is empty. Error messages call the
/// contents of sets `things`.
template <class Set>
const Set& choose_set(const ProblemSets& all, const std::string& things, const std::string& name,
                      const std::string& path) {
  const std::string kind = Set::kind;
  const auto& sets = std::get<std::vector<Set>>(all);
  std::string names;
  for (const Set& set : sets) {
    if (is_named(set, name)) return set;
    names += (names.empty() ? "" : ", ") + set.name;
  }
  if (sets.empty()) {
    std::string held;
    for_each_set(all, [&](const auto& set) { held += (held.empty() ? "" : ", ") + set_path(set).substr(1); });
    throw Error(
        ErrorKind::bad_input, path + " holds no " + things, held.empty() ? "it holds no sets" : "it holds " + held,
        "Export lattices of potential sets, or visibilities of correlation sets; read other numbers with h5py.");
  }
  if (name.empty() && sets.size() == 1) return sets[0];
  throw Error(
      ErrorKind::usage,
      (name.empty() ? "several " + kind + " sets are in " + path : path + " holds no " + kind + " set '" + name + "'"),
      "it holds " + names, "Name one with --set.");
}

const std::string potential_maps = "potential maps";

[[noreturn]] void refuse_index(const std::string& what, std::int64_t found, std::int64_t count) {
  throw Error(ErrorKind::usage, what + " " + std::to_string(found) + " does not exist",
              "there are " + std::to_string(count),
              count > 0 ? "Take one from 0 to " + std::to_string(count - 1) + "." : "Export another set.");
}

const std::string visibilities = "visibilities";

/// Returns the line, or the JSON, about a written file. `index` is the problem or integration in the file. It is empty
/// if the file has all integrations.
template <class Set>
std::string said_of(const ExportOptions& options, const Set& set, std::optional<std::int64_t> index,
                    const std::string& words) {
  if (!options.json) return visible_text(options.output) + ": " + words + "\n";
  return json_text(SetJson{{"command", "export"},
                           {"results", options.results},
                           {"output", options.output},
                           {"set", set_json(set)},
                           {"index", index ? SetJson(*index) : SetJson(nullptr)},
                           {"description", words}});
}

std::string export_uvh5(const ExportOptions& options) {
  const ResultReader results(options.results, 0, ResultReader::Bytes::compared);
  const CorrelationSet& set = choose_set<CorrelationSet>(results.sets(), visibilities, options.set, options.results);
  const std::string assumed =
      write_uvh5(options.output, results, set, std::string("smallbatch ") + version_text + ", correlation/" + set.name,
                 options.overwrite);
  TextWriter text;
  text << "correlation/" << set.name << ", " << set.inputs << " inputs, " << set.batch << " channels, "
       << set.integrations() << " integrations" << assumed;
  return said_of(options, set, {}, text.str());
}

/// Returns whether the set to be drawn has visibilities. If a potential set has the same name, that set is drawn.
bool are_visibilities(const ResultReader& results, const std::string& name) {
  const auto has = [&](const auto& sets) {
    return std::any_of(sets.begin(), sets.end(), [&](const auto& set) { return name.empty() || is_named(set, name); });
  };
  if (results.potential_sets().empty()) return !results.correlation_sets().empty();
  return has(results.correlation_sets()) && !has(results.potential_sets());
}

std::string draw_visibilities(const ExportOptions& options, const ResultReader& results) {
  const CorrelationSet& set = choose_set<CorrelationSet>(results.sets(), visibilities, options.set, options.results);
  if (!options.of_slices.empty())
    throw Error(ErrorKind::usage, options.of_slices.front() + " applies to slices of potential maps",
                "correlation/" + set.name + " holds visibilities, and their picture shows all of them",
                "Leave it out.");
  const std::string title = "correlation/" + set.name + " integration " + std::to_string(options.index) + ", |V|";
  const MagnitudeMap map = read_magnitudes(results, set, options.index);
  const VisibilityColours colours =
      write_visibility_picture(options.output, map, set.frequency, title, options.overwrite);
  TextWriter text;
  text << title << ", " << set.baselines() << " baselines x " << set.batch << " channels; colours from "
       << colours.lowest << " to " << colours.highest << (colours.is_logarithmic ? ", logarithmic" : "");
  if (colours.below > 0)
    text << "; " << colours.below << (colours.below == 1 ? " cell" : " cells") << " below that, of which "
         << colours.zeros << (colours.zeros == 1 ? " is 0" : " are 0");
  if (colours.infinite > 0)
    text << "; " << colours.infinite << (colours.infinite == 1 ? " cell" : " cells") << " infinite";
  return said_of(options, set, options.index, text.str());
}

}  // namespace

std::string export_map(const ExportOptions& options) {
  if (options.output.ends_with(uvh5_ending)) return export_uvh5(options);
  const MapFormat& format = map_format_of(options.output);
  const ResultReader results(options.results, 0, ResultReader::Bytes::compared);
  if (options.output.ends_with(visibility_picture_ending) && are_visibilities(results, options.set))
    return draw_visibilities(options, results);
  const PotentialSet& set = choose_set<PotentialSet>(results.sets(), potential_maps, options.set, options.results);
  if (set.targets != TargetKind::lattice)
    throw Error(ErrorKind::bad_input, "potential/" + set.name + " of " + options.results + " cannot be exported",
                std::string("V is at ") + (set.targets == TargetKind::points ? "points" : "the charges") +
                    ", but a map needs a lattice",
                "Read V with h5py instead.");
  if (options.index < 0 || options.index >= set.batch) refuse_index("--index", options.index, set.batch);

  const auto first = static_cast<std::size_t>(3 * options.index);
  LatticeMap map;
  map.shape = set.shape;
  for (std::size_t a = 0; a < 3; ++a) {
    map.origin[a] = set.origin[first + a];
    map.spacing[a] = set.spacing[first + a];
  }
  const std::string label = label_of(set.labels, options.index);
  map.title = "potential/" + set.name + " problem " + std::to_string(options.index) +
              (label.empty() ? "" : " (" + label + ")") + ", " + potential_unit_name(set.output_unit);
  map.unit = potential_unit_name(set.output_unit);
  const std::vector<double> values = results.read_potential(set, options.index, 0, set.shape.nz);
  map.values = values;

  PotentialBlock<double> charges;
  std::vector<std::int8_t> atomic_number;
  if (!options.problems.empty()) {
    const ProblemReader problems(options.problems);
    if (is_another_input(options.problems, results.provenance("input_hash")))
      throw Error(ErrorKind::bad_input, options.problems + " is not the problem file of " + options.results,
                  "its hash differs from that of the file that was run", "Name that file, or leave out --problems.");
    const PotentialSet& source = choose_set<PotentialSet>(problems.sets(), potential_maps, set.name, options.problems);
    if (options.index >= source.batch) refuse_index("--index", options.index, source.batch);
    problems.read(source, options.index, 1, charges);
    atomic_number = problems.atomic_numbers(source, options.index);
  }
  const MapExtras extras{charges.position, charges.charge, atomic_number, options.axis, options.slice};
  TextWriter text;
  text << map.title << ", " << set.shape.nx << "x" << set.shape.ny << "x" << set.shape.nz
       << (set.shape.points() == 1 ? " point" : " points")
       << format.write(options.output, map, extras, options.overwrite);
  return said_of(options, set, options.index, text.str());
}

}  // namespace smallbatch
