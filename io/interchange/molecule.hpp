// Charges of molecules from files of other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

/// Charges of one molecule: position (n,3) in angstrom, charge (n) in e.
struct Molecule {
  std::vector<double> position, charge;
  std::vector<std::int8_t> atomic_number;  ///< (n), 0: unknown (io/interchange/elements.hpp); may be empty
};

/// Reads a PQR file (io/FORMAT.md). Reads it once, so it may be a pipe. Throws Error naming file and line.
Molecule read_pqr(const std::string& path);

}  // namespace smallbatch
