#include "physics/correlations/checks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/error.hpp"

namespace smallbatch {

void check_correlation_call(const SignalBatch& signal, const VisibilityBatch& sums) {
  if (signal.channels < 0 || signal.times < 0)
    throw Error(ErrorKind::bad_input, "the batch has a negative count",
                std::to_string(signal.channels) + " channels, " + std::to_string(signal.times) + " times",
                "Give 0 or more of both.");
  if (signal.inputs < 1 || signal.inputs > max_inputs)
    throw Error(ErrorKind::bad_input, "this number of inputs cannot be correlated", std::to_string(signal.inputs),
                "Give 1 to " + std::to_string(max_inputs) + " inputs.");
  if (signal.integrate < 1)
    throw Error(ErrorKind::bad_input, "an integration has too few samples", std::to_string(signal.integrate),
                "Give 1 or more.");
  const std::int64_t together = std::min(signal.integrate, signal.times);
  if (together > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::bad_input, "an integration has too many samples", std::to_string(together),
                "Give at most 2^31 - 1.");
  const SumType least = sum_type(signal.type, together);
  const bool wider = least == SumType::complex_int32 && sums.type == SumType::complex_int64;
  if (sums.type != least && !wider)
    throw Error(ErrorKind::bad_input, "the type of the sums cannot hold them",
                std::to_string(together) + " samples each",
                "Use the type that sum_type() returns, or 64-bit integers instead of 32-bit ones.");
}

}  // namespace smallbatch
