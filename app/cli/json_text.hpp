// JSON for stdout. Names may hold any bytes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/visible_text.hpp"

namespace smallbatch {

/// Json is any of nlohmann's JSON types.
template <class Json>
std::string json_text(const Json& json) {
  return visible_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// Returns a count, which is kept as a double, as JSON. It becomes an integer if it fits into int64.
template <class Json>
Json count_json(double count) {
  constexpr double beyond_int64 = 0x1p63;
  return std::abs(count) < beyond_int64 ? Json(std::llround(count)) : Json(count);
}

}  // namespace smallbatch
