#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <type_traits>

#include "app/cli/json_text.hpp"
#include "app/cli/quantities.hpp"
#include "app/commands/commands.hpp"
#include "app/report/provenance.hpp"
#include "app/report/set_json.hpp"
#include "app/report/summary.hpp"
#include "app/run/cut_into_blocks.hpp"
#include "app/run/stages.hpp"
#include "app/verification/byte_verdict.hpp"
#include "app/verification/outcome.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/text_streams.hpp"
#include "core/units.hpp"
#include "core/visible_text.hpp"
#include "io/format/byte_check.hpp"
#include "io/format/provenance_reader.hpp"
#include "io/integrity/row_hashes.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

namespace {

using Json = nlohmann::ordered_json;

/// Resources that a run of a problem file needs, with default options.
struct Needs {
  std::int64_t result_bytes = 0, memory_bytes = 0;  ///< memory: for the set with the largest blocks
  double systems = 0, pairs = 0, multiply_adds = 0;
};

template <class Ranges, class Bytes>
void add_blocks(Needs& needs, const Ranges& blocks, Bytes bytes_of) {
  std::int64_t largest = 0;
  for (const auto& range : blocks) largest = std::max(largest, bytes_of(range));
  const std::int64_t in_memory = std::min(static_cast<std::int64_t>(blocks.size()), StageThreads::blocks_in_memory(1));
  needs.memory_bytes = std::max(needs.memory_bytes, in_memory * largest);
}

void add(Needs& needs, const SolveSet& set) {
  needs.result_bytes += result_bytes(set);
  needs.systems += static_cast<double>(set.batch);
  const std::int64_t block_bytes = usual_block_bytes(set, cpu_block_bytes, hardware_threads(), true);
  add_blocks(needs, cut_into_blocks(set, block_bytes),
             [&](const SystemRange& range) { return range.count * bytes_per_system(set); });
}

void add(Needs& needs, const PotentialSet& set) {
  const ScalarType precision = RunOptions{}.precision;
  needs.result_bytes += result_bytes(set, precision);
  needs.pairs += pairs(set);
  add_blocks(needs, cut_into_blocks(set, precision, cpu_block_bytes, cpu_block_pairs),
             [&](const PlaneRange& range) { return bytes_per_block(set, range, precision); });
}

void add(Needs& needs, const PairEnergySet& set) {
  needs.result_bytes += result_bytes(set);
  needs.pairs += pairs(set);
  add_blocks(needs, cut_into_blocks(set, cpu_block_bytes, cpu_block_pairs),
             [&](const SystemRange& range) { return bytes_per_block(set, range); });
}

void add(Needs& needs, const CorrelationSet& set) {
  needs.result_bytes += result_bytes(set);
  needs.multiply_adds += multiply_adds(set);
  add_blocks(needs, cut_into_blocks(set, usual_block_bytes(set, cpu_block_bytes, hardware_threads())),
             [&](const SignalRange& range) { return bytes_per_block(set, range); });
}

/// Returns the end of a set's line, after its shape.
std::string unit_words(const SolveSet& /*set*/) { return ""; }
std::string unit_words(const CorrelationSet& set) {
  const ArrayLabels& labels = set.labels;
  std::string text;
  if (!labels.telescope.empty()) text += ", telescope " + visible_text(labels.telescope);
  if (!labels.phase_center.empty()) text += ", phased to " + visible_text(labels.phase_center);
  if (!labels.visibility_unit.empty()) text += ", in " + labels.visibility_unit;
  return text;
}
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

/// Returns how the file was made: a line for each fact of its provenance.
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

/// Returns the provenance, with the file's own keys.
Json origin_json(const std::string& path) {
  Json json = Json::object();
  for (const auto& [key, value] : read_provenance(path)) {
    const auto* const number = std::get_if<double>(&value);
    if (!number)
      json[key] = std::get<std::string>(value);
    else if (std::trunc(*number) == *number && !key.ends_with("_seconds"))
      json[key] = count_json<Json>(*number);
    else
      json[key] = *number;
  }
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
  for (const auto* sentences : {&reader.warnings(), &reader.notes()})
    for (const std::string& sentence : *sentences) text << "  note: " << sentence << "\n";
  text << "  running it needs " << bytes_text(static_cast<double>(needs.result_bytes)) << " of disk and about "
       << bytes_text(static_cast<double>(needs.memory_bytes)) << " of memory";
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
  return json_text(Json{{"command", "info"},
                        {"file", options.file},
                        {"kind", "problems"},
                        {"sets", sets},
                        {"warnings", reader.warnings()},
                        {"notes", reader.notes()},
                        {"provenance", origin_json(options.file)},
                        {"needs",
                         {{"result_bytes", needs.result_bytes},
                          {"memory_bytes", needs.memory_bytes},
                          {"systems", count_json<Json>(needs.systems)},
                          {"pairs", count_json<Json>(needs.pairs)},
                          {"multiply_adds", count_json<Json>(needs.multiply_adds)}}}});
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
    for (const char* key : {"storage", "uplo"}) json.erase(key);  // result files do not say how A was stored
    const VerificationSummary v = reader.verification(Set::kind, set.name);
    text << "  " << Set::kind << "/" << set.name << ": " << shape_words_of_results(set);
    if constexpr (std::is_same_v<Set, CorrelationSet>) text << unit_words(set);
    SetOutcome outcome;
    outcome.kind = Set::kind;
    outcome.count_statuses(reader, set_path(set), 0, set.batch);
    if constexpr (std::is_base_of_v<ChargesOfSet, Set>) outcome.keep_labels(set.labels);
    if (outcome.failed_count() > 0) text << "; " << outcome.failed_count() << " failed";
    text << "; ";
    if (v.checked > 0)
      text << "verified: " << v.agreed << " agree, " << v.disagreed << " disagree\n";
    else
      text << "not verified\n";
    text << failures_text(outcome);
    json["failed"] = failures_json(outcome);
    if (const auto hash = reader.problems_hash(Set::kind, set.name)) {
      json["problems_hash"] = problems_hash_text(*hash);
      text << "    hash of the problems " << problems_hash_text(*hash) << "\n";
    }
    if constexpr (std::is_same_v<Set, SolveSet>) {
      outcome.count_numbers(reader, set);
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
  Json json{{"command", "info"},
            {"file", options.file},
            {"kind", "results"},
            {"sets", sets},
            {"provenance", origin_json(options.file)}};
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
