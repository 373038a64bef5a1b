// Charges of molecules from other people's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

/// position (n,3) in angstrom, charge (n) in e.
struct Molecule {
  std::vector<double> position, charge;
  std::vector<std::int8_t> atomic_number;  ///< (n), 0 where it is not known (io/interchange/elements.hpp); may be empty
};

/// A PQR file as io/FORMAT.md says, read once: it may be a pipe. Throws Error naming file and line.
Molecule read_pqr(const std::string& path);

}  // namespace smallbatch
