// JSON as it goes to stdout, whatever the names in it hold.
#pragma once

#include <string>

#include "core/visible_text.hpp"

namespace smallbatch {

/// Of any kind of nlohmann's.
template <class Json>
std::string json_text(const Json& json) {
  return visible_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace smallbatch
