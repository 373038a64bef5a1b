#include "io/picture/axis_ticks.hpp"

#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"

namespace smallbatch {

namespace {

/// Writes a value with just enough digits to tell multiples of `step` apart.
std::string tick_text(double value, double step) {
  const auto decade = [](double x) { return static_cast<int>(std::floor(std::log10(x) + 1e-9)); };
  const int digits = value == 0 ? 0 : decade(std::abs(value)) - decade(step) + 1;
  return number_text(value, std::clamp(digits, 7, 15));
}

}  // namespace

std::vector<Tick> round_ticks(double low, double high, std::int64_t most, double least_step) {
  const double range = high - low;
  if (!(range > std::abs(high) * 1e-12)) return {{0, tick_text(low, std::abs(low) * 1e-6)}};
  const double power = std::pow(10, std::floor(std::log10(range / static_cast<double>(most))));
  double step = 0, first = 0, last = 0;
  for (const double factor : {1, 2, 5, 10, 20, 50}) {
    step = std::max(factor * power, least_step);
    first = std::ceil(low / step - 1e-9) + 0.0;  // a zero has no sign
    last = std::floor(high / step + 1e-9);
    if (last - first < static_cast<double>(most)) break;
  }
  std::vector<Tick> ticks;
  for (double k = first; k <= last; ++k) ticks.push_back({(k * step - low) / range, tick_text(k * step, step)});
  return ticks;
}

std::vector<Tick> logarithmic_ticks(double lowest, double highest) {
  const double low = std::log10(lowest), high = std::log10(highest);
  std::vector<Tick> ticks;
  for (double power = std::floor(low); power <= high; ++power) {
    for (const double factor : {1, 2, 5}) {
      const double place = (power + std::log10(factor) - low) / (high - low);
      if (place < 0 || place > 1 || (factor > 1 && high - low > 3)) continue;
      ticks.push_back({place, tick_text(factor * std::pow(10, power), std::pow(10, power))});
    }
  }
  return ticks;
}

}  // namespace smallbatch
