// Charges of molecules from other people's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

/// position (n,3) in angstrom, charge (n) in e.
struct Molecule {
  std::vector<double> position, charge;
};

/// A PQR file: the last five fields of every ATOM and HETATM line are x y z charge radius. Throws Error naming file and
/// line.
Molecule read_pqr(const std::string& path);

}  // namespace smallbatch
