#include "app/report/summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/cli/json_text.hpp"
#include "app/cli/quantities.hpp"
#include "app/report/set_json.hpp"
#include "core/parallel.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"

namespace smallbatch {

const KindWords& words_of(const SetOutcome& set) {
  static const std::map<std::string, KindWords> kinds{
      {SolveSet::kind, {"solved", "systems", "systems", describe_spd_info, nullptr, nullptr}},
      {PotentialSet::kind, {"evaluated", "pairs", "pairs", describe_potential_info, "points", "points_checked"}},
      {PairEnergySet::kind, {"summed", "pairs", "pairs", describe_pair_energy_info, nullptr, nullptr}},
      {CorrelationSet::kind,
       {"correlated", "complex multiply-adds", "multiply_adds", describe_correlation_info, "visibilities",
        "visibilities_checked"}}};
  return kinds.at(set.kind);
}

namespace {

using Json = nlohmann::ordered_json;

/// Returns "3" or "3 (lysozyme)".
std::string index_text(const SetOutcome& set, std::int64_t index) {
  const auto label = set.labels.find(index);
  return std::to_string(index) + (label == set.labels.end() ? "" : " (" + label->second + ")");
}

/// Returns " (at index 3, 17, ...)".
std::string first_failed_text(const SetOutcome& set, std::int32_t status, std::int64_t count) {
  const auto found = set.first_failed.find(status);
  if (found == set.first_failed.end()) return "";
  std::string text;
  for (const std::int64_t index : found->second) text += (text.empty() ? "" : ", ") + index_text(set, index);
  return " (at index " + text + (count > static_cast<std::int64_t>(found->second.size()) ? ", ...)" : ")");
}

std::string verdict_text(const SetOutcome& set) {
  const VerificationSummary& v = set.verification;
  if (v.checked == 0) return set.batch == 0 ? "nothing to verify" : "not verified";
  std::string text = std::to_string(v.agreed) + " of " + std::to_string(set.batch) + " agree with the referee";
  if (const char* values = words_of(set).values)
    text += " (" + std::to_string(set.values_checked) + " " + values + " compared)";
  if (v.disagreed > 0) text += ", " + std::to_string(v.disagreed) + " DISAGREE";
  if (!set.has_compared_numbers()) return text;
  return text + "; largest error " + formatted("%.3g", v.worst_error_over_bound) + " of its error bound (at index " +
         index_text(set, v.worst_index) + ")";
}

/// Returns "backward error at most 7.7e-08 (1.3 u, u = 2^-24), rcond at least 0.00023, ...". Empty if nothing was
/// solved.
std::string numbers_text(const SetOutcome& set, double pivot_floor) {
  std::string text;
  if (set.worst_backward_error) {
    const bool is_single = set.type == ScalarType::float32;
    text = "backward error at most " + formatted("%.2g", *set.worst_backward_error * (is_single ? 0x1p-24 : 0x1p-53)) +
           " (" + formatted("%.3g", *set.worst_backward_error) + " u, u = " + (is_single ? "2^-24)" : "2^-53)");
  }
  if (set.smallest_rcond)
    text += (text.empty() ? "" : ", ") + ("rcond at least " + formatted("%.3g", *set.smallest_rcond));
  if (const std::string repairs = repairs_text(set, pivot_floor); !repairs.empty()) text += ", " + repairs;
  return text;
}

/// Returns "V from -2.1 to 3.4 volt, E in volt/angstrom" or "interaction energy from -3 to -1 kT".
std::string potential_text(const SetOutcome& set) {
  const auto range = [](const std::array<double, 2>& ends, const std::string& unit) {
    const std::string low = formatted("%.6g", ends[0]), high = formatted("%.6g", ends[1]);
    return (low == high ? " " + low : " from " + low + " to " + high) + " " + unit;
  };
  std::string text;
  if (set.potential_range) text = "V" + range(*set.potential_range, potential_unit_name(set.unit));
  if (set.potential_range && set.has_field) text += ", E in " + field_unit_name(set.unit);
  if (set.energy_range)
    text += (text.empty() ? "" : ", ") +
            std::string(set.kind == PairEnergySet::kind ? "pair energy" : "interaction energy") +
            range(*set.energy_range, energy_unit_name(set.unit));
  return text;
}

/// Returns null if there is no number. The library writes NaN as null too.
Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json range_json(const std::optional<std::array<double, 2>>& range, const std::string& unit) {
  if (!range) return nullptr;
  return {{"unit", unit}, {"lowest", (*range)[0]}, {"highest", (*range)[1]}};
}

}  // namespace

std::string failures_text(const SetOutcome& set) {
  std::string text;
  for (const auto& [status, count] : set.failed)
    text += "    " + std::to_string(count) + " with status " + std::to_string(status) + ": " +
            words_of(set).describe(status) + first_failed_text(set, status, count) + "\n";
  return text;
}

SetJson failures_json(const SetOutcome& set) {
  SetJson failed = SetJson::array();
  for (const auto& [status, count] : set.failed) {
    SetJson entry = {{"status", status}, {"meaning", words_of(set).describe(status)}, {"count", count}};
    if (set.first_failed.contains(status)) entry["first"] = set.first_failed.at(status);
    failed.push_back(std::move(entry));
  }
  return failed;
}

std::string repairs_text(const SetOutcome& set, double pivot_floor) {
  if (set.repaired_pivots == 0) return "";
  return std::to_string(set.repaired_pivots) + (set.repaired_pivots == 1 ? " pivot" : " pivots") + " of " +
         std::to_string(set.repaired_systems) + (set.repaired_systems == 1 ? " system" : " systems") +
         " raised to the floor of " + formatted("%g", pivot_floor) + ", by at most " +
         formatted("%.3g", set.largest_perturbation) + " of a diagonal element";
}

std::vector<Stage> stages_of(const RunReport& report) {
  const StageSeconds& s = report.seconds;
  double checked = 0;
  std::map<std::string, double> work_of_unit;
  for (const SetOutcome& set : report.sets) {
    const KindWords& kind = words_of(set);
    work_of_unit[kind.work] += set.work;
    checked += static_cast<double>(kind.values ? set.values_checked : set.verification.checked);
  }
  std::string unit = "systems";  // or the unit of the heaviest work that was done
  for (const char* heavier : {"complex multiply-adds", "pairs"})
    if (work_of_unit[heavier] > 0) unit = heavier;
  const double work = work_of_unit[unit];
  std::vector<Stage> stages{
      {"set-up", s.set_up, 0, "", "put small jobs into one file, because a run opens files and lays out results once"},
      {"start", s.start, 0, "",
       "use --device cpu for small jobs, or put them into one file: a GPU starts once in a run"},
      {"read", s.read, report.problem_bytes, "bytes",
       "store packed triangles or narrower samples; use a faster disk, or a file in the disk cache"}};
  if (report.on_gpus) {
    stages.push_back({"copy", s.compute - s.kernels, report.problem_bytes + report.result_bytes, "bytes",
                      "store packed triangles or float32, which are half as large; use several GPUs"});
    stages.push_back({"kernels", s.kernels, work, unit, "use several GPUs: --device cuda:all"});
  } else {
    stages.push_back({"compute", s.compute, work, unit, "use a GPU, or more cores"});
  }
  stages.push_back({"verify", s.verify, checked, "answers", "use --verify sample=N, or more cores"});
  stages.push_back({"write", s.write, report.result_bytes, "bytes", "use a faster disk"});
  return stages;
}

const Stage* slowest_stage(const std::vector<Stage>& stages, double total) {
  const auto longest = std::ranges::max_element(stages, {}, &Stage::seconds);
  return longest->seconds > 0 && 2 * longest->seconds >= total ? &*longest : nullptr;
}

std::string stage_rate(const Stage& stage, double seconds) {
  return stage.unit == "bytes" ? bytes_text(stage.amount / seconds) + "/s"
                               : rate_text(stage.amount / seconds, stage.unit);
}

namespace {

void put_set(TextWriter& text, const RunReport& report, const SetOutcome& set) {
  const KindWords& kind = words_of(set);
  text << set.kind << "/" << set.name << ": " << set.shape << "\n";
  if (!report.device.empty() && set.compute_seconds > 0)
    text << "  computed in " << seconds_text(set.compute_seconds) << ", "
         << rate_text(set.work / set.compute_seconds, kind.work) << " (" << report.computer(set.kind) << ")\n";
  const std::int64_t failed = set.failed_count();
  text << "  " << (set.batch - failed) << " " << kind.done << ", " << failed << " failed\n";
  text << failures_text(set);
  if (const std::string cause = set.likely_cause(); !cause.empty()) text << "  likely cause: " << cause << "\n";
  if (const std::string numbers = numbers_text(set, report.pivot_floor); !numbers.empty())
    text << "  " << numbers << "\n";
  if (const std::string values = potential_text(set); !values.empty()) text << "  " << values << "\n";
  if (set.singular > 0)
    text << (set.kind == PairEnergySet::kind      ? "    pairs at one position: "
             : set.targets == TargetKind::lattice ? "    charges on lattice points: "
                                                  : "    targets on charges: ")
         << set.singular << "\n";
  text << "  " << verdict_text(set) << "\n";
}

}  // namespace

std::string report_text(const RunReport& report) {
  // There may be very many sets, so threads write parts of the text.
  constexpr std::int64_t sets_of_part = 1000;
  const auto count = static_cast<std::int64_t>(report.sets.size());
  std::vector<std::string> parts(static_cast<std::size_t>((count + sets_of_part - 1) / sets_of_part));
  parallel_for(count, sets_of_part, 0, [&](std::int64_t first, std::int64_t last) {
    TextWriter part;
    for (std::int64_t k = first; k < last; ++k) put_set(part, report, report.sets[static_cast<std::size_t>(k)]);
    parts[static_cast<std::size_t>(first / sets_of_part)] = part.str();
  });
  TextWriter text;
  for (const std::string& part : parts) text << part;
  if (!report.device.empty()) {
    const std::vector<Stage> stages = stages_of(report);
    const double total = report.seconds.total;
    text << "device: " << report.device << "\n"
         << "time: " << seconds_text(total);
    if (const Stage* const slowest = slowest_stage(stages, total))
      text << "; slowest stage: " << slowest->name << " (to speed it up: " << slowest->remedy << ")";
    text << "\n";
    for (const Stage& stage : stages) {
      if (stage.seconds <= 0) continue;
      text << "  " << stage.name << " " << seconds_text(stage.seconds);
      if (stage.amount > 0)
        text << ": " << stage_rate(stage, stage.seconds) << " in this stage, " << stage_rate(stage, total)
             << " over the whole run";
      text << "\n";
    }
    text << "results: " << visible_text(report.results) << "\n";
  }
  return text.str();
}

std::string report_line(const RunReport& report) {
  std::int64_t problems = 0, failed = 0, agreed = 0, disagreed = 0;
  for (const SetOutcome& set : report.sets) {
    problems += set.batch;
    failed += set.failed_count();
    agreed += set.verification.agreed;
    disagreed += set.verification.disagreed;
  }
  TextWriter text;
  text << visible_text(report.results) << ": " << problems << (problems == 1 ? " problem in " : " problems in ")
       << report.sets.size() << (report.sets.size() == 1 ? " set, " : " sets, ") << failed << " failed, ";
  if (agreed + disagreed == 0) text << "none verified";
  if (agreed > 0) text << agreed << " agree with the referee";
  if (disagreed > 0) text << (agreed > 0 ? ", " : "") << disagreed << " DISAGREE";
  text << "\n";
  return text.str();
}

std::string report_json(const RunReport& report) {
  const bool has_run = !report.device.empty();  // false for `verify`
  Json sets = Json::array();
  for (const SetOutcome& set : report.sets) {
    const KindWords& kind = words_of(set);
    const VerificationSummary& v = set.verification;
    Json entry = begin_set_json(set.kind.c_str(), set.name, set.shape, set.batch);
    entry["failed"] = failures_json(set);
    entry["likely_cause"] = text_json(set.likely_cause());
    entry["verification"] = {{"criterion", v.criterion},
                             {"checked", v.checked},
                             {"agreed", v.agreed},
                             {"disagreed", v.disagreed},
                             {"worst_index", v.worst_index},
                             // JSON has no infinity. The library writes null for an infinite error.
                             {"worst_error_over_bound", v.worst_error_over_bound}};
    if (set.kind == "solve") {
      entry["worst_backward_error_in_roundoffs"] = optional_json(set.worst_backward_error);
      entry["smallest_rcond"] = optional_json(set.smallest_rcond);
      entry["repaired_pivots"] = set.repaired_pivots;
      entry["repaired_systems"] = set.repaired_systems;
      entry["largest_perturbation"] = set.largest_perturbation;
    }
    if (set.kind == "potential") {
      entry["targets"] = target_kind_name(set.targets);
      entry["field"] = set.has_field;
      entry["V"] = range_json(set.potential_range, potential_unit_name(set.unit));
      entry["energy"] = range_json(set.energy_range, energy_unit_name(set.unit));
      entry[set.targets == TargetKind::lattice ? "charges_on_lattice_points" : "targets_on_charges"] = set.singular;
    }
    if (set.kind == PairEnergySet::kind) {
      entry["energy"] = range_json(set.energy_range, energy_unit_name(set.unit));
      entry["pairs_on_one_place"] = set.singular;
    }
    for (const auto& [index, label] : set.labels) entry["labels"][std::to_string(index)] = label;
    if (kind.values) entry["verification"][kind.json_values] = set.values_checked;
    if (has_run) {
      entry["compute_seconds"] = set.compute_seconds;
      entry[kind.json_work] = count_json<Json>(set.work);
    }
    sets.push_back(std::move(entry));
  }
  Json json = {{"command", report.command},
               {"all_right", report.all_right()},
               {"problems", report.problems},
               {"results", report.results},
               {"verify", report.verify_mode},
               {"pivot_floor", report.has(SolveSet::kind) ? Json(report.pivot_floor) : Json(nullptr)},
               {"sets", sets}};
  if (has_run) {
    json["device"] = report.device;
    for (const auto& [kind, key, things] : computers_of_kinds)
      json[key] = report.has(kind) ? text_json(report.computer(kind)) : Json(nullptr);
    const StageSeconds& s = report.seconds;
    const std::vector<Stage> stages = stages_of(report);
    const Stage* const slowest = slowest_stage(stages, s.total);
    json["bound_by"] = slowest ? Json(slowest->name) : Json(nullptr);
    json["problem_bytes"] = count_json<Json>(report.problem_bytes);
    json["result_bytes"] = count_json<Json>(report.result_bytes);
    json["seconds"] = nullptr;  // stays null for a merged file, because its shares took the time
    if (s.total > 0)
      json["seconds"] = {{"total", s.total},     {"set_up", s.set_up},   {"start", s.start},   {"read", s.read},
                         {"compute", s.compute}, {"kernels", s.kernels}, {"verify", s.verify}, {"write", s.write}};
    json["was_complete"] = report.was_complete;
    json["shares"] = report.merged_shares > 0 ? Json(report.merged_shares) : Json(nullptr);
  }
  return json_text(json);
}

}  // namespace smallbatch
