#include "app/cli/error_json.hpp"

#include <nlohmann/json.hpp>

#include "app/cli/json_text.hpp"

namespace smallbatch {

namespace {

constexpr const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::missing_file:
      return "missing_file";
    case ErrorKind::no_device:
      return "no_device";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::output:
      return "output";
    case ErrorKind::output_exists:
      return "output_exists";
    case ErrorKind::device_lost:
      return "device_lost";
    case ErrorKind::interrupted:
      return "interrupted";
    case ErrorKind::internal:
      break;
  }
  return "internal";
}

}  // namespace

std::string error_json(ErrorKind kind, const std::string& message, int exit_code) {
  using Json = nlohmann::ordered_json;
  return json_text(Json{{"error", {{"kind", error_kind_name(kind)}, {"exit_code", exit_code}, {"message", message}}}});
}

}  // namespace smallbatch
