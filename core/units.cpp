#include "core/units.hpp"

#include <array>
#include <numbers>

namespace smallbatch {

double potential_unit_factor(PotentialUnit unit, double temperature_kelvin) {
  constexpr long double volt =
      elementary_charge_coulomb / (4 * std::numbers::pi_v<long double> * vacuum_permittivity_farad_per_metre * 1e-10L);
  long double factor = 1;
  switch (unit) {
    case PotentialUnit::volt:
      factor = volt;
      break;
    case PotentialUnit::kt_per_e:
      factor = volt * elementary_charge_coulomb / (boltzmann_joule_per_kelvin * temperature_kelvin);
      break;
    case PotentialUnit::kcal_per_mol_e:
      factor = volt * elementary_charge_coulomb * avogadro_per_mole / joule_per_kilocalorie;
      break;
    case PotentialUnit::kj_per_mol_e:
      factor = volt * elementary_charge_coulomb * avogadro_per_mole / joule_per_kilojoule;
      break;
    case PotentialUnit::hartree_per_e:
      return bohr_angstrom;  // 1 hartree/e is e / (4 pi eps0 bohr)
    case PotentialUnit::e_per_angstrom:
      break;
  }
  return static_cast<double>(factor);
}

namespace {
struct UnitNames {
  PotentialUnit unit;
  std::string_view potential, field, energy;
};
constexpr std::array<UnitNames, 6> unit_names{{
    {PotentialUnit::volt, "volt", "volt/angstrom", "volt*e"},
    {PotentialUnit::kt_per_e, "kT/e", "kT/e/angstrom", "kT"},
    {PotentialUnit::kcal_per_mol_e, "kcal/mol/e", "kcal/mol/e/angstrom", "kcal/mol"},
    {PotentialUnit::kj_per_mol_e, "kJ/mol/e", "kJ/mol/e/angstrom", "kJ/mol"},
    {PotentialUnit::hartree_per_e, "hartree/e", "hartree/e/angstrom", "hartree"},
    {PotentialUnit::e_per_angstrom, "e/angstrom", "e/angstrom^2", "e^2/angstrom"},
}};

const UnitNames& names_of(PotentialUnit unit) { return unit_names[static_cast<std::size_t>(unit)]; }
}  // namespace

std::string potential_unit_name(PotentialUnit unit) { return std::string(names_of(unit).potential); }
std::string potential_unit_names() {
  std::string all;
  for (const UnitNames& names : unit_names) all.append(all.empty() ? "" : ", ").append(names.potential);
  return all;
}

std::string field_unit_name(PotentialUnit unit) { return std::string(names_of(unit).field); }
std::string energy_unit_name(PotentialUnit unit) { return std::string(names_of(unit).energy); }

std::optional<PotentialUnit> parse_potential_unit(std::string_view text) {
  for (const UnitNames& names : unit_names)
    if (names.potential == text) return names.unit;
  if (text == "V") return PotentialUnit::volt;
  return std::nullopt;
}

namespace {
/// Returns the name in lower case, with blanks for "_", without an s at the end, and with "meter" for "metre".
std::string plain_word(std::string_view name) {
  std::string word;
  for (const char c : name) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? ' ' : c;
  if (word.size() > 2 && word.ends_with('s')) word.pop_back();
  if (word.ends_with("metre")) word.replace(word.size() - 2, 2, "er");
  return word;
}
}  // namespace

std::optional<double> length_unit_in_angstrom(std::string_view name) {
  if (name == "A" || name == "\xC3\x85" || name == "\xE2\x84\xAB") return 1;  // A with a ring; the angstrom sign
  if (name == "nm") return 10;
  if (name == "pm") return 0.01;
  if (name == "a0") return bohr_angstrom;
  if (name == "m") return 1e10;
  const std::string word = plain_word(name);
  for (const std::string_view angstrom : {"angstrom", "ang", "\xC3\x85ngstr\xC3\xB6m", "\xC3\xA5ngstr\xC3\xB6m"})
    if (word == angstrom) return 1;
  if (word == "nanometer") return 10;
  if (word == "picometer") return 0.01;
  if (word == "bohr") return bohr_angstrom;
  if (word == "meter") return 1e10;
  return std::nullopt;
}

std::optional<double> charge_unit_in_e(std::string_view name) {
  if (name == "e" || plain_word(name) == "elementary charge") return 1;
  if (name == "C" || plain_word(name) == "coulomb") return static_cast<double>(1 / elementary_charge_coulomb);
  return std::nullopt;
}

}  // namespace smallbatch
