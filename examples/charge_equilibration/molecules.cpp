// Reads SDF files (MDL's "CTfile formats"). A record begins with its name, two lines of remarks and a line
// of counts. Atoms and bonds in fixed columns follow, then properties up to "M  END". Other data are ignored up to
// $$$$.
#include "molecules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string_view>

#include <smallbatch/core/error.hpp>

namespace charge_equilibration {
namespace {

using smallbatch::Error;
using smallbatch::ErrorKind;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, end + 1 - begin);
}

bool has_prefix(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

/// Reads lines of a text file. Its errors name the last line read.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw Error(ErrorKind::missing_file, "cannot read " + path_ + ". Check the name.");
  }

  bool next() {
    ++number_;
    return static_cast<bool>(std::getline(file_, line_));
  }
  void expect(const std::string& what) {
    if (!next()) fail("the file ends where " + what + " should be");
  }
  [[nodiscard]] const std::string& line() const { return line_; }
  /// Returns columns [begin, begin + width) without surrounding blanks.
  [[nodiscard]] std::string_view columns(std::size_t begin, std::size_t width) const {
    const std::string_view all = line_;
    return begin < all.size() ? trimmed(all.substr(begin, width)) : std::string_view{};
  }
  template <class Number>
  [[nodiscard]] Number number(std::size_t begin, std::size_t width, const std::string& what) const {
    const std::string_view text = columns(begin, width);
    Number value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(static_cast<double>(value)))
      fail("expected " + what + ", found '" + std::string(text) + "'");
    return value;
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::bad_input,
                path_ + ", line " + std::to_string(number_) + ": " + problem + ". Correct the file.");
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::string line_;
  int number_ = 0;
};

/// Returns the formal charge for a code in an atom's line; 4 is a radical.
double charge_of_code(int code) { return code == 0 || code == 4 ? 0 : 4 - code; }

void read_atoms(LineReader& file, int atoms, Molecule& molecule, std::vector<double>& formal_charge) {
  for (int k = 0; k < atoms; ++k) {
    file.expect("an atom");
    for (const std::size_t column : {0U, 10U, 20U})
      molecule.position.push_back(file.number<double>(column, 10, "a coordinate"));
    molecule.element.emplace_back(file.columns(31, 3));
    const bool has_code = !file.columns(36, 3).empty();
    formal_charge.push_back(has_code ? charge_of_code(file.number<int>(36, 3, "a code of a charge")) : 0);
  }
  molecule.highest_bond.assign(molecule.element.size(), 1);
}

void read_bonds(LineReader& file, int bonds, Molecule& molecule) {
  for (int k = 0; k < bonds; ++k) {
    file.expect("a bond");
    const int order = file.number<int>(6, 3, "the order of a bond");
    if (order < 1 || order > 3)
      file.fail("the bond's order is " + std::to_string(order) +
                ", but must be 1, 2 or 3 (bonds of aromatic rings are written as single and double ones)");
    for (const std::size_t column : {0U, 3U}) {
      const auto atom = file.number<std::size_t>(column, 3, "the number of an atom");
      if (atom < 1 || atom > molecule.highest_bond.size()) file.fail("there is no atom " + std::to_string(atom));
      int& highest = molecule.highest_bond[atom - 1];
      highest = std::max(highest, order);
    }
  }
}

/// Reads up to "M  END". If there are lines "M  CHG", they replace all charges of the atoms' lines.
void read_properties(LineReader& file, std::vector<double>& formal_charge) {
  bool has_charges = false;
  for (file.expect("M  END"); !has_prefix(file.line(), "M  END"); file.expect("M  END")) {
    if (!has_prefix(file.line(), "M  CHG")) continue;
    if (!has_charges) std::fill(formal_charge.begin(), formal_charge.end(), 0);
    has_charges = true;
    const auto entries = file.number<std::size_t>(6, 3, "the number of charges");
    for (std::size_t k = 0; k < entries; ++k) {
      const auto atom = file.number<std::size_t>(10 + 8 * k, 3, "the number of an atom");
      if (atom < 1 || atom > formal_charge.size()) file.fail("there is no atom " + std::to_string(atom));
      formal_charge[atom - 1] = file.number<int>(14 + 8 * k, 3, "a charge");
    }
  }
}

}  // namespace

std::vector<Molecule> read_sdf(const std::string& path) {
  LineReader file(path);
  std::vector<Molecule> molecules;
  while (file.next()) {
    Molecule molecule;
    molecule.name = trimmed(file.line());
    bool has_record = !molecule.name.empty();
    for (int remark = 0; remark < 2; ++remark) {
      if (!file.next()) break;
      has_record = has_record || !trimmed(file.line()).empty();
    }
    if (!file.next()) {  // blank lines may end the file
      if (has_record) file.fail("the file ends within a record");
      break;
    }
    if (file.columns(33, 6) != "V2000") file.fail("expected a line of counts that ends with V2000");
    const int atoms = file.number<int>(0, 3, "the number of atoms"),
              bonds = file.number<int>(3, 3, "the number of bonds");
    std::vector<double> formal_charge;
    read_atoms(file, atoms, molecule, formal_charge);
    read_bonds(file, bonds, molecule);
    read_properties(file, formal_charge);
    for (const double charge : formal_charge) molecule.net_charge += charge;
    while (file.next() && !has_prefix(file.line(), "$$$$")) {
    }
    molecules.push_back(std::move(molecule));
  }
  if (molecules.empty()) file.fail("there is no molecule");
  return molecules;
}

Parameters read_parameters(const std::string& path) {
  LineReader file(path);
  Parameters parameters;
  while (file.next()) {
    std::istringstream words(file.line().substr(0, file.line().find('#')));
    std::string element;
    if (!(words >> element)) continue;
    int order = 0;
    Parameters::Site site;
    if (element == "kappa" ? !(words >> parameters.kappa)
                           : !(words >> order >> site.electronegativity >> site.hardness))
      file.fail("expected 'kappa K' or an element, an order and two numbers");
    if (element != "kappa") parameters.site[{element, order}] = site;
  }
  if (!(parameters.kappa > 0)) file.fail("there is no kappa above 0");
  return parameters;
}

MoleculeSet make_set(const std::vector<Molecule>& molecules, const Parameters& parameters,
                     std::vector<std::string>& complaints) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  MoleculeSet set;
  set.kappa = parameters.kappa;
  for (const Molecule& molecule : molecules) {
    const std::string called = "molecule " + std::to_string(set.count()) + " (" + molecule.name + ")";
    if (molecule.element.size() > site_capacity) {
      throw Error(ErrorKind::bad_input, called + " has " + std::to_string(molecule.element.size()) +
                                            " atoms, but at most " + std::to_string(site_capacity) +
                                            " have room in a system. Leave it out.");
    }
    for (std::size_t k = 0; k < molecule.element.size(); ++k) {
      const auto found = parameters.site.find({molecule.element[k], molecule.highest_bond[k]});
      const bool known = found != parameters.site.end();
      set.electronegativity.push_back(known ? found->second.electronegativity : unknown);
      set.hardness.push_back(known ? found->second.hardness : unknown);
      if (!known) {
        complaints.push_back(called + ": no parameters for atom " + std::to_string(k + 1) + ", " + molecule.element[k] +
                             " with bonds of order " + std::to_string(molecule.highest_bond[k]));
      }
    }
    std::array<double, 3> least{}, greatest{};
    for (std::size_t i = 0; i < molecule.position.size(); ++i) {
      const double x = molecule.position[i];
      least[i % 3] = i < 3 ? x : std::min(least[i % 3], x);
      greatest[i % 3] = i < 3 ? x : std::max(greatest[i % 3], x);
    }
    for (std::size_t i = 0; i < molecule.position.size(); ++i)
      set.position.push_back(molecule.position[i] - (least[i % 3] + greatest[i % 3]) / 2);
    set.net_charge.push_back(molecule.net_charge);
    set.offset.push_back(static_cast<std::int64_t>(set.hardness.size()));
  }
  return set;
}

MoleculeSet with_copies(const MoleculeSet& set, std::int64_t copies, double displacement) {
  MoleculeSet all = set;
  std::mt19937_64 random(1);
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::int64_t copy = 1; copy < copies; ++copy) {
    const std::int64_t before = all.sites();
    for (const double x : set.position) {
      const double within_one = static_cast<double>(random() >> 11) * 0x1p-52 - 1;  // [-1, 1)
      all.position.push_back(x + displacement * within_one);
    }
    append(all.electronegativity, set.electronegativity);
    append(all.hardness, set.hardness);
    append(all.net_charge, set.net_charge);
    for (std::size_t m = 1; m < set.offset.size(); ++m) all.offset.push_back(before + set.offset[m]);
  }
  return all;
}

double half_extent(const MoleculeSet& set) {
  double half = 0;
  for (const double x : set.position) half = std::max(half, std::abs(x));
  return half;
}

}  // namespace charge_equilibration
