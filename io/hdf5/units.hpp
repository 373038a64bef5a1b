// `unit` attributes. Private to io/.
#pragma once

#include <optional>
#include <string>

#include "io/hdf5/input.hpp"

namespace smallbatch {

/// Factor to angstrom from the object's attribute `unit`; nothing where it has none. Unknown units are an error that
/// lists the known ones.
std::optional<double> length_unit(const InputFile& file, const std::string& object);

/// Factor to e, likewise.
std::optional<double> charge_unit(const InputFile& file, const std::string& object);

}  // namespace smallbatch
