// Assignment of a set's inputs to feeds of antennas, for files that have antennas and polarisations. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/interchange/uvh5_rows.hpp"
#include "io/sets.hpp"

namespace smallbatch {

using AntennaPosition = std::array<double, 3>;

/// One antenna. Antennas have the order in which the inputs name them.
struct Antenna {
  std::int64_t number = 0, first_input = 0;
  AntennaPosition position{};  ///< east, north and up
};

/// Antennas and rows of a UVH5 file, for a set that was not imported from a UVH5 file.
struct AntennaArray {
  std::vector<Antenna> antennas;
  Uvh5Rows rows;
  std::string assumed;
};

/// Assigns inputs to antennas by the labels and positions of the set. write_uvh5() lists the assumptions.
AntennaArray array_of(const CorrelationSet& set);

/// Throws Error(bad_input): "cannot write correlation/a as UVH5 (<why>). <remedy>".
[[noreturn]] void refuse_uvh5(const CorrelationSet& set, const std::string& why, const std::string& remedy);

}  // namespace smallbatch
