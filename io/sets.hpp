// What a file declares about its problem sets: everything but the numbers. FORMAT.md is the contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/batch.hpp"
#include "core/units.hpp"

namespace smallbatch {

/// /solve/<name>
struct SolveSet {
  std::string name;
  ScalarType type = ScalarType::float32;
  SpdShape shape;
  bool rhs_is_vector = true;  ///< b and x are (batch, n); false: (batch, n, nrhs)
  std::int64_t batch = 0;
};

/// /potential/<name>. Lengths are in angstrom here, whatever unit the file uses.
struct PotentialSet {
  std::string name;
  std::int64_t batch = 1;
  std::vector<std::int64_t> offset;     ///< (batch + 1), from 0 to the number of charges
  LatticeShape shape;
  std::vector<double> origin, spacing;  ///< (batch, 3), also where the file has one for all
  PotentialUnit output_unit = PotentialUnit::volt;
  double temperature = default_temperature_kelvin;  ///< kelvin; matters for kT/e
  ScalarType type = ScalarType::float64;            ///< of the charges' datasets in the file
  std::string particles;                            ///< H5MD group the charges come from; empty: datasets of the set

  [[nodiscard]] std::int64_t charges() const { return offset.empty() ? 0 : offset.back(); }
  [[nodiscard]] double unit_factor() const { return potential_unit_factor(output_unit, temperature); }
};

}  // namespace smallbatch
