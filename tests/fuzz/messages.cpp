// What a rank is told by another: it is understood, or is not what ranks say, which the decoder's own exceptions tell.
#include "app/run/messages.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

using Json = nlohmann::json;

/// Ranks are of one program, and what they count adds up; that no sum leaves its range is not asked of the decoder.
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
