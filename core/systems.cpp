#include "core/systems.hpp"

namespace smallbatch {

std::int64_t bytes_of_numbers(ScalarType type, const SpdShape& shape) {
  std::int64_t bytes = sizeof(std::int32_t);
  for_each_spd_number(type, [&]<class T, class V>(const SpdNumber<T, V>& number) {
    if (number.is_of(shape)) bytes += static_cast<std::int64_t>(sizeof(V));
  });
  return bytes;
}

std::string describe_spd_info(std::int32_t info) {
  switch (info) {
    case 0:
      return "solved";
    case info_matrix_not_finite:
      return "A holds a NaN or an infinity";
    case info_matrix_not_symmetric:
      return "A is not symmetric";
    case info_rhs_not_finite:
      return "b holds a NaN or an infinity";
    case info_result_not_finite:
      return "the solution overflowed";
    case info_result_underflowed:
      return "the solution underflowed";
    case info_size_out_of_range:
      return "its size is not within 0 to n";
    default:
      break;
  }
  if (info > 0) return "pivot " + std::to_string(info) + " is not positive";
  return "unknown status " + std::to_string(info);
}

}  // namespace smallbatch
