#include "io/interchange/elements.hpp"

#include <gtest/gtest.h>

namespace smallbatch {
namespace {

// The names are from files of the PDB, CHARMM, AMBER and GLYCAM. The numbers are from the periodic table.
TEST(AtomicNumber, follows_the_names_of_atoms_and_residues) {
  const struct {
    const char *atom, *residue;
    int expected;
  } cases[]{
      {"CA", "ALA", 6},
      {"CA", "CA", 20},
      {"CAL", "CAL", 20},
      {"N", "ALA", 7},
      {"NA", "NA", 11},
      {"NA", "HEM", 7},
      {"Na+", "Na+", 11},
      {"SOD", "SOD", 11},
      {"CL", "CL", 17},
      {"Cl-", "Cl-", 17},
      {"CLA", "CLA", 17},
      {"CL2", "LIG", 17},
      {"1HB", "ALA", 1},
      {"HG11", "VAL", 1},
      {"HG", "HG", 80},
      {"HO5'", "DA", 1},
      {"D", "DOD", 1},
      {"CD1", "LEU", 6},
      {"CD", "CD", 48},
      {"CE", "LYS", 6},
      {"NE2", "HIS", 7},
      {"ND1", "HIS", 7},
      {"OD1", "ASP", 8},
      {"OXT", "ALA", 8},
      {"SG", "CYS", 16},
      {"SD", "MET", 16},
      {"SE", "MSE", 34},
      {"PA", "ATP", 15},
      {"P", "DG", 15},
      {"FE", "HEM", 26},
      {"ZN", "ZN", 30},
      {"ZN", "ZN2", 30},
      {"FE", "FE2", 26},
      {"MG", "CLA", 12},
      {"BR1", "LIG", 35},
      {"F3", "LIG", 9},
      {"I", "IOD", 53},
      {"K", "K", 19},
      {"OW", "SOL", 8},
      {"HW1", "SOL", 1},
      {"C5'", "DA", 6},
      {"O1P", "DA", 8},
      {"CU", "CU1", 29},
      // Names that could be two elements, or none.
      {"CU", "LIG", 0},
      {"OS", "0GA", 0},
      {"NI", "LIG", 0},
      {"MW", "SOL", 0},
      {"EPW", "WAT", 0},
      {"X", "UNK", 0},
      {"12", "LIG", 0},
      {"", "", 0},
  };
  for (const auto& [atom, residue, expected] : cases) {
    EXPECT_EQ(atomic_number(atom, residue), expected) << atom << " in " << residue;
  }
}

}  // namespace
}  // namespace smallbatch
