#include "core/compare.hpp"

#include "core/not_finite.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace smallbatch {

bool within(double error, double bound) { return std::isfinite(bound) && error <= bound; }

double error_over_bound(double got, double expected, double bound) {
  if (got == expected) return 0;  // equal infinities agree; a NaN equals no value
  if (!std::isfinite(got) || !std::isfinite(expected)) return infinity;
  if (!(bound > 0) || !std::isfinite(bound)) return infinity;
  return std::abs(got - expected) / bound;
}

std::string bound_text(double bound) {
  int exponent = 0;
  if (std::frexp(bound, &exponent) == 0.5 && exponent < 0) return "2^" + std::to_string(exponent - 1);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", bound);
  return text.data();
}

void Comparison::add(double error_over_its_bound, std::int64_t index) {
  ++compared;
  if (!within(error_over_its_bound, 1.0)) ++disagreeing;
  // A NaN counts as the worst possible error.
  const double value = std::isnan(error_over_its_bound) ? infinity : error_over_its_bound;
  if (worst_index < 0 || value > worst) {
    worst = value;
    worst_index = index;
  }
}

void Comparison::merge(const Comparison& other) {
  compared += other.compared;
  disagreeing += other.disagreeing;
  if (other.worst_index >= 0 && (worst_index < 0 || other.worst > worst)) {
    worst = other.worst;
    worst_index = other.worst_index;
  }
}

}  // namespace smallbatch
