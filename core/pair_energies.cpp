#include "core/pair_energies.hpp"

namespace smallbatch {

std::string describe_pair_energy_info(std::int32_t info) {
  if (info == 0) return "summed";
  if (info == info_values_out_of_range) return "an energy leaves the range of double";
  if (info < 0) return describe_potential_info(info);
  return "summed; " + (info == 1 ? "1 pair of charges lies" : std::to_string(info) + " pairs of charges lie") +
         " on one place";
}

}  // namespace smallbatch
