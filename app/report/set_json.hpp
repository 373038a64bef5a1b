// A set of problems as JSON, for `info` and for the commands that make a problem file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "io/sets.hpp"

namespace smallbatch {

using SetJson = nlohmann::ordered_json;

/// Returns the members with which every JSON object about a set begins. `lane` is the older, deprecated name of `kind`.
SetJson begin_set_json(const char* kind, const std::string& name, const std::string& shape, std::int64_t batch);

SetJson set_json(const SolveSet& set);
SetJson set_json(const PotentialSet& set);
SetJson set_json(const PairEnergySet& set);
SetJson set_json(const CorrelationSet& set);

/// Returns JSON about a problem file with one set, made by `import` or `generate`. Only generated numbers have a seed.
template <class Options, class Set>
SetJson json_of_made(const Options& options, const Set& set) {
  constexpr bool is_generated = requires { options.seed; };
  SetJson json{{"command", is_generated ? "generate" : "import"}};
  if constexpr (!is_generated) json["inputs"] = options.inputs;
  json["output"] = options.output;
  json["kind"] = "problems";
  json["sets"] = SetJson::array({set_json(set)});
  if constexpr (is_generated) json["seed"] = options.seed;
  return json;
}

}  // namespace smallbatch
