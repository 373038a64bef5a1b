#include "app/messages.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace smallbatch {
namespace {

using Json = nlohmann::json;

// CBOR rather than text: names need not be UTF-8, and numbers stay what they are.
std::string text_of(const Json& json) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

Json to_json(const SetOutcome& set, std::int64_t start) {
  const VerificationSummary& v = set.verification;
  Json json = {{"start", start},
               {"batch", set.batch},
               {"failed", set.failed},
               {"first_failed", set.first_failed},
               {"singular", set.singular},
               {"repaired_pivots", set.repaired_pivots},
               {"repaired_systems", set.repaired_systems},
               {"largest_perturbation", set.largest_perturbation},
               {"checked", v.checked},
               {"agreed", v.agreed},
               {"disagreed", v.disagreed},
               {"worst_error", v.worst_error_over_bound},
               {"worst_index", v.worst_index},
               {"values_checked", set.values_checked},
               {"compute_seconds", set.compute_seconds},
               {"work", set.work}};
  for (const auto count : failure_counts) json["signs"].push_back(set.signs.*count);
  json["largest_asymmetry"] = set.signs.largest_asymmetry;
  for (const auto& [index, label] : set.labels) json["labels"].push_back({index, label});
  if (set.worst_backward_error) json["backward_error"] = *set.worst_backward_error;
  if (set.smallest_rcond) json["rcond"] = *set.smallest_rcond;
  if (set.potential_range) json["potential"] = *set.potential_range;
  if (set.energy_range) json["energy"] = *set.energy_range;
  return json;
}

/// Of shares that all have the members that do not depend on which problems they are.
void add(SetOutcome& set, const Json& json) {
  SetOutcome more = set;
  more.failed = json["failed"].get<std::map<std::int32_t, std::int64_t>>();
  more.first_failed = json["first_failed"].get<std::map<std::int32_t, std::vector<std::int64_t>>>();
  more.labels.clear();
  if (json.contains("labels"))
    for (const Json& label : json["labels"]) more.labels[label[0].get<std::int64_t>()] = label[1].get<std::string>();
  more.batch = json["batch"];
  more.singular = json["singular"];
  more.repaired_pivots = json["repaired_pivots"];
  more.repaired_systems = json["repaired_systems"];
  more.largest_perturbation = json["largest_perturbation"];
  more.verification.checked = json["checked"];
  more.verification.agreed = json["agreed"];
  more.verification.disagreed = json["disagreed"];
  more.verification.worst_error_over_bound = json["worst_error"];
  more.verification.worst_index = json["worst_index"];
  more.values_checked = json["values_checked"];
  more.compute_seconds = json["compute_seconds"];
  more.work = json["work"];
  for (std::size_t k = 0; k < failure_counts.size(); ++k) more.signs.*failure_counts[k] = json["signs"].at(k);
  more.signs.largest_asymmetry = json["largest_asymmetry"];
  const auto number = [&](const char* name) {
    return json.contains(name) ? std::optional<double>(json[name].get<double>()) : std::nullopt;
  };
  more.worst_backward_error = number("backward_error");
  more.smallest_rcond = number("rcond");
  const auto range = [&](const char* name) {
    return json.contains(name) ? std::optional(json[name].get<std::array<double, 2>>()) : std::nullopt;
  };
  more.potential_range = range("potential");
  more.energy_range = range("energy");
  set.add(more, json["start"]);
}

}  // namespace

std::string to_message(const OutputLayout& layout) {
  Json datasets = Json::array();
  for (const auto& [name, type, shape, address] : layout.datasets) datasets.push_back({name, type, shape, address});
  return text_of({{"path", layout.path}, {"temporary", layout.temporary}, {"datasets", datasets}});
}

OutputLayout layout_of(const std::string& message) {
  const Json json = Json::from_cbor(message);
  OutputLayout layout{json["path"], json["temporary"], {}};
  for (const Json& dataset : json["datasets"])
    layout.datasets.push_back({dataset[0], dataset[1], dataset[2].get<std::vector<std::int64_t>>(), dataset[3]});
  return layout;
}

std::string to_message(const ShareOutcome& outcome) {
  Json sets = Json::array();
  for (std::size_t k = 0; k < outcome.sets.size(); ++k) sets.push_back(to_json(outcome.sets[k], outcome.starts[k]));
  const StageSeconds& s = outcome.seconds;
  Json written = Json::array();  // names need not be fit for keys
  for (const auto& [name, elements] : outcome.written) written.push_back({name, elements});
  return text_of(
      {{"sets", sets}, {"written", written}, {"seconds", {s.start, s.read, s.compute, s.verify, s.write, s.kernels}}});
}

void add_message(ShareOutcome& outcome, const std::string& message) {
  const Json json = Json::from_cbor(message);
  for (std::size_t k = 0; k < outcome.sets.size(); ++k) add(outcome.sets[k], json["sets"].at(k));
  for (const Json& dataset : json["written"])
    outcome.written[dataset[0].get<std::string>()] += dataset[1].get<std::int64_t>();
  StageSeconds& s = outcome.seconds;
  std::size_t next = 0;
  for (double* const seconds : {&s.start, &s.read, &s.compute, &s.verify, &s.write, &s.kernels})
    *seconds = std::max(*seconds, json["seconds"].at(next++).get<double>());
}

}  // namespace smallbatch
