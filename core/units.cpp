#include "core/units.hpp"

#include <array>
#include <numbers>
#include <utility>

namespace smallbatch {

double potential_unit_factor(PotentialUnit unit, double temperature_kelvin) {
  // One e at one angstrom: e / (4 pi eps0 1e-10 m) in volts, 14.3996454784 V.
  constexpr double volt =
      elementary_charge_coulomb / (4 * std::numbers::pi * vacuum_permittivity_farad_per_metre * 1e-10);
  switch (unit) {
    case PotentialUnit::volt:
      return volt;
    case PotentialUnit::kt_per_e:
      return volt * elementary_charge_coulomb / (boltzmann_joule_per_kelvin * temperature_kelvin);
    case PotentialUnit::kcal_per_mol_e:
      return volt * elementary_charge_coulomb * avogadro_per_mole / joule_per_kilocalorie;
    case PotentialUnit::e_per_angstrom:
      return 1;
  }
  return 1;
}

namespace {
constexpr std::array<std::pair<PotentialUnit, std::string_view>, 4> potential_unit_names{{
    {PotentialUnit::volt, "volt"},
    {PotentialUnit::kt_per_e, "kT/e"},
    {PotentialUnit::kcal_per_mol_e, "kcal/mol/e"},
    {PotentialUnit::e_per_angstrom, "e/angstrom"},
}};
}  // namespace

std::string potential_unit_name(PotentialUnit unit) {
  for (const auto& [value, name] : potential_unit_names)
    if (value == unit) return std::string(name);
  return "unknown";
}

std::optional<PotentialUnit> parse_potential_unit(std::string_view text) {
  for (const auto& [value, name] : potential_unit_names)
    if (name == text) return value;
  if (text == "V") return PotentialUnit::volt;
  return std::nullopt;
}

std::optional<double> length_unit_in_angstrom(std::string_view name) {
  if (name == "angstrom" || name == "Angstrom" || name == "A" || name == "\xC3\x85") return 1;
  if (name == "nm") return 10;
  if (name == "pm") return 0.01;
  if (name == "bohr" || name == "a0") return bohr_angstrom;
  if (name == "m") return 1e10;
  return std::nullopt;
}

std::optional<double> charge_unit_in_e(std::string_view name) {
  if (name == "e") return 1;
  if (name == "C") return 1 / elementary_charge_coulomb;
  return std::nullopt;
}

}  // namespace smallbatch
