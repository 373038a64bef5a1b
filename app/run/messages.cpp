#include "app/run/messages.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string_view>
#include <utility>

namespace smallbatch {
namespace {

using JsonTree = nlohmann::json;

// Writes CBOR (RFC 8949). Unlike JSON text, CBOR takes names that are not UTF-8 and keeps numbers exactly. nlohmann's
// library only reads these messages. To write one, it would first build a tree, which takes tens of microseconds. A run
// may write a message for each of very many sets.
class Cbor {
 public:
  Cbor() = default;
  /// Reuses `memory`, whose text is lost.
  explicit Cbor(std::string memory) : bytes_(std::move(memory)) { bytes_.clear(); }
  Cbor& operator<<(std::string_view text) {
    head(3, text.size());
    bytes_ += text;
    return *this;
  }
  Cbor& operator<<(const char* text) { return *this << std::string_view(text); }
  Cbor& operator<<(const std::string& text) { return *this << std::string_view(text); }
  template <std::integral Integer>
  Cbor& operator<<(Integer number) {
    if (std::cmp_less(number, 0)) {
      head(1, static_cast<std::uint64_t>(-1 - static_cast<std::int64_t>(number)));
    } else {
      head(0, static_cast<std::uint64_t>(number));
    }
    return *this;
  }
  Cbor& operator<<(double number) {
    bytes_ += '\xFB';
    put(std::bit_cast<std::uint64_t>(number), 8);
    return *this;
  }
  template <class First, class Second>
  Cbor& operator<<(const std::pair<First, Second>& both) {
    head(4, 2);
    return *this << both.first << both.second;
  }
  /// Writes an array. A map becomes an array of pairs.
  template <std::ranges::sized_range Values>
  Cbor& operator<<(const Values& values) {
    head(4, std::ranges::size(values));
    for (const auto& value : values) *this << value;
    return *this;
  }
  Cbor& binary(const std::string& bytes) {
    head(2, bytes.size());
    bytes_ += bytes;
    return *this;
  }
  /// Begins a map of any number of members: names and values in turn, until end().
  Cbor& begin_map() { return add('\xBF'); }
  Cbor& begin_array() { return add('\x9F'); }
  Cbor& end() { return add('\xFF'); }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  Cbor& add(char byte) {
    bytes_ += byte;
    return *this;
  }
  /// Writes the highest byte first.
  void put(std::uint64_t number, int count) {
    for (int i = count - 1; i >= 0; --i) bytes_ += static_cast<char>(number >> (8 * i) & 0xFF);
  }
  void head(unsigned kind, std::uint64_t number) {
    const auto first = [&](unsigned low) { bytes_ += static_cast<char>(kind << 5 | low); };
    if (number < 24) return first(static_cast<unsigned>(number));
    const int log_bytes = number <= UINT8_MAX ? 0 : number <= UINT16_MAX ? 1 : number <= UINT32_MAX ? 2 : 3;
    first(24U + static_cast<unsigned>(log_bytes));
    put(number, 1 << log_bytes);
  }

  std::string bytes_;
};

void put(Cbor& cbor, const SetOutcome& set, std::int64_t start) {
  const VerificationSummary& v = set.verification;
  cbor.begin_map();
  cbor << "start" << start << "batch" << set.batch << "failed" << set.failed << "first_failed" << set.first_failed
       << "singular" << set.singular << "repaired_pivots" << set.repaired_pivots << "repaired_systems"
       << set.repaired_systems << "largest_perturbation" << set.largest_perturbation << "checked" << v.checked
       << "agreed" << v.agreed << "disagreed" << v.disagreed << "worst_error" << v.worst_error_over_bound
       << "worst_index" << v.worst_index << "values_checked" << set.values_checked << "compute_seconds"
       << set.compute_seconds << "work" << set.work << "problems_hash" << set.problems_hash;
  cbor << "signs";
  cbor.begin_array();
  for (const auto count : failure_counts) cbor << set.signs.*count;
  cbor.end();
  cbor << "largest_asymmetry" << set.signs.largest_asymmetry;
  if (!set.labels.empty()) cbor << "labels" << set.labels;
  if (set.worst_backward_error) cbor << "backward_error" << *set.worst_backward_error;
  if (set.smallest_rcond) cbor << "rcond" << *set.smallest_rcond;
  if (set.potential_range) cbor << "potential" << *set.potential_range;
  if (set.energy_range) cbor << "energy" << *set.energy_range;
  cbor.end();
}

/// Returns the outcome of a share. Members that are the same for all shares are copied from `set`.
SetOutcome outcome_of(const SetOutcome& set, const JsonTree& json) {
  SetOutcome more = set;
  more.failed = json.at("failed").get<std::map<std::int32_t, std::int64_t>>();
  more.first_failed = json.at("first_failed").get<std::map<std::int32_t, std::vector<std::int64_t>>>();
  more.labels.clear();
  if (json.contains("labels"))
    for (const JsonTree& label : json.at("labels"))
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

void add(SetOutcome& set, const JsonTree& json) { set.add(outcome_of(set, json), json.at("start")); }

std::string text_of_binary(const JsonTree& json) {
  const JsonTree::binary_t& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string to_message(const OutputLayout& layout) {
  Cbor cbor;
  cbor.begin_map() << "path" << layout.path << "temporary" << layout.temporary << "datasets";
  cbor.begin_array();
  for (const auto& [name, type, shape, address] : layout.datasets) {
    cbor.begin_array() << name << type << shape << address;
    cbor.end();
  }
  return cbor.end().end().take();
}

OutputLayout layout_of(const std::string& message) {
  const JsonTree json = JsonTree::from_cbor(message);
  OutputLayout layout{json.at("path"), json.at("temporary"), {}};
  for (const JsonTree& dataset : json.at("datasets"))
    layout.datasets.push_back(
        {dataset.at(0), dataset.at(1), dataset.at(2).get<std::vector<std::int64_t>>(), dataset.at(3)});
  return layout;
}

std::string to_message(const RunIdentity& identity) {
  Cbor cbor;
  cbor.begin_map() << "run" << identity;
  return cbor.end().take();
}

RunIdentity run_identity_of(const std::string& message) {
  try {
    return JsonTree::from_cbor(message).at("run").get<RunIdentity>();
  } catch (const JsonTree::exception&) {
    return {};
  }
}

std::string to_message(const FinishedBlock& finished, const SetOutcome& outcome, std::string memory) {
  Cbor cbor(std::move(memory));
  cbor.begin_map() << "blocks" << std::pair(finished.first_block, finished.last_block);
  (cbor << "counted").binary(finished.counted);
  (cbor << "judged").binary(finished.verified);
  cbor << "outcome";
  put(cbor, outcome, 0);
  cbor << "ranges" << finished.ranges << "set" << finished.set << "written";
  cbor.begin_array();
  for (const auto& [dataset, ranges, hash] : finished.written) {
    cbor.begin_array() << dataset << ranges;
    if (hash) cbor << *hash;
    cbor.end();
  }
  return cbor.end().end().take();
}

FinishedBlock finished_block_of(const std::string& message) {
  const JsonTree json = JsonTree::from_cbor(message);
  FinishedBlock finished{json.at("set"),
                         json.at("blocks").at(0),
                         json.at("blocks").at(1),
                         json.at("ranges"),
                         {},
                         text_of_binary(json.at("judged")),
                         text_of_binary(json.at("counted")),
                         json.at("outcome").at("problems_hash")};
  for (const JsonTree& range : json.at("written")) {
    WrittenRange& written = finished.written.emplace_back();
    written.dataset = range.at(0);
    written.ranges = range.at(1).get<std::vector<std::pair<std::int64_t, std::int64_t>>>();
    if (range.size() > 2) written.hash = range.at(2).get<std::uint64_t>();
  }
  return finished;
}

void restore(SetOutcome& outcome, const std::string& message) {
  outcome = outcome_of(outcome, JsonTree::from_cbor(message).at("outcome"));
}

std::string to_message(const ShareOutcome& outcome) {
  const StageSeconds& s = outcome.seconds;
  Cbor cbor;
  cbor.begin_map() << "sets";
  cbor.begin_array();
  for (std::size_t k = 0; k < outcome.sets.size(); ++k) put(cbor, outcome.sets[k], outcome.starts[k]);
  cbor.end() << "written" << outcome.written << "seconds"
             << std::array{s.start, s.blocks, s.read, s.compute, s.verify, s.write, s.kernels};
  return cbor.end().take();
}

void add_message(ShareOutcome& outcome, const std::string& message) {
  const JsonTree json = JsonTree::from_cbor(message);
  for (std::size_t k = 0; k < outcome.sets.size(); ++k) add(outcome.sets[k], json.at("sets").at(k));
  for (const JsonTree& dataset : json.at("written"))
    outcome.written[dataset.at(0).get<std::string>()] += dataset.at(1).get<std::int64_t>();
  StageSeconds& s = outcome.seconds;
  std::size_t next = 0;
  for (double* const seconds : {&s.start, &s.blocks, &s.read, &s.compute, &s.verify, &s.write, &s.kernels})
    *seconds = std::max(*seconds, json.at("seconds").at(next++).get<double>());
}

}  // namespace smallbatch
