#include "io/hdf5_types.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "io/hdf5_handles.hpp"

namespace smallbatch {

ElementType element_type(hid_t type) {
  const std::array<std::pair<hid_t, ElementType>, 10> known{{{H5T_IEEE_F32LE, ElementType::float32},
                                                             {H5T_IEEE_F32BE, ElementType::float32},
                                                             {H5T_IEEE_F64LE, ElementType::float64},
                                                             {H5T_IEEE_F64BE, ElementType::float64},
                                                             {H5T_STD_I8LE, ElementType::int8},
                                                             {H5T_STD_I8BE, ElementType::int8},
                                                             {H5T_STD_I32LE, ElementType::int32},
                                                             {H5T_STD_I32BE, ElementType::int32},
                                                             {H5T_STD_I64LE, ElementType::int64},
                                                             {H5T_STD_I64BE, ElementType::int64}}};
  for (const auto& [id, element] : known)
    if (H5Tequal(type, id) > 0) return element;
  return ElementType::other;
}

bool is_integer(hid_t type) {
  const std::array known{H5T_STD_I8LE,  H5T_STD_I8BE,  H5T_STD_U8LE,  H5T_STD_U8BE,  H5T_STD_I16LE, H5T_STD_I16BE,
                         H5T_STD_U16LE, H5T_STD_U16BE, H5T_STD_I32LE, H5T_STD_I32BE, H5T_STD_U32LE, H5T_STD_U32BE,
                         H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE, H5T_STD_U64BE};
  return std::ranges::any_of(known, [type](hid_t id) { return H5Tequal(type, id) > 0; });
}

bool is_float(hid_t type) {
  const ElementType found = element_type(type);
  return found == ElementType::float32 || found == ElementType::float64;
}

bool is_string(hid_t type) {
  if (H5Tget_class(type) != H5T_STRING) return false;
  const H5T_cset_t characters = H5Tget_cset(type);
  const H5T_str_t padding = H5Tget_strpad(type);
  if (characters != H5T_CSET_ASCII && characters != H5T_CSET_UTF8) return false;
  if (padding != H5T_STR_NULLTERM && padding != H5T_STR_NULLPAD && padding != H5T_STR_SPACEPAD) return false;
  if (H5Tis_variable_str(type) <= 0) return true;
  const Hdf5Handle character(H5Tget_super(type), H5Tclose);
  return character.valid() && H5Tget_class(character.get()) == H5T_INTEGER && H5Tget_size(character.get()) == 1;
}

std::string type_text(hid_t type) {
  const std::string bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_FLOAT: {
      const bool is_ieee = element_type(type) != ElementType::other || bits == "16";
      return (is_ieee ? "float" : "a float that is not IEEE, bits: ") + bits;
    }
    case H5T_INTEGER:
      if (!is_integer(type)) return "an integer with unused bits, bits: " + bits;
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + bits;
    case H5T_STRING:
      return std::string(is_string(type) ? "" : "unknown kind of ") +
             (H5Tis_variable_str(type) > 0 ? "variable-length string" : "string");
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN:
      return "variable-length data";
    case H5T_ARRAY:
      return "array type";
    case H5T_REFERENCE:
      return "reference";
    default:
      return "a type that is no number";
  }
}

}  // namespace smallbatch
