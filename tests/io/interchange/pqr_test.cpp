// PQR files of many tools are read, and damaged ones are refused.
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
#include "io/interchange/molecule.hpp"

namespace smallbatch {
namespace {

class Pqr : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Molecule read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return read_pqr(path_);
  }
  /// Expects bad_input with a message that names the file, the line and these words.
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
      "TER\n"
      "HETATM10000 CA CA A1001A 10. +2.5 -.5 2 0\n"
      "ENDMDL\n"
      "END");
  EXPECT_EQ(molecule.position, (std::vector<double>{21.421, -3.562, 16.781, 0.284, 8.554, 16.851, 10, 2.5, -0.5}));
  EXPECT_EQ(molecule.charge, (std::vector<double>{0.294, -0.0962, 2}));
}

TEST_F(Pqr, no_atom_is_lost_for_what_stands_before_it) {
  for (const std::string before : {"", "  ", "\t", "\xef\xbb\xbf", "\xef\xbb\xbf "})  // the mark of UTF-8
    for (const std::string name : {"ATOM", "atom", "Hetatm"}) {
      const Molecule molecule = read(before + name + " 1 N GLY 1 1. 2. 3. 0.5 1.5\n" + good_line);
      EXPECT_EQ(molecule.charge, (std::vector<double>{0.5, 0.294})) << before << name;
    }
  const std::string returns = "REMARK\rATOM 1 N GLY 1 1 2 3 0.5 1.5\rATOM 2 N GLY 1 1 2 3 0.5 1.5\r";
  expect_bad(good_line + returns + "\n" + good_line, ", line 2: ", {"carriage return", "End lines by line feeds"});
}

TEST_F(Pqr, whatever_touches_the_record_is_a_serial) {
  for (const std::string record : {"ATOM", "HETATM", "hetatm"})
    for (const std::string serial :
         {"1", "63667", "100000", "A0000", "186a0", "fffff", "*****", "-1", "zZ9z9", " *****"}) {
      const Molecule molecule =
          read(good_line + record + serial + " ZN    ZN A 502      91.938  16.527 207.262  2.000   1.400\n");
      EXPECT_EQ(molecule.charge, (std::vector<double>{0.294, 2})) << record << serial;
    }
}

TEST_F(Pqr, a_line_that_is_no_known_record_is_named) {
  const std::string rest = "      2  N   GLY     1      21.421   3.562  16.781   0.294   1.821\n";
  for (const std::string record : {"ATAM", "AT0M", "HETATOM", "HETTAM", "TOM", "A", "\"ATOM", "'HETATM",
                                   "\xc2\xa0"
                                   "ATOM",
                                   "\xa0"
                                   "ATOM",
                                   "\xef\xbb\xbf"
                                   "ATOM",
                                   "REMARKED", "TERMINAL", "ENDED", "MODELS", "-", "1"})
    expect_bad(good_line + record + rest, ", line 2: ", {"begins no line", "ATOM or HETATM", "REMARK or #"});
  for (const std::string& line :
       {std::string("AT\0OM", 5) + rest, std::string("REMARK\0", 7) + rest, std::string(1, '\0') + "\n"})
    expect_bad(good_line + line, ", line 2: ", {"zero bytes"});
  for (const std::string blank : {"\xc2\xa0", "\xa0", "\x01", "\x1b"})  // a no-break blank is the likeliest
    expect_bad(good_line + "ATOM 2 N" + blank + " GLY 1 1. 2. 3. 0.5 1.5\n", ", line 2: ", {"no-break blank", "'N?"});
}

TEST_F(Pqr, records_of_pdb_are_no_atoms) {
  for (const std::string record :
       {"HEADER",    "TITLE",       "COMPND",      "SOURCE", "KEYWDS", "EXPDTA", "AUTHOR", "REVDAT", "JRNL",
        "REMARK",    "DBREF",       "DBREF1",      "SEQADV", "SEQRES", "MODRES", "HET",    "HETNAM", "HETSYN",
        "FORMUL",    "HELIX",       "SHEET",       "SSBOND", "LINK",   "CISPEP", "SITE",   "CRYST1", "ORIGX1",
        "SCALE2",    "MTRIX3",      "ANISOU",      "SIGATM", "TER",    "CONECT", "MASTER", "USER",   "remark",
        "REMARK999", "CONECT10000", "ANISOU10000", "#",      "# ATOM", "% ATOM", "#ATOM"})
    EXPECT_EQ(read(record + "      1  N   GLY     1      21.421   3.562  16.781\n" + good_line).charge,
              std::vector<double>{0.294})
        << record;
  EXPECT_EQ(read(good_line + "TER\n" + good_line + "END\nREMARK\nEND\n\n").charge.size(), 2U);
}

TEST_F(Pqr, atoms_after_the_end_are_those_of_another_model) {
  for (const std::string end : {"END", "end", "ENDMDL", "END   ", "MODEL 2"}) {
    const std::string molecule = good_line + good_line;
    expect_bad(molecule + end + "\nREMARK\n" + good_line,
               end == "MODEL 2" ? ", line 3: " : ", line 5: ", {"models", "Keep one"});
    EXPECT_EQ(read("END\nTER\n" + molecule + (end == "MODEL 2" ? "" : end)).charge.size(), 2U) << end;
  }
}

TEST_F(Pqr, reads_what_the_usual_writers_write) {
  struct Written {
    const char* line;
    std::vector<double> numbers;
    int element;
  };
  for (const auto& [line, numbers, element] : std::vector<Written>{
           // Lines of PDB2PQR, APBS's examples, GROMACS (with and without chain), Open Babel, Biopython, ParmEd,
           // fpocket
           {"ATOM   1700  N    ALA B   1       0.439   8.268  18.275   0.1414  1.8240 ",
            {0.439, 8.268, 18.275, 0.1414},
            7},
           {"ATOM      0  C   CHG A0          -3.743   1.181  -1.978 -0.1550  1.8700",
            {-3.743, 1.181, -1.978, -0.155},
            6},
           {"ATOM      3  O    SI     2      11.240   8.910  14.050 -0.81  1.52           O",
            {11.24, 8.91, 14.05, -0.81},
            8},
           {"ATOM  13855  N   POPE0 522      90.878  72.350  68.454 -0.29  1.65           N",
            {90.878, 72.35, 68.454, -0.29},
            7},
           {"ATOM  15105  OW  SOL 0 532      16.405   8.140  68.984 -0.82  1.65           O",
            {16.405, 8.14, 68.984, -0.82},
            8},
           {"ATOM      1  X1  LIG     1       1.204  -0.377   0.815 -0.0510   1.700 Cl",
            {1.204, -0.377, 0.815, -0.051},
            17},
           {"ATOM      1  C   LIG     1       1.204  -0.377   0.815 -0.0510   1.700 C1-",
            {1.204, -0.377, 0.815, -0.051},
            6},
           {"ATOM      1 N    MET A   1      27.340  24.430   2.614 -0.4157  1.8240       N",
            {27.34, 24.43, 2.614, -0.4157},
            7},
           {"ATOM      1  N    GLY     1      21.421   3.562  16.781   0.2940   1.8210",
            {21.421, 3.562, 16.781, 0.294},
            7},
           {"ATOM      1  N   MET A   1      27.340  24.430   2.614  -0.4157 1.8240 # amber 1 2 3",
            {27.34, 24.43, 2.614, -0.4157},
            7},
           {"ATOM      1  N   MET A   1      27.340  24.430   2.614  -0.4157 1.8240 %",
            {27.34, 24.43, 2.614, -0.4157},
            7},
           {"ATOM      1  N   THR H  36 A      1.000   2.000   3.000 -0.3000 1.8500", {1, 2, 3, -0.3}, 7},
           {"ATOM      1  N   THR H  36A      1.000   2.000   3.000 -0.3000 1.8500", {1, 2, 3, -0.3}, 7},
           {"ATOM      1  N   THR   36 A      1.000   2.000   3.000 -0.3000 1.8500", {1, 2, 3, -0.3}, 7},
           {"ATOM      1  N   THR 1 36        1.000   2.000   3.000 -1 2", {1, 2, 3, -1}, 7},
           {"ATOM 1 N THR -36 1.5e+01 2e-05 3E+00 -1e-1 2", {15, 2e-5, 3, -0.1}, 7},
           // Columns that touch.
           {"ATOM  70412  O   GLU C  31     -61.220-118.903  40.117 -0.8188 1.6612",
            {-61.22, -118.903, 40.117, -0.8188},
            8},
           {"ATOM      1    C STP     1     -31.005  48.112-140.660    0.00     3.45",
            {-31.005, 48.112, -140.66, 0},
            6},
           {"HETATM99999  O   HOH A9999    -161.220-118.903-140.117 -0.8188 1.6612",
            {-161.22, -118.903, -140.117, -0.8188},
            8},
           {"ATOM   5346  O   ASN A 664     -34.085 -67.825-100.826-10.00  1.52           O",
            {-34.085, -67.825, -100.826, -10},
            8},
           {"ATOM  99999  OH2 TIP3W4688     -45.718  33.076 -59.515  -0.834  1.768",
            {-45.718, 33.076, -59.515, -0.834},
            8},
           {"ATOM  186a0 HG11AVAL A1000    1000.0001000.0001000.000  -0.834  1.768", {1000, 1000, 1000, -0.834}, 1},
       }) {
    const Molecule molecule = read(std::string(line) + "\n");
    EXPECT_EQ(molecule.position, std::vector<double>(numbers.begin(), numbers.begin() + 3)) << line;
    EXPECT_EQ(molecule.charge, std::vector<double>{numbers[3]}) << line;
    EXPECT_EQ(molecule.atomic_number, std::vector<std::int8_t>{static_cast<std::int8_t>(element)}) << line;
  }
}

/// The test leaves out one of x, y, z, charge and radius, or inserts numbers before one of them or at the end.
TEST_F(Pqr, no_column_more_or_less_shifts_the_numbers) {
  const std::vector<std::string> numbers{"21.421", "-3.562", "16.781", "-0.294", "1.821"};
  const auto line = [](const std::string& before, const std::vector<std::string>& from_x) {
    std::string text = before;
    for (const std::string& number : from_x) text += "  " + number;
    return text;
  };
  for (const std::string before :
       {"ATOM 2 N GLY 1", "ATOM 2 N GLY A 1", "HETATM99999 N GLY A1000", "ATOM 2 N GLY A 1 B", "ATOM 2 1HB GLY -1 C"})
    for (const std::string behind : {"", " N", " # text"})
      for (std::size_t i = 0; i <= numbers.size(); ++i) {
        if (i < numbers.size()) {
          auto fewer = numbers;
          fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
          expect_bad(good_line + line(before, fewer) + behind + "\n", ", line 2: ", {"expected"});
        }
        for (const std::string put : {"1.00", "0.5 9.67", "1.00 0.00", "-0.1", ".5"}) {
          auto more = numbers;
          more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), put);
          expect_bad(good_line + line(before, more) + behind + "\n", ", line 2: ", {"expected"});
        }
      }
}

TEST_F(Pqr, a_coordinate_has_a_decimal_point_and_a_residue_number_has_none) {
  for (const std::string numbers : {"21 3.562 16.781", "21.421 3 16.781", "21.421 3.562 16", "1e1 3.562 16.781"})
    expect_bad(good_line + "ATOM 2 N GLY 1 " + numbers + " 0.294 1.821\n", ", line 2: ", {"expected"});
  expect_bad(good_line + "ATOM 2 N GLY 1.5 21.421 3.562 16.781 0.294 1.821\n", ", line 2: ", {"expected"});
  for (const std::string number : {"A000", "****", "1", "-5", "186A", "A1001B", "zzzz9"}) {
    EXPECT_EQ(read("ATOM 2 N GLY " + number + " 21.421 3.562 16.781 0.294 1.821\n").charge, std::vector<double>{0.294})
        << number;
    EXPECT_EQ(read("ATOM 2 N GLY A " + number + " 21.421 3.562 16.781 0.294 1.821\n").charge,
              std::vector<double>{0.294})
        << number;
    expect_bad("ATOM 2 N GLY " + number + " 21.421 3.562 16.781 0.294\n",
               ", line 1: ", {"found 4 of the five numbers"});
  }
  for (const std::string none : {"A", "GLY", "1,5", "(1)"})
    expect_bad("ATOM 2 N GLY " + none + " 21.421 3.562 16.781 0.294 1.821\n",
               ", line 1: ", {"residue number", "A000 or ****", "'" + none + "'"});
}

std::string pdb_line(const std::string& from_occupancy, int serial = 1) {
  return "ATOM      " + std::to_string(serial) + "  N   MET A   1      27.340  24.430   2.614" + from_occupancy + "\n";
}

TEST_F(Pqr, pdb_files_are_no_pqr_files) {
  for (const std::string rest :
       {"  1.00  9.67", "  1.00  9.67           N", "  1.00  9.67           N1+", "  1.00  0.00      PROA N",
        "  0.50100.00", "  0.00  0.00", "  1.00 10.38      1UBQ", "  1.00-10.38           N"})
    for (const std::string header : {"", "HEADER    CHROMOSOMAL PROTEIN\n", "\xef\xbb\xbf"})
      expect_bad(header + pdb_line(rest) + pdb_line(rest, 2), " is a PDB file", {"occupancies", "pdb2pqr", "PQR"});
  // A few atoms in a hundred may differ, and the file is still a PDB file.
  std::string text;
  for (int k = 0; k < 100; ++k) text += pdb_line(k == 30 ? "  1.001000.00" : k == 31 ? " -1.00  0.00" : "  1.00 10.00");
  expect_bad(text, " is a PDB file", {"occupancies"});
  // GROMACS has charges and radii in the same columns.
  EXPECT_EQ(read(pdb_line("  0.16  1.62           N") + pdb_line(" -0.81  1.52           O")).charge,
            (std::vector<double>{0.16, -0.81}));
  EXPECT_EQ(read(pdb_line("  1.00  1.62")).charge, std::vector<double>{1});  // an ion
  expect_bad(pdb_line("  1.00 84.71           N"), " is a PDB file", {"occupancies"});
}

TEST_F(Pqr, other_kinds_of_text_are_named) {
  expect_bad("# comment\n@<TRIPOS>MOLECULE\nbenzene\n", " is a mol2 file", {"line 2", "Open Babel"});
  for (const std::string begin : {"data_1UBQ\n", "#\nloop_\n", "_atom_site.group_PDB\n"})
    expect_bad(begin + "loop_\n_atom_site.id\nATOM 1 N N . MET A 1 1 ? 27.340 24.430 2.614 1.00 9.67\n",
               " is a CIF file", {"pdb2pqr"});
}

TEST_F(Pqr, a_last_line_without_newline_counts) {
  EXPECT_EQ(read(good_line.substr(0, good_line.size() - 1)).charge, std::vector<double>{0.294});
}

struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST_F(Pqr, numbers_do_not_depend_on_the_locale) {
  // C++ streams follow the facet. C functions follow a German or French locale, if the machine has one.
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimals));
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  const Molecule molecule = read(good_line);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(molecule.position, (std::vector<double>{21.421, 3.562, 16.781}));
}

TEST_F(Pqr, columns_that_touch_elsewhere_are_named_with_their_line) {
  expect_bad(good_line + " ATOM      2  H1  GLY     1      21.421-103.562  16.781   0.294   1.821\n",
             ", line 2: ", {"expected a finite number for x", "'21.421-103.562'", "Separate"});
  expect_bad("\n\nATOM 2 H1 GLY A 1 21.421-103.562 16.781 0.294 1.821\n",
             ", line 3: ", {"expected a finite number for x", "'21.421-103.562'"});
  expect_bad("ATOM 2 H1 GLY A 1 21.4 3.562 16.781 0.14141.8240 2\n",
             ", line 1: ", {"number for charge", "'0.14141.8240'", "Separate"});
  // Fields touch, and begin a column late, or have only two decimals because PDB2PQR cuts wide numbers.
  expect_bad("ATOM      2  H1  GLY      1     -321.421-103.562  16.781   0.294   1.821\n",
             ", line 1: ", {"'-321.421-103.562'"});
  expect_bad("ATOM      2  H1  GLY     1    -1021.421-103.562  16.781   0.294   1.821\n",
             ", line 1: ", {"'-1021.421-103.562'"});
  expect_bad("ATOM      2  H1  GLY     1      21.421-1103.56  16.781   0.294   1.821\n",
             ", line 1: ", {"'21.421-1103.56'"});
}

TEST_F(Pqr, missing_fields_never_shift_into_place) {
  expect_bad("ATOM 1 N GLY 1 21.421 3.562 16.781 0.294\n", ", line 1: ", {"found 4 of the five numbers"});
  expect_bad("ATOM 1 N GLY A 1 21.421 3.562 16.781 0.294\n", ", line 1: ", {"found 4 of the five numbers"});
  expect_bad("ATOM 1 N GLY A 21.421 3.562 16.781 0.294 1.8\n", ", line 1: ", {"residue number", "before x", "'A'"});
  expect_bad("ATOM 1 N GLY 21.421 3.562 16.781 0.294 1.8\n", ", line 1: ", {"found 3 fields"});
  expect_bad("ATOM 1 N GLY 7 1 21.421 3.562 16.781 1.0 -0.294\n",
             ", line 1: ", {"radius that is not negative", "'-0.294'"});
  for (const std::string line : {"ATOM\t\n", "ATOM\n", "HETATM", "ATOMIC data are not atoms 1 2 3 4 5\n"})
    expect_bad(line, ", line 1: ", {"expected", "fields"});
}

TEST_F(Pqr, only_finite_numbers_are_numbers) {
  for (const std::string bad :
       {"nan", "-nan", "inf", "1e999", "0x10", "1,5", "1.0D0", "abc", "-", "+", "+-1", "--1", "1.5."}) {
    SCOPED_TRACE(bad);
    expect_bad(good_line + "ATOM 2 H GLY 1 1.0 " + bad + " 3.0 0.5 1.0\n",
               ", line 2: ", {"expected a finite number for y", "'" + bad + "'"});
    expect_bad("ATOM 2 H GLY 1 1.0 2.0 3.0 0.5 " + bad + "\n", ", line 1: ", {"number for radius"});
    expect_bad("ATOM 2 H GLY 1 " + bad + " 1.0 2.0 0.5 1.5\n", ", line 1: ", {"expected"});
  }
}

TEST_F(Pqr, two_models_are_refused) {
  expect_bad("MODEL 1\n" + good_line + "ENDMDL\nMODEL 2\n" + good_line + "ENDMDL\n",
             ", line 4: ", {"MODEL", "Keep one"});
}

TEST_F(Pqr, files_without_charges_are_refused) {
  expect_bad("", " holds no charges", {"it is empty"});
  expect_bad("REMARK nothing\nEND\n", " holds no charges", {"ATOM or HETATM", "2 lines"});
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

// The two molecules in data/ fit their definitions.

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
  // V in the middle is Madelung's constant divided by the distance of neighbours. A cube with 9 ions per side and
  // Evjen's weights is within 1e-4 of it.
  EXPECT_NEAR(potential * 2.8201, -1.7475645946331822, 2e-4);
}

}  // namespace
}  // namespace smallbatch
