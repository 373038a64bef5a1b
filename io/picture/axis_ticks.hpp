// Round numbers beside an axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

/// A number beside an axis. `place` is from 0, the begin of the axis, to 1, its end.
struct Tick {
  double place = 0;
  std::string text;
};

/// Returns multiples of 1, 2 or 5 times a power of ten from `low` to `high`. There are at most `most` (2 or more) of
/// them, and neighbours differ by `least_step` or more. If no such number lies between, `low` alone is returned. The
/// place of a number is `(value - low) / (high - low)`.
std::vector<Tick> round_ticks(double low, double high, std::int64_t most, double least_step);

/// Returns powers of ten from `lowest` (above 0) to `highest`. If there are three or less, 2 and 5 times these powers
/// are returned, too.
std::vector<Tick> logarithmic_ticks(double lowest, double highest);

}  // namespace smallbatch
