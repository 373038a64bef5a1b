#include "core/potentials.hpp"

namespace smallbatch {

std::string describe_potential_info(std::int32_t info) {
  switch (info) {
    case 0:
      return "evaluated";
    case info_charges_not_finite:
      return "a position, a charge, a width or a point is a NaN or an infinity, or a width is negative";
    case info_charges_out_of_range:
      return "a position, a charge, a width or a point is out of range";
    case info_values_out_of_range:
      return "evaluated, but V or E leaves the range of its type";
    default:
      break;
  }
  if (info > 0) return "evaluated; charges on targets: " + std::to_string(info);
  return "unknown status " + std::to_string(info);
}

}  // namespace smallbatch
