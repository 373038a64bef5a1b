// Which antennas the inputs of a set are feeds of, for files that know antennas and polarisations. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/interchange/uvh5_rows.hpp"
#include "io/sets.hpp"

namespace smallbatch {

using Place = std::array<double, 3>;

/// An antenna, in the order in which the inputs name them.
struct Antenna {
  std::int64_t number = 0, first_input = 0;
  Place position{};  ///< east, north and up
};

/// What the file says besides visibilities, of a set that no file has said it of.
struct AntennaArray {
  std::vector<Antenna> antennas;
  Uvh5Rows rows;
  std::string assumed;
};

/// By the set's labels and places; see write_uvh5().
AntennaArray array_of(const CorrelationSet& set);

/// Throws Error(bad_input): "cannot write correlation/a as UVH5 (<why>). <remedy>".
[[noreturn]] void refuse_uvh5(const CorrelationSet& set, const std::string& why, const std::string& remedy);

}  // namespace smallbatch
