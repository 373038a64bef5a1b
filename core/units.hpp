// Physical constants and the units of the potential. The constants are those of CODATA 2018. The constants e, k and N_A
// are exact in the SI of 2019; the calorie is the thermochemical calorie.
//
// Internally, lengths are in angstrom and charges in units of e, so a bare sum of q/r is in e/angstrom.
//
// 1 e/angstrom is
//
// - e / (4 pi eps0 10^-10 m)              = 14.399645478425672 V
// - e^2 N_A / (4 pi eps0 10^-10 m 4184 J) = 332.06371329919225 kcal/mol/e
// - e^2 N_A / (4 pi eps0 10^-10 m 1000 J) = 1389.3545764438204 kJ/mol/e
// - bohr / angstrom                       = 0.529177210903 hartree/e
// - e^2 / (4 pi eps0 10^-10 m k 298.15 K) = 560.45932214753453 kT/e at 298.15 K
//
// The constants are long double, so that a factor made from them is rounded only once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace smallbatch {

/// The constants that the units are made of, and the default temperature of kT/e.
inline constexpr long double elementary_charge_coulomb = 1.602176634e-19L;
inline constexpr long double vacuum_permittivity_farad_per_metre = 8.8541878128e-12L;
inline constexpr long double boltzmann_joule_per_kelvin = 1.380649e-23L;
inline constexpr long double avogadro_per_mole = 6.02214076e23L;
inline constexpr double bohr_angstrom = 0.529177210903;
inline constexpr long double joule_per_kilocalorie = 4184, joule_per_kilojoule = 1000;
inline constexpr double default_temperature_kelvin = 298.15;

/// Units in which V can be written.
enum class PotentialUnit { volt, kt_per_e, kcal_per_mol_e, kj_per_mol_e, hartree_per_e, e_per_angstrom };

/// Returns the factor that turns e/angstrom into the unit. The temperature (kelvin) matters only for kT/e.
double potential_unit_factor(PotentialUnit unit, double temperature_kelvin = default_temperature_kelvin);

/// Returns "volt", "kT/e", "kcal/mol/e", "kJ/mol/e", "hartree/e" or "e/angstrom".
std::string potential_unit_name(PotentialUnit unit);
/// Returns all names of units, separated by commas.
std::string potential_unit_names();
/// Returns the name of the unit of E, for example "volt/angstrom", if V has `unit`.
std::string field_unit_name(PotentialUnit unit);
/// Returns the name of the unit of an interaction energy, for example "volt*e", if V has `unit`.
std::string energy_unit_name(PotentialUnit unit);
/// Returns the unit with this name, or nothing. "V" also means "volt".
std::optional<PotentialUnit> parse_potential_unit(std::string_view name);

/// Returns the factor that turns a length in the named unit into angstrom, or nothing for an unknown name. Known
/// symbols: "A", the letter A with a ring, "nm", "pm", "a0", "m". Known words: "angstrom" (also "ang"), "nanometer",
/// "picometer", "bohr", "meter". Words may be plural, spelt "metre", and have capitals.
std::optional<double> length_unit_in_angstrom(std::string_view name);

/// Returns the factor that turns a charge in the named unit into units of e, or nothing for an unknown name. Known
/// symbols: "e", "C". Known words: "elementary charge" (also with "_") and "coulomb", also plural and with capitals.
std::optional<double> charge_unit_in_e(std::string_view name);

}  // namespace smallbatch
#pragma GCC visibility pop
