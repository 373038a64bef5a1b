// Verdict about stored potentials, fields and energies: whether they agree with the referee's values within the bounds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compare.hpp"
#include "core/not_finite.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/charges/reference/criterion.hpp"

namespace smallbatch {

namespace {

/// Error over bound of one number. If `may_be_nan` and `expected` is a NaN, only a NaN is right.
double judge(double got, double expected, double bound, bool may_be_nan) {
  if (may_be_nan && std::isnan(expected)) return std::isnan(got) ? 0 : infinity;
  return error_over_bound(got, expected, bound);
}

/// Whether a bound allows any number. The referee sets such a bound to the largest double.
bool is_any_number(double bound) { return bound == std::numeric_limits<double>::max(); }

template <class T>
Beyond beyond_range(double exact, double bound) {
  constexpr double largest = std::numeric_limits<T>::max();
  if (is_any_number(bound)) return Beyond::perhaps;
  if (std::abs(exact) - bound > largest || std::isinf(exact)) return Beyond::yes;
  return std::abs(exact) + bound > largest ? Beyond::perhaps : Beyond::no;
}

/// Error over bound of one number of type T. If `expected` is beyond T's range, an infinity with its sign is right.
template <class T>
double judge_in_range(T got, double expected, double bound, Beyond& beyond) {
  const Beyond found = beyond_range<T>(expected, bound);
  beyond = std::max(beyond, found);
  const bool same_sign = std::signbit(got) == std::signbit(expected);
  if (std::isinf(got) && found != Beyond::no && same_sign) return 0;
  if (std::isinf(got) && bound - std::abs(expected) > std::numeric_limits<T>::max()) return 0;
  if (is_any_number(bound)) return std::isnan(got) ? infinity : 0;
  // Rounding alone may make the referee's number an infinity.
  if (sizeof(T) == sizeof(double) && std::isinf(expected) && same_sign)
    return std::abs(got) > 0.999 * std::numeric_limits<double>::max() ? 0 : infinity;
  return error_over_bound(got, expected, bound);
}

}  // namespace

template <class T>
double potential_error_over_bound(const PotentialBlock<T>& block, std::int64_t target, bool answered,
                                  const ReferencePotential& reference, Beyond& beyond) {
  const auto i = static_cast<std::size_t>(target);
  const bool in_numbers = answered && !reference.singular;
  double worst = in_numbers ? judge_in_range(block.potential[i], reference.potential, reference.bound, beyond)
                            : judge(block.potential[i], reference.potential, reference.bound, !answered);
  if (block.field.empty()) return worst;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const T got = block.field[3 * i + axis];
    worst = std::max(worst, in_numbers ? judge_in_range(got, reference.field[axis], reference.field_bound, beyond)
                                       : judge(got, reference.field[axis], reference.field_bound, true));
  }
  return worst;
}

template <class T>
Beyond stored_beyond_range(const PotentialBlock<T>& block, std::int64_t first, std::int64_t last,
                           std::int64_t singular) {
  const auto infinite = [](const AlignedVector<T>& values, std::int64_t begin, std::int64_t end) {
    return std::count_if(values.begin() + begin, values.begin() + end, [](T value) { return std::isinf(value); });
  };
  const std::int64_t potentials = infinite(block.potential, first, last);
  const std::int64_t fields = block.field.empty() ? 0 : infinite(block.field, 3 * first, 3 * last);
  if (fields > 0 || potentials > singular) return Beyond::yes;
  return potentials > 0 ? Beyond::perhaps : Beyond::no;
}

bool is_status(std::int32_t info, const ReferenceStatus& expected, Beyond beyond) {
  if (has_values(expected.info) && beyond != Beyond::no && info == info_values_out_of_range) return true;
  return beyond != Beyond::yes && (info == expected.info || info == expected.or_else);
}

template <class T>
double energy_error_over_bound(const PotentialBlock<T>& block, const PotentialOptions& options, std::int64_t problem,
                               const std::function<void()>& pause) {
  const double energy = block.energy[static_cast<std::size_t>(problem)];
  if (!has_values(block.info[static_cast<std::size_t>(problem)])) return std::isnan(energy) ? 0 : infinity;
  const ReferenceEnergy reference = reference_energy(block.charges(), problem, options, pause);
  return judge(energy, reference.energy, reference.bound, true);
}

std::string potential_criterion(const PotentialOptions& options, ScalarType precision, bool with_field,
                                bool with_energy, bool with_widths) {
  const PotentialBounds& bounds = precision == ScalarType::float32 ? potential_bounds_float : potential_bounds_double;
  const CriterionWords words(options, with_widths, "i");
  const std::string &f = words.f, &r = words.r, &m = words.m;
  const auto relative = [&](double factor) {
    const double on = bounds.of_terms * (options.softening > 0 ? softening_bound_factor : 1);
    return " (" + bound_text(factor * on) + " + " + bound_text(factor * bounds.of_distances) + " L/" + m + ")";
  };
  std::string of_interaction = words.of_interaction;
  std::string text = "|V - V*| <= " + f + " sum_i |q_i|" + words.screening + "/" + r + relative(1);
  if (with_field)
    text += ", |E_k - E_k*| <= " + f + " sum_i |q_i|" + words.field_screening + "/" +
            (m == r ? r + "^2" : "(" + r + " m_i)") + relative(field_bound_factor);
  if (with_energy) {
    const CriterionWords of_pairs(options, with_widths, "ij");
    text += ", |U - U*| <= f sum |q_i q_j|" + of_pairs.screening + "/" + (with_widths ? "rho_ij " : "r_ij ") +
            bound_text(energy_bound);
    of_interaction += of_pairs.of_interaction;
  }
  return text + " against direct summation with Eigen in double precision" + words.of_softening + of_interaction +
         words.of_cutoff;
}

template double potential_error_over_bound(const PotentialBlock<float>&, std::int64_t, bool, const ReferencePotential&,
                                           Beyond&);
template Beyond stored_beyond_range(const PotentialBlock<float>&, std::int64_t, std::int64_t, std::int64_t);
template double energy_error_over_bound(const PotentialBlock<float>&, const PotentialOptions&, std::int64_t,
                                        const std::function<void()>&);
template double potential_error_over_bound(const PotentialBlock<double>&, std::int64_t, bool, const ReferencePotential&,
                                           Beyond&);
template Beyond stored_beyond_range(const PotentialBlock<double>&, std::int64_t, std::int64_t, std::int64_t);
template double energy_error_over_bound(const PotentialBlock<double>&, const PotentialOptions&, std::int64_t,
                                        const std::function<void()>&);

}  // namespace smallbatch
