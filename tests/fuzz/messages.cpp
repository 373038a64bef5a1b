// Any bytes may come instead of another rank's message. They are decoded, or the JSON library throws its exception.
#include "app/run/messages.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

using Json = nlohmann::json;

/// Returns whether every number is small enough that sums stay in range. The decoder does not check this, because ranks
/// run the same program and their counts are small.
bool counts_add_up(const Json& json) {
  constexpr double most = 1e12;
  if (json.is_structured()) return std::ranges::all_of(json, counts_add_up);
  return !json.is_number() || std::abs(json.get<double>()) <= most;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  Input input(bytes, count);
  const bool is_layout = input.take<std::uint8_t>() % 2 == 0;
  const std::string message = input.text();
  try {
    if (is_layout) {
      const std::string said = to_message(layout_of(message));
      require(to_message(layout_of(said)) == said, "a layout is another one when it is said again");
    } else if (counts_add_up(Json::from_cbor(message))) {
      ShareOutcome outcome{{SetOutcome{}}, {0}, {}, {}};
      add_message(outcome, message);
      (void)to_message(outcome);
    }
  } catch (const Json::exception&) {
  }
  return 0;
}
