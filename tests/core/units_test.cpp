#include "core/units.hpp"

#include <gtest/gtest.h>

namespace smallbatch {
namespace {

// Published conversion factors, not computed here.
TEST(PotentialUnit, OneChargeAtOneAngstrom) {
  EXPECT_NEAR(potential_unit_factor(PotentialUnit::volt), 14.3996454784, 1e-9);
  EXPECT_NEAR(potential_unit_factor(PotentialUnit::kcal_per_mol_e), 332.06371, 1e-5);
  EXPECT_NEAR(potential_unit_factor(PotentialUnit::kt_per_e, 298.15), 560.45932, 1e-4);
  EXPECT_EQ(potential_unit_factor(PotentialUnit::e_per_angstrom), 1);
}

TEST(PotentialUnit, ThermalUnitFollowsTheTemperature) {
  EXPECT_NEAR(potential_unit_factor(PotentialUnit::kt_per_e, 596.3), 560.45932 / 2, 1e-4);
}

TEST(PotentialUnit, NamesRoundTrip) {
  for (const auto unit :
       {PotentialUnit::volt, PotentialUnit::kt_per_e, PotentialUnit::kcal_per_mol_e, PotentialUnit::e_per_angstrom})
    EXPECT_EQ(parse_potential_unit(potential_unit_name(unit)), unit);
  EXPECT_FALSE(parse_potential_unit("furlong"));
}

TEST(PotentialUnit, FieldsAreByLengthAndEnergiesTimesCharge) {
  EXPECT_EQ(field_unit_name(PotentialUnit::volt), "volt/angstrom");
  EXPECT_EQ(energy_unit_name(PotentialUnit::volt), "volt*e");
  EXPECT_EQ(field_unit_name(PotentialUnit::kt_per_e), "kT/e/angstrom");
  EXPECT_EQ(energy_unit_name(PotentialUnit::kt_per_e), "kT");
  EXPECT_EQ(energy_unit_name(PotentialUnit::kcal_per_mol_e), "kcal/mol");
  EXPECT_EQ(field_unit_name(PotentialUnit::e_per_angstrom), "e/angstrom^2");
}

TEST(LengthUnit, InAngstrom) {
  EXPECT_EQ(length_unit_in_angstrom("angstrom"), 1);
  EXPECT_EQ(length_unit_in_angstrom("nm"), 10);
  EXPECT_NEAR(*length_unit_in_angstrom("bohr"), 0.529177210903, 1e-12);
  EXPECT_FALSE(length_unit_in_angstrom("parsec"));
}

TEST(ChargeUnit, InElementaryCharges) {
  EXPECT_EQ(charge_unit_in_e("e"), 1);
  EXPECT_NEAR(*charge_unit_in_e("C") * 1.602176634e-19, 1, 1e-15);
  EXPECT_FALSE(charge_unit_in_e("apple"));
}

}  // namespace
}  // namespace smallbatch
