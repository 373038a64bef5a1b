// Round numbers beside an axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

/// A number beside an axis, and where: from 0, its begin, to 1.
struct Tick {
  double place = 0;
  std::string text;
};

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most` (2 or more) of them, and at least
/// `least_step` apart; `low` alone where there is nothing between. The place is value - low over high - low.
std::vector<Tick> round_ticks(double low, double high, std::int64_t most, double least_step);

/// Powers of ten from `lowest` (above 0) to `highest`, and over three of them and less also 2 and 5 times those.
std::vector<Tick> logarithmic_ticks(double lowest, double highest);

}  // namespace smallbatch
