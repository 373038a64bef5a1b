#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <type_traits>

#include "app/byte_verdict.hpp"
#include "app/commands.hpp"
#include "app/cut_into_blocks.hpp"
#include "app/json_text.hpp"
#include "app/outcome.hpp"
#include "app/provenance.hpp"
#include "app/stages.hpp"
#include "app/summary.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/text_streams.hpp"
#include "core/units.hpp"
#include "core/visible_text.hpp"
#include "io/byte_check.hpp"
#include "io/problem_reader.hpp"
#include "io/provenance_reader.hpp"
#include "io/result_reader.hpp"
#include "io/row_hashes.hpp"

namespace smallbatch {

namespace {

using Json = nlohmann::ordered_json;

/// What running a problem file needs, with run's default options.
struct Needs {
  std::int64_t result_bytes = 0, block_bytes = 0;  ///< of the largest block
  double systems = 0, pairs = 0, multiply_adds = 0;
};

Json set_json(const SolveSet& set) {
  return {{"lane", "solve"},
          {"name", set.name},
          {"shape", shape_words(set)},
          {"batch", set.batch},
          {"n", set.shape.n},
          {"sizes", set.shape.has_sizes},
          {"nrhs", set.shape.nrhs},
          {"storage", set.shape.storage == Storage::packed_lower ? "packed_lower" : "dense"},
          {"uplo", set.shape.storage == Storage::dense ? "both" : "lower"},
          {"compute", set.shape.determinant_only  ? "log_determinant"
                      : set.shape.wants_inverse() ? "inverse"
                                                  : "solution"},
          {"type", set.type == ScalarType::float32 ? "float32" : "float64"}};
}

Json set_json(const PotentialSet& set) {
  Json json = {{"lane", "potential"},
               {"name", set.name},
               {"shape", shape_words(set)},
               {"batch", set.batch},
               {"targets", target_kind_name(set.targets)},
               {"field", set.has_field},
               {"energy", set.has_groups},
               {"softening", set.softening},
               {"cutoff", set.cutoff},
               {"dielectric", set.dielectric},
               {"output_unit", potential_unit_name(set.output_unit)}};
  if (set.targets == TargetKind::lattice)
    json["lattice"] = {set.shape.nx, set.shape.ny, set.shape.nz};
  else
    json["points"] = set.targets_before(set.batch);
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

Json set_json(const PairEnergySet& set) {
  Json json = {{"lane", "pair_energy"},        {"name", set.name},
               {"shape", shape_words(set)},    {"batch", set.batch},
               {"groups", set.has_groups},     {"per_charge", set.per_charge},
               {"softening", set.softening},   {"cutoff", set.cutoff},
               {"dielectric", set.dielectric}, {"output_unit", potential_unit_name(set.output_unit)}};
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

Json set_json(const CorrelationSet& set) {
  return {{"lane", "correlation"},
          {"name", set.name},
          {"shape", shape_words(set)},
          {"batch", set.batch},
          {"times", set.times},
          {"inputs", set.inputs},
          {"baselines", set.baselines()},
          {"type", sample_type_name(set.type)},
          {"integrate", set.integrate},
          {"integrations", set.integrations()},
          {"output", set.is_mean ? "mean" : "sum"},
          {"flags", set.has_flags}};
}

void add(Needs& needs, const SolveSet& set) {
  needs.result_bytes += result_bytes(set);
  needs.systems += static_cast<double>(set.batch);
  const std::int64_t block_bytes = usual_block_bytes(set, cpu_block_bytes, hardware_threads(), true);
  for (const SystemRange& range : cut_into_blocks(set, block_bytes))
    needs.block_bytes = std::max(needs.block_bytes, range.count * bytes_per_system(set));
}

void add(Needs& needs, const PotentialSet& set) {
  const ScalarType precision = RunOptions{}.precision;
  needs.result_bytes += result_bytes(set, precision);
  needs.pairs += pairs(set);
  for (const PlaneRange& range : cut_into_blocks(set, precision, cpu_block_bytes, cpu_block_pairs))
    needs.block_bytes = std::max(needs.block_bytes, bytes_per_block(set, range, precision));
}

void add(Needs& needs, const PairEnergySet& set) {
  needs.result_bytes += result_bytes(set);
  needs.pairs += pairs(set);
  for (const SystemRange& range : cut_into_blocks(set, cpu_block_bytes, cpu_block_pairs))
    needs.block_bytes = std::max(needs.block_bytes, bytes_per_block(set, range));
}

void add(Needs& needs, const CorrelationSet& set) {
  needs.result_bytes += result_bytes(set);
  needs.multiply_adds += multiply_adds(set);
  for (const SignalRange& range : cut_into_blocks(set, usual_block_bytes(set, cpu_block_bytes, hardware_threads())))
    needs.block_bytes = std::max(needs.block_bytes, bytes_per_block(set, range));
}

/// What a problem set's line says after its shape.
std::string unit_words(const SolveSet& /*set*/) { return ""; }
std::string unit_words(const CorrelationSet& /*set*/) { return ""; }
std::string unit_words(const PairEnergySet& set) {
  return ", energy in " + energy_unit_name(set.output_unit) +
         (set.particles.empty() ? "" : ", charges from /particles/" + set.particles);
}
std::string unit_words(const PotentialSet& set) {
  std::string text = ", V in " + potential_unit_name(set.output_unit);
  if (set.has_field) text += ", E in " + field_unit_name(set.output_unit);
  if (set.has_groups) text += ", energy in " + energy_unit_name(set.output_unit);
  if (!set.particles.empty()) text += ", charges from /particles/" + set.particles;
  return text;
}

/// How the file was made: a line for each thing that it says of that.
std::string origin_text(const std::string& path) {
  const std::vector<OriginLine> lines = origin_lines(read_provenance(path));
  if (lines.empty()) return "";
  std::size_t widest = 0;
  for (const OriginLine& line : lines) widest = std::max(widest, line.name.size());
  std::string text = "  made by\n";
  for (const auto& [name, value] : lines)
    text += "    " + name + std::string(widest - name.size() + 2, ' ') + value + "\n";
  return text;
}

/// The same as the file has it.
Json origin_json(const std::string& path) {
  Json json = Json::object();
  for (const auto& [key, value] : read_provenance(path))
    std::visit([&, &name = key](const auto& found) { json[name] = found; }, value);
  return json;
}

std::string problem_info(const InfoOptions& options) {
  const ProblemReader reader(options.file);
  Needs needs;
  Json sets = Json::array();
  TextWriter text;
  text << visible_text(options.file) << ": a problem file\n";
  for_each_set(reader.sets(), [&]<class Set>(const Set& set) {
    add(needs, set);
    sets.push_back(set_json(set));
    text << "  " << Set::kind << "/" << set.name << ": " << shape_words(set) << unit_words(set) << "\n";
  });
  const std::int64_t host_bytes = StageThreads::blocks_in_memory(1) * needs.block_bytes;
  for (const auto* sentences : {&reader.warnings(), &reader.notes()})
    for (const std::string& sentence : *sentences) text << "  note: " << sentence << "\n";
  text << "  running it needs " << bytes_text(static_cast<double>(needs.result_bytes)) << " of disk and about "
       << bytes_text(static_cast<double>(host_bytes)) << " of memory";
  const char* between = ", for ";
  for (const auto& [count, one, many] : {std::tuple{needs.systems, " system", " systems"},
                                         {needs.pairs, " pair of charge and target", " pairs of charge and target"},
                                         {needs.multiply_adds, " complex multiply-add", " complex multiply-adds"}}) {
    if (count == 0) continue;
    text << between << count << (count == 1 ? one : many);
    between = ", ";
  }
  text << "\n";
  if (!options.json) return text.str() + origin_text(options.file);
  return json_text(Json{{"file", options.file},
                        {"kind", "problems"},
                        {"sets", sets},
                        {"warnings", reader.warnings()},
                        {"notes", reader.notes()},
                        {"provenance", origin_json(options.file)},
                        {"needs",
                         {{"result_bytes", needs.result_bytes},
                          {"memory_bytes", host_bytes},
                          {"systems", needs.systems},
                          {"pairs", needs.pairs},
                          {"multiply_adds", needs.multiply_adds}}}});
}

std::string result_info(const InfoOptions& options) {
  ByteCheck check;
  const auto take = [&](const ByteCheck& found) {
    check = found;
    refuse_unless_as_written(options.file, check);
  };
  const ResultReader reader = options.check ? ResultReader(options.file, 0, {}, take) : ResultReader(options.file);
  Json sets = Json::array();
  TextWriter text;
  text << visible_text(options.file) << ": a result file";
  for (const char* key : {"program", "created", "device"})
    if (const std::string value = visible_text(reader.provenance(key)); !value.empty()) text << ", " << value;
  text << "\n";
  for_each_set(reader.sets(), [&]<class Set>(const Set& set) {
    Json json = set_json(set);
    json["shape"] = shape_words_of_results(set);
    for (const char* key : {"storage", "uplo"}) json.erase(key);  // results do not say how A lies
    const VerificationSummary v = reader.verification(Set::kind, set.name);
    text << "  " << Set::kind << "/" << set.name << ": " << shape_words_of_results(set) << "; ";
    if (v.checked > 0)
      text << "verified: " << v.agreed << " agree, " << v.disagreed << " disagree\n";
    else
      text << "not verified\n";
    if (const auto hash = reader.problems_hash(Set::kind, set.name)) {
      json["problems_hash"] = problems_hash_text(*hash);
      text << "    hash of the problems " << problems_hash_text(*hash) << "\n";
    }
    if constexpr (std::is_same_v<Set, SolveSet>) {
      SetOutcome outcome;
      outcome.count_repairs(reader, set);
      if (outcome.repaired_pivots > 0)
        text << "    " << repairs_text(outcome, reader.provenance_number("pivot_floor")) << "\n";
      json["repaired_pivots"] = outcome.repaired_pivots;
      json["repaired_systems"] = outcome.repaired_systems;
      json["largest_perturbation"] = outcome.largest_perturbation;
    }
    json["verification"] = {{"criterion", v.criterion},
                            {"checked", v.checked},
                            {"agreed", v.agreed},
                            {"disagreed", v.disagreed},
                            {"worst_error_over_bound", v.worst_error_over_bound},
                            {"worst_index", v.worst_index}};
    sets.push_back(std::move(json));
  });
  if (options.check) text << "  " << check_words(check) << "\n";
  if (!options.json) return text.str() + origin_text(options.file);
  Json json{{"file", options.file}, {"kind", "results"}, {"sets", sets}, {"provenance", origin_json(options.file)}};
  if (options.check) json["check"] = {{"datasets", check.datasets}, {"bytes", check.bytes}};
  return json_text(json);
}

}  // namespace

std::string info(const InfoOptions& options) {
  if (is_result_file(options.file)) return result_info(options);
  if (options.check)
    throw Error(ErrorKind::bad_input, "the bytes of " + options.file + " cannot be checked",
                "problem files have no checksums", "Leave out --check.");
  return problem_info(options);
}

}  // namespace smallbatch
