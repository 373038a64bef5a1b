#include "core/signals.hpp"

namespace smallbatch {

std::string describe_correlation_info(std::int32_t info) {
  if (info == 0) return "correlated";
  if (info == info_signal_not_finite) return "a sample is a NaN or an infinity";
  if (info == info_visibility_out_of_range) return "a visibility leaves the range of its type";
  return "unknown status " + std::to_string(info);
}

}  // namespace smallbatch
