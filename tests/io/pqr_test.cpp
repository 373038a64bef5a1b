// PQR files as people's tools write them, and the ways in which they break.
#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <locale>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "io/molecule.hpp"

namespace smallbatch {
namespace {

class Pqr : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Molecule read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return read_pqr(path_);
  }
  /// Expects bad_input in a sentence that names the file, the line and the words given.
  void expect_bad(const std::string& text, const std::string& where, const std::vector<std::string>& words) const {
    try {
      read(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << message;
      EXPECT_EQ(message.rfind(path_ + where, 0), 0U) << message;
      EXPECT_EQ(message.back(), '.') << message;
      for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << ": " << message;
    }
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("smallbatch_pqr_" + std::to_string(::getpid()) + ".pqr")).string();
};

const std::string good_line = "ATOM      1  N   GLY     1      21.421   3.562  16.781   0.294   1.821\n";

TEST_F(Pqr, reads_charges_with_and_without_chain_and_ignores_other_lines) {
  const Molecule molecule = read(
      "REMARK   1 ATOM lines follow: ATOM 1 2 3 4 5 6 7 8 9\n"
      "\n"
      "MODEL        1\n"
      "ATOM      1  N   GLY     1      21.421  -3.562  16.781   0.294   1.821\n"
      "ATOM   1702  CA   ALA B   1       0.284   8.554  16.851  -0.0962  1.9080 \r\n"
      "ATOMIC data are not atoms 1 2 3 4 5\n"
      "TER\n"
      "HETATM10000 CA CA A1001A 1e1 +2.5 -.5 2 0\n"
      "ENDMDL\n"
      "END");
  EXPECT_EQ(molecule.position, (std::vector<double>{21.421, -3.562, 16.781, 0.284, 8.554, 16.851, 10, 2.5, -0.5}));
  EXPECT_EQ(molecule.charge, (std::vector<double>{0.294, -0.0962, 2}));
}

TEST_F(Pqr, no_atom_is_lost_for_what_stands_before_it) {
  for (const std::string before : {"", "  ", "\t", "\xef\xbb\xbf", "\xef\xbb\xbf "})  // the mark of UTF-8
    for (const std::string name : {"ATOM", "atom", "Hetatm"}) {
      const Molecule molecule = read(before + name + " 1 N GLY 1 1 2 3 0.5 1.5\n" + good_line);
      EXPECT_EQ(molecule.charge, (std::vector<double>{0.5, 0.294})) << before << name;
    }
  const std::string returns = "REMARK\rATOM 1 N GLY 1 1 2 3 0.5 1.5\rATOM 2 N GLY 1 1 2 3 0.5 1.5\r";
  expect_bad(good_line + returns + "\n" + good_line, ", line 2: ", {"carriage return", "End lines by line feeds"});
}

TEST_F(Pqr, a_last_line_without_newline_counts) {
  EXPECT_EQ(read(good_line.substr(0, good_line.size() - 1)).charge, std::vector<double>{0.294});
}

struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST_F(Pqr, numbers_do_not_depend_on_the_locale) {
  // C++ streams follow the facet; C functions follow a German or French locale where the machine has one.
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimals));
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  const Molecule molecule = read(good_line);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(molecule.position, (std::vector<double>{21.421, 3.562, 16.781}));
}

TEST_F(Pqr, glued_columns_are_named_with_their_line) {
  expect_bad(good_line + "ATOM      2  H1  GLY     1      21.421-103.562  16.781   0.294   1.821\n",
             ", line 2: ", {"expected at least 10 fields", "found 9"});
  expect_bad("\n\nATOM 2 H1 GLY A 1 21.421-103.562 16.781 0.294 1.821\n",
             ", line 3: ", {"expected a finite number for y", "'21.421-103.562'"});
  expect_bad("ATOM 2 H1 GLY A 1 21.4 3.562 16.781 0.14141.8240 2\n",
             ", line 1: ", {"number for charge", "'0.14141.8240'", "Separate"});
}

TEST_F(Pqr, missing_fields_never_shift_into_place) {
  expect_bad("ATOM 1 N GLY 1 21.421 3.562 16.781 0.294\n", ", line 1: ", {"at least 10 fields", "found 9"});
  expect_bad("ATOM 1 N GLY A 1 21.421 3.562 16.781 0.294\n", ", line 1: ", {"residue number before x", "'A'"});
  expect_bad("ATOM 1 N GLY 7 1 21.421 3.562 16.781 -0.294\n",
             ", line 1: ", {"radius that is not negative", "'-0.294'"});
  expect_bad("ATOM\t\n", ", line 1: ", {"at least 10 fields", "found 1"});
}

TEST_F(Pqr, only_finite_numbers_are_numbers) {
  for (const std::string bad :
       {"nan", "-nan", "inf", "1e999", "0x10", "1,5", "1.0D0", "abc", "-", "+", "+-1", "--1", "1.5."}) {
    SCOPED_TRACE(bad);
    expect_bad(good_line + "ATOM 2 H GLY 1 1.0 " + bad + " 3.0 0.5 1.0\n",
               ", line 2: ", {"expected a finite number for y", "'" + bad + "'"});
    expect_bad("ATOM 2 H GLY 1 1.0 2.0 3.0 0.5 " + bad + "\n", ", line 1: ", {"number for radius"});
  }
}

TEST_F(Pqr, two_models_are_refused) {
  expect_bad("MODEL 1\n" + good_line + "ENDMDL\nMODEL 2\n" + good_line + "ENDMDL\n",
             ", line 4: ", {"MODEL", "Keep one"});
}

TEST_F(Pqr, files_without_charges_are_refused) {
  expect_bad("", " holds no charges", {"ATOM or HETATM", "0 lines"});
  expect_bad("REMARK nothing\nEND\n", " holds no charges", {"2 lines"});
  expect_bad(std::string("\x89HDF\r\n\x1a\n\0\0\0\0", 12), " holds no charges", {});
}

TEST_F(Pqr, messages_hold_no_control_characters) {
  try {
    read("ATOM 2 H GLY 1 1.0 \x1b[31m\xff 3.0 0.5 1.0\n");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'?[31m?'"), std::string::npos) << error.what();
  }
}

TEST_F(Pqr, a_file_that_is_not_there_or_is_a_folder_is_missing) {
  for (const std::string& path : {path_ + ".no", std::filesystem::temp_directory_path().string()}) {
    try {
      read_pqr(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::missing_file);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
}

// The two molecules of data/, against what defines them.

double distance(const Molecule& molecule, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) sum += std::pow(molecule.position[3 * i + k] - molecule.position[3 * j + k], 2);
  return std::sqrt(sum);
}

TEST(PqrData, the_water_cluster_is_twenty_tip3p_molecules_in_a_cage) {
  const Molecule water = read_pqr(SMALLBATCH_SOURCE_DIR "/data/water_cluster.pqr");
  ASSERT_EQ(water.charge.size(), 60U);
  int neighbours = 0;
  for (std::size_t o = 0; o < 60; o += 3) {
    EXPECT_EQ(water.charge[o], -0.834);
    EXPECT_EQ(water.charge[o + 1], 0.417);
    EXPECT_EQ(water.charge[o + 2], 0.417);
    EXPECT_NEAR(distance(water, o, o + 1), 0.9572, 2e-4);
    EXPECT_NEAR(distance(water, o, o + 2), 0.9572, 2e-4);
    // The law of cosines: |HH| = 2 r sin(104.52 deg / 2).
    EXPECT_NEAR(distance(water, o + 1, o + 2), 2 * 0.9572 * std::sin(104.52 / 2 * std::numbers::pi / 180), 2e-4);
    for (std::size_t other = 0; other < o; other += 3) {
      EXPECT_GT(distance(water, o, other), 2.7);
      neighbours += distance(water, o, other) < 2.8;
    }
  }
  EXPECT_EQ(neighbours, 30);  // the edges of a dodecahedron
}

TEST(PqrData, the_salt_crystal_has_the_madelung_constant_of_rock_salt) {
  const Molecule salt = read_pqr(SMALLBATCH_SOURCE_DIR "/data/rock_salt.pqr");
  ASSERT_EQ(salt.charge.size(), 729U);
  EXPECT_EQ(std::accumulate(salt.charge.begin(), salt.charge.end(), 0.0), 0.0);
  double potential = 0;
  for (std::size_t i = 0; i < salt.charge.size(); ++i) {
    const double r = std::hypot(salt.position[3 * i], salt.position[3 * i + 1], salt.position[3 * i + 2]);
    if (r > 0) potential += salt.charge[i] / r;
  }
  // M / a; the cube of 9 ions a side with Evjen's weights is within 1e-4 of it.
  EXPECT_NEAR(potential * 2.8201, -1.7475645946331822, 2e-4);
}

}  // namespace
}  // namespace smallbatch
