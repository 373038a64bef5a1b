// Molecules from an SDF file, and the parameters of their atoms.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "equilibration.hpp"

namespace charge_equilibration {

/// A molecule as the file has it.
struct Molecule {
  std::string name;
  std::vector<std::string> element;
  std::vector<int> highest_bond;  ///< highest order of each atom's bonds; 1 without bonds
  std::vector<double> position;   ///< (atoms, 3), angstrom
  double net_charge = 0;          ///< the sum of formal charges, e
};

/// Reads all records of a file of version V2000 with bonds in Kekule's form. Throws smallbatch::Error with file and
/// line.
std::vector<Molecule> read_sdf(const std::string& path);

struct Parameters {
  struct Site {
    double electronegativity = 0, hardness = 0;
  };
  double kappa = 0;
  std::map<std::pair<std::string, int>, Site> site;  ///< by element and highest bond order
};

/// Reads a line "kappa K" and lines "element order A B"; # begins a comment. Throws smallbatch::Error with file and
/// line.
Parameters read_parameters(const std::string& path);

/// Arrays of all molecules, one molecule after the other.
struct MoleculeSet {
  std::vector<std::int64_t> offset{0};
  std::vector<double> position, electronegativity, hardness, net_charge;
  double kappa = 0;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(net_charge.size()); }
  [[nodiscard]] std::int64_t sites() const { return offset.back(); }
  [[nodiscard]] SiteBatch view() const {
    return {count(),           offset.data(), position.data(), electronegativity.data(), hardness.data(),
            net_charge.data(), kappa};
  }
};

/// Puts the molecules into one set. Each is moved so that the box around its atoms is centred at 0. Atoms without
/// parameters get NaN and a sentence in `complaints`, so only their molecule fails. Throws smallbatch::Error for a
/// molecule of more than site_capacity atoms.
MoleculeSet make_set(const std::vector<Molecule>& molecules, const Parameters& parameters,
                     std::vector<std::string>& complaints);

/// Returns the set followed by copies of it, `copies` sets in total. Every coordinate of a copy is moved by up to
/// `displacement` (angstrom). The random numbers are the same in every run.
MoleculeSet with_copies(const MoleculeSet& set, std::int64_t copies, double displacement);

/// Returns half the side of the cube around 0 that holds all atoms, in angstrom.
double half_extent(const MoleculeSet& set);

}  // namespace charge_equilibration
