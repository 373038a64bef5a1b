// The arguments of calls about charges and signals, after c/ has checked them. Their members are structs of physics/.
// Calls with host arrays and with device arrays use the same structs.
#pragma once

#include <cstdint>

#include "c/context.hpp"

namespace smallbatch {

/// Members of smallbatch_charges. A null `offset` means that all problems have the same number of charges.
struct ChargesCall {
  std::int64_t count = 0, charge_count = 0;
  const std::int64_t* offset = nullptr;
  const double* position = nullptr;
  const double* charge = nullptr;
  const std::int8_t* group = nullptr;
  const double* width = nullptr;
  const void* xyzq = nullptr;  ///< instead of position and charge
  ScalarType xyzq_type = ScalarType::float64;
};

template <class T>
struct PotentialCall {
  ChargesCall charges;
  TargetBatch targets;           ///< the offsets of points may be null
  std::int64_t point_count = 0;  ///< only for targets that are points
  double smallest_spacing = 0;
  PotentialOptions options;
  PotentialResult<T> result;
};

struct PairEnergyCall {
  ChargesCall charges;
  PairEnergyOptions options;
  PairEnergyResult result;
};

struct CorrelationCall {
  SignalBatch signal;
  VisibilityBatch sums;
};

/// Number of items of each problem if they are divided evenly.
constexpr std::int64_t share_of_each(std::int64_t items, std::int64_t problems) {
  return problems > 0 ? items / problems : 0;
}

}  // namespace smallbatch
