#include "core/units.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace smallbatch {
namespace {

/// Expects the same double, or one of its neighbours.
void expect_within_an_ulp(double got, double expected) {
  EXPECT_GE(got, std::nextafter(expected, 0));
  EXPECT_LE(got, std::nextafter(expected, 2 * expected));
}

// These numbers come from the constants of CODATA 2018 with 60 digits, as in units_test.py.
TEST(PotentialUnit, OneChargeAtOneAngstrom) {
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::volt), 14.39964547842567205852539);
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::kcal_per_mol_e), 332.06371329919224540824381);
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::kt_per_e, 298.15), 560.45932214753453116264810);
  EXPECT_EQ(potential_unit_factor(PotentialUnit::kt_per_e), potential_unit_factor(PotentialUnit::kt_per_e, 298.15));
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::kj_per_mol_e), 1389.35457644382035478809);
  EXPECT_EQ(potential_unit_factor(PotentialUnit::hartree_per_e), 0.529177210903);
  // CODATA 2018 also gives the hartree in joule: 4.3597447222071e-18 J is e times this ratio.
  EXPECT_NEAR(potential_unit_factor(PotentialUnit::volt) / potential_unit_factor(PotentialUnit::hartree_per_e),
              4.3597447222071e-18 / 1.602176634e-19, 1e-9);
  EXPECT_EQ(potential_unit_factor(PotentialUnit::e_per_angstrom), 1);
}

TEST(PotentialUnit, ThermalUnitFollowsTheTemperature) {
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::kt_per_e, 596.3), 560.45932214753453116264810 / 2);
  expect_within_an_ulp(potential_unit_factor(PotentialUnit::kt_per_e, 310), 539.03531257512071118110817);
}

TEST(PotentialUnit, NamesRoundTrip) {
  for (const auto unit : {PotentialUnit::volt, PotentialUnit::kt_per_e, PotentialUnit::kcal_per_mol_e,
                          PotentialUnit::kj_per_mol_e, PotentialUnit::hartree_per_e, PotentialUnit::e_per_angstrom})
    EXPECT_EQ(parse_potential_unit(potential_unit_name(unit)), unit);
  EXPECT_EQ(parse_potential_unit("V"), PotentialUnit::volt);
  EXPECT_EQ(potential_unit_names(), "volt, kT/e, kcal/mol/e, kJ/mol/e, hartree/e, e/angstrom");
  EXPECT_FALSE(parse_potential_unit("furlong"));
}

TEST(PotentialUnit, FieldsAreByLengthAndEnergiesTimesCharge) {
  EXPECT_EQ(field_unit_name(PotentialUnit::volt), "volt/angstrom");
  EXPECT_EQ(energy_unit_name(PotentialUnit::volt), "volt*e");
  EXPECT_EQ(field_unit_name(PotentialUnit::kt_per_e), "kT/e/angstrom");
  EXPECT_EQ(energy_unit_name(PotentialUnit::kt_per_e), "kT");
  EXPECT_EQ(energy_unit_name(PotentialUnit::kcal_per_mol_e), "kcal/mol");
  EXPECT_EQ(energy_unit_name(PotentialUnit::kj_per_mol_e), "kJ/mol");
  EXPECT_EQ(field_unit_name(PotentialUnit::hartree_per_e), "hartree/e/angstrom");
  EXPECT_EQ(energy_unit_name(PotentialUnit::hartree_per_e), "hartree");
  EXPECT_EQ(field_unit_name(PotentialUnit::e_per_angstrom), "e/angstrom^2");
}

TEST(LengthUnit, InAngstrom) {
  for (const char* name : {"angstrom", "Angstrom", "A", "\xC3\x85", "\xE2\x84\xAB", "Ang", "ANGSTROMS"})
    EXPECT_EQ(length_unit_in_angstrom(name), 1) << name;
  for (const char* name : {"nm", "nanometer", "Nanometers", "nanometre"}) EXPECT_EQ(length_unit_in_angstrom(name), 10);
  for (const char* name : {"pm", "picometers"}) EXPECT_EQ(length_unit_in_angstrom(name), 0.01);
  for (const char* name : {"bohr", "Bohr", "a0"}) EXPECT_EQ(length_unit_in_angstrom(name), 0.529177210903);
  for (const char* name : {"m", "meter", "Metres"}) EXPECT_EQ(length_unit_in_angstrom(name), 1e10);
  for (const char* name : {"parsec", "NM", "a", "M", "", "s", "au"}) EXPECT_FALSE(length_unit_in_angstrom(name));
}

TEST(ChargeUnit, InElementaryCharges) {
  for (const char* name : {"e", "elementary charge", "elementary_charge"}) EXPECT_EQ(charge_unit_in_e(name), 1);
  for (const char* name : {"C", "coulomb", "Coulombs"})
    expect_within_an_ulp(*charge_unit_in_e(name), 6.2415090744607626e18);
  for (const char* name : {"apple", "E", "c"}) EXPECT_FALSE(charge_unit_in_e(name));
}

}  // namespace
}  // namespace smallbatch
