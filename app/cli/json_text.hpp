// JSON as it goes to stdout, whatever the names in it hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/visible_text.hpp"

namespace smallbatch {

/// Of any kind of nlohmann's.
template <class Json>
std::string json_text(const Json& json) {
  return visible_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// A count that is kept as a double: an integer, as far as JSON's readers have them.
template <class Json>
Json count_json(double count) {
  constexpr double beyond_int64 = 0x1p63;
  return std::abs(count) < beyond_int64 ? Json(std::llround(count)) : Json(count);
}

}  // namespace smallbatch
