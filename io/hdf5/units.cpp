#include "io/hdf5/units.hpp"

#include "core/units.hpp"

namespace smallbatch {
namespace {

std::optional<double> unit(const InputFile& file, const std::string& object,
                           std::optional<double> (*parse)(std::string_view), const std::string& things,
                           const std::string& known) {
  const auto name = file.string(object, "unit");
  if (!name) return std::nullopt;
  const auto factor = parse(*name);
  if (!factor) {
    throw file.error(object + "@unit",
                     "expected a unit of " + things + ", one of " + known + ", found " + quoted(*name),
                     "Name the unit of the numbers, or convert them.");
  }
  return factor;
}

}  // namespace

std::optional<double> length_unit(const InputFile& file, const std::string& object) {
  return unit(file, object, length_unit_in_angstrom, "lengths", "angstrom, nm, pm, bohr, m");
}

std::optional<double> charge_unit(const InputFile& file, const std::string& object) {
  return unit(file, object, charge_unit_in_e, "charges", "e, C");
}

}  // namespace smallbatch
