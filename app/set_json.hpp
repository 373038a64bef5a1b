// What JSON says of a set of problems: `info` of a file, and whoever makes one.
#pragma once

#include <nlohmann/json.hpp>

#include "app/options.hpp"
#include "io/sets.hpp"

namespace smallbatch {

using SetJson = nlohmann::ordered_json;

SetJson set_json(const SolveSet& set);
SetJson set_json(const PotentialSet& set);
SetJson set_json(const PairEnergySet& set);
SetJson set_json(const CorrelationSet& set);

/// JSON of `import` about the problem file that it has made.
template <class Set>
SetJson json_of_imported(const ImportOptions& options, const Set& set) {
  return {{"command", "import"},
          {"inputs", options.inputs},
          {"output", options.output},
          {"kind", "problems"},
          {"sets", SetJson::array({set_json(set)})}};
}

}  // namespace smallbatch
