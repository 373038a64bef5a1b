// Sentences about statuses, and units by name.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "c/context.hpp"
#include "core/units.hpp"
#include "core/visible_text.hpp"

namespace smallbatch {

namespace {

/// Writes a sentence as snprintf does. If memory for the sentence is exhausted, it writes an empty one.
template <class Describe>
std::size_t describe(const Describe& sentence_of, std::int32_t info, char* buffer, std::size_t size) noexcept {
  std::size_t length = 0;
  if (buffer != nullptr && size > 0) buffer[0] = '\0';
  (void)answer([&] {
    const std::string text = sentence_of(info);
    length = text.size();
    if (buffer == nullptr || size == 0) return;
    const std::size_t fits = std::min(length, size - 1);
    std::memcpy(buffer, text.data(), fits);
    buffer[fits] = '\0';
  });
  return length;
}

/// Returns a name for use in a sentence. A long name, which could be a whole page, is cut.
std::string shown(const char* name) {
  constexpr std::size_t most = 64;
  std::string text = visible_text(std::string(name, ::strnlen(name, most + 1)));
  if (text.size() <= most) return text;
  std::size_t end = 0;  // end of the last whole character
  while (const std::size_t length = utf8_length(std::string_view(text).substr(end))) {
    if (end + length > most) break;
    end += length;
  }
  return text.substr(0, end) + "...";
}

template <class Find>
smallbatch_status answer_unit(const char* kind, const std::string& names, const char* unit, double* factor,
                              const Find& find) noexcept {
  return answer([&] {
    check_present("unit", unit);
    check_present("the place of the factor", factor);
    const std::optional<double> found = find(unit);
    if (!found)
      refuse("there is no unit of " + std::string(kind) + " \"" + shown(unit) + "\"", "its name is not known",
             "Use one of " + names + ".");
    *factor = *found;
  });
}

}  // namespace

}  // namespace smallbatch

using smallbatch::answer_unit;
using smallbatch::describe;

size_t smallbatch_describe_solve_info(int32_t info, char* buffer, size_t size) {
  return describe(smallbatch::describe_spd_info, info, buffer, size);
}
size_t smallbatch_describe_potential_info(int32_t info, char* buffer, size_t size) {
  return describe(smallbatch::describe_potential_info, info, buffer, size);
}
size_t smallbatch_describe_pair_energy_info(int32_t info, char* buffer, size_t size) {
  return describe(smallbatch::describe_pair_energy_info, info, buffer, size);
}
size_t smallbatch_describe_correlation_info(int32_t info, char* buffer, size_t size) {
  return describe(smallbatch::describe_correlation_info, info, buffer, size);
}

smallbatch_status smallbatch_potential_unit_factor(const char* unit, double temperature_kelvin, double* factor) {
  return answer_unit(
      "potential", smallbatch::potential_unit_names(), unit, factor, [&](const char* name) -> std::optional<double> {
        const auto found = smallbatch::parse_potential_unit(name);
        if (!found) return std::nullopt;
        if (found == smallbatch::PotentialUnit::kt_per_e && !(temperature_kelvin > 0))
          smallbatch::refuse("a temperature of " + smallbatch::text_of(temperature_kelvin) + " K cannot be used",
                             "kT/e needs a positive temperature", "Give a positive temperature, such as 298.15.");
        const double factor_of_it = smallbatch::potential_unit_factor(*found, temperature_kelvin);
        if (!(factor_of_it > 0) || !std::isfinite(factor_of_it))
          smallbatch::refuse("a temperature of " + smallbatch::text_of(temperature_kelvin) + " K cannot be used",
                             "its factor is beyond the range of double", "Give a temperature such as 298.15.");
        return factor_of_it;
      });
}
smallbatch_status smallbatch_length_unit_in_angstrom(const char* unit, double* angstrom) {
  return answer_unit("length", "angstrom, nm, pm, bohr, m", unit, angstrom, smallbatch::length_unit_in_angstrom);
}
smallbatch_status smallbatch_charge_unit_in_e(const char* unit, double* e) {
  return answer_unit("charge", "e, C", unit, e, smallbatch::charge_unit_in_e);
}
