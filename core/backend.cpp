#include "core/backend.hpp"

namespace smallbatch {

std::string backend_name(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return "cuda:" + std::to_string(backend.device);
    case BackendKind::cpu:
      return "cpu";
    case BackendKind::reference:
      return "reference";
  }
  return "unknown";
}

}  // namespace smallbatch
