// Molecules from an SDF file, and what the equilibration has to know of their atoms.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "equilibration.hpp"

namespace charge_equilibration {

/// As the file has it.
struct Molecule {
  std::string name;
  std::vector<std::string> element;
  std::vector<int> highest_bond;  ///< the highest order of an atom's bonds; 1 where it has none
  std::vector<double> position;   ///< (atoms, 3), angstrom
  double net_charge = 0;          ///< the sum of formal charges, e
};

/// All records of a file of the version V2000, with bonds in Kekule's form. Throws smallbatch::Error naming file and
/// line.
std::vector<Molecule> read_sdf(const std::string& path);

struct Parameters {
  struct Site {
    double electronegativity = 0, hardness = 0;
  };
  double kappa = 0;
  std::map<std::pair<std::string, int>, Site> site;  ///< by element and highest bond order
};

/// "kappa K" and lines "element order A B"; # begins a comment. Throws smallbatch::Error naming file and line.
Parameters read_parameters(const std::string& path);

/// Arrays for all molecules, one after the other.
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

/// Each molecule moved so that the box around its atoms has its centre at 0. Atoms without parameters get NaN, so that
/// their molecule fails alone, and a sentence in `complaints`. Throws smallbatch::Error for a molecule of more than
/// site_capacity atoms.
MoleculeSet make_set(const std::vector<Molecule>& molecules, const Parameters& parameters,
                     std::vector<std::string>& complaints);

/// The set, and after it copies of it until there are `copies`, every coordinate of whose atoms is moved by up to
/// `displacement` (angstrom), by random numbers that are the same every time.
MoleculeSet with_copies(const MoleculeSet& set, std::int64_t copies, double displacement);

/// Half the side of the cube around 0 that holds all atoms, angstrom.
double half_extent(const MoleculeSet& set);

}  // namespace charge_equilibration
