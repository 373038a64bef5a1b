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
               {"work", set.work},
               {"problems_hash", set.problems_hash}};
  for (const auto count : failure_counts) json["signs"].push_back(set.signs.*count);
  json["largest_asymmetry"] = set.signs.largest_asymmetry;
  for (const auto& [index, label] : set.labels) json["labels"].push_back({index, label});
  if (set.worst_backward_error) json["backward_error"] = *set.worst_backward_error;
  if (set.smallest_rcond) json["rcond"] = *set.smallest_rcond;
  if (set.potential_range) json["potential"] = *set.potential_range;
  if (set.energy_range) json["energy"] = *set.energy_range;
  return json;
}

/// Of a share that has the members of `set` that do not depend on which problems they are.
SetOutcome outcome_of(const SetOutcome& set, const Json& json) {
  SetOutcome more = set;
  more.failed = json.at("failed").get<std::map<std::int32_t, std::int64_t>>();
  more.first_failed = json.at("first_failed").get<std::map<std::int32_t, std::vector<std::int64_t>>>();
  more.labels.clear();
  if (json.contains("labels"))
    for (const Json& label : json.at("labels"))
      more.labels[label.at(0).get<std::int64_t>()] = label.at(1).get<std::string>();
  more.batch = json.at("batch");
  more.singular = json.at("singular");
  more.repaired_pivots = json.at("repaired_pivots");
  more.repaired_systems = json.at("repaired_systems");
  more.largest_perturbation = json.at("largest_perturbation");
  more.verification.checked = json.at("checked");
  more.verification.agreed = json.at("agreed");
  more.verification.disagreed = json.at("disagreed");
  more.verification.worst_error_over_bound = json.at("worst_error");
  more.verification.worst_index = json.at("worst_index");
  more.values_checked = json.at("values_checked");
  more.compute_seconds = json.at("compute_seconds");
  more.work = json.at("work");
  more.problems_hash = json.at("problems_hash");
  for (std::size_t k = 0; k < failure_counts.size(); ++k) more.signs.*failure_counts[k] = json.at("signs").at(k);
  more.signs.largest_asymmetry = json.at("largest_asymmetry");
  const auto number = [&](const char* name) {
    return json.contains(name) ? std::optional<double>(json.at(name).get<double>()) : std::nullopt;
  };
  more.worst_backward_error = number("backward_error");
  more.smallest_rcond = number("rcond");
  const auto range = [&](const char* name) {
    return json.contains(name) ? std::optional(json.at(name).get<std::array<double, 2>>()) : std::nullopt;
  };
  more.potential_range = range("potential");
  more.energy_range = range("energy");
  return more;
}

void add(SetOutcome& set, const Json& json) { set.add(outcome_of(set, json), json.at("start")); }

Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }
std::string text_of_binary(const Json& json) {
  const Json::binary_t& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string to_message(const OutputLayout& layout) {
  Json datasets = Json::array();
  for (const auto& [name, type, shape, address] : layout.datasets) datasets.push_back({name, type, shape, address});
  return text_of({{"path", layout.path}, {"temporary", layout.temporary}, {"datasets", datasets}});
}

OutputLayout layout_of(const std::string& message) {
  const Json json = Json::from_cbor(message);
  OutputLayout layout{json.at("path"), json.at("temporary"), {}};
  for (const Json& dataset : json.at("datasets"))
    layout.datasets.push_back(
        {dataset.at(0), dataset.at(1), dataset.at(2).get<std::vector<std::int64_t>>(), dataset.at(3)});
  return layout;
}

std::string to_message(const RunIdentity& identity) { return text_of({{"run", identity}}); }

RunIdentity run_identity_of(const std::string& message) {
  try {
    return Json::from_cbor(message).at("run").get<RunIdentity>();
  } catch (const Json::exception&) {
    return {};
  }
}

std::string to_message(const FinishedBlock& finished, const SetOutcome& outcome) {
  Json written = Json::array();
  for (const auto& [dataset, ranges, hash] : finished.written) written.push_back({dataset, ranges, hash});
  return text_of({{"set", finished.set},
                  {"blocks", {finished.first_block, finished.last_block}},
                  {"ranges", finished.ranges},
                  {"written", written},
                  {"judged", binary(finished.judged)},
                  {"counted", binary(finished.counted)},
                  {"outcome", to_json(outcome, 0)}});
}

FinishedBlock finished_block_of(const std::string& message) {
  const Json json = Json::from_cbor(message);
  FinishedBlock finished{json.at("set"),
                         json.at("blocks").at(0),
                         json.at("blocks").at(1),
                         json.at("ranges"),
                         {},
                         text_of_binary(json.at("judged")),
                         text_of_binary(json.at("counted")),
                         json.at("outcome").at("problems_hash")};
  for (const Json& range : json.at("written"))
    finished.written.push_back(
        {range.at(0), range.at(1).get<std::vector<std::pair<std::int64_t, std::int64_t>>>(), range.at(2)});
  return finished;
}

void restore(SetOutcome& outcome, const std::string& message) {
  outcome = outcome_of(outcome, Json::from_cbor(message).at("outcome"));
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
  for (std::size_t k = 0; k < outcome.sets.size(); ++k) add(outcome.sets[k], json.at("sets").at(k));
  for (const Json& dataset : json.at("written"))
    outcome.written[dataset.at(0).get<std::string>()] += dataset.at(1).get<std::int64_t>();
  StageSeconds& s = outcome.seconds;
  std::size_t next = 0;
  for (double* const seconds : {&s.start, &s.read, &s.compute, &s.verify, &s.write, &s.kernels})
    *seconds = std::max(*seconds, json.at("seconds").at(next++).get<double>());
}

}  // namespace smallbatch
