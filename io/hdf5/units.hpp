// Reads `unit` attributes. Private to io/.
#pragma once

#include <optional>
#include <string>

#include "io/hdf5/input.hpp"

namespace smallbatch {

/// Returns the factor from the object's attribute `unit` to angstrom, or nothing if it has no such attribute. An
/// unknown unit is an error that lists the known units.
std::optional<double> length_unit(const InputFile& file, const std::string& object);

/// Returns the factor from the object's attribute `unit` to e, or nothing if it has no such attribute.
std::optional<double> charge_unit(const InputFile& file, const std::string& object);

}  // namespace smallbatch
