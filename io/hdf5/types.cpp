#include "io/hdf5/types.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "io/hdf5/handles.hpp"

namespace smallbatch {
namespace {

/// Whether member `index` of a compound or an enumeration has this name.
bool is_named(hid_t type, unsigned index, std::string_view expected) {
  char* const name = H5Tget_member_name(type, index);
  const bool found = name && name == expected;
  H5free_memory(name);
  return found;
}

/// Whether the type is a compound {r, i} of two numbers of one type, without gaps.
bool is_complex(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2 || !is_named(type, 0, "r") ||
      !is_named(type, 1, "i")) {
    return false;
  }
  const Hdf5Handle real(H5Tget_member_type(type, 0), H5Tclose), imaginary(H5Tget_member_type(type, 1), H5Tclose);
  const std::size_t bytes = H5Tget_size(real.get());
  return element_type(real.get()) != ElementType::other && H5Tequal(real.get(), imaginary.get()) > 0 &&
         H5Tget_member_offset(type, 0) == 0 && H5Tget_member_offset(type, 1) == bytes && H5Tget_size(type) == 2 * bytes;
}

bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2 || !is_named(type, 0, "FALSE") ||
      !is_named(type, 1, "TRUE")) {
    return false;
  }
  const Hdf5Handle number(H5Tget_super(type), H5Tclose);
  if (element_type(number.get()) != ElementType::int8) return false;
  std::array<std::int8_t, 2> values{};
  return H5Tget_member_value(type, 0, values.data()) >= 0 && H5Tget_member_value(type, 1, &values[1]) >= 0 &&
         values == std::array<std::int8_t, 2>{0, 1};
}

/// Whether the type is a bit field of eight bits. PyTables stores Booleans so.
bool is_byte_of_bits(hid_t type) { return H5Tget_class(type) == H5T_BITFIELD && H5Tget_size(type) == 1; }

/// Returns the members of a compound for messages: "{i: float32, r: float32}".
std::string members_text(hid_t type) {
  constexpr int most = 4;
  std::string text;
  std::size_t bytes = 0;
  const int count = H5Tget_nmembers(type);
  for (int index = 0; index < std::min(count, most); ++index) {
    const Hdf5Handle member(H5Tget_member_type(type, static_cast<unsigned>(index)), H5Tclose);
    char* const name = H5Tget_member_name(type, static_cast<unsigned>(index));
    const bool is_number = H5Tget_class(member.get()) == H5T_INTEGER || H5Tget_class(member.get()) == H5T_FLOAT;
    const bool is_big = is_number && H5Tget_order(member.get()) == H5T_ORDER_BE;
    bytes += H5Tget_size(member.get());
    text += (index > 0 ? ", " : "") + std::string(name ? name : "").substr(0, 32) + ": " +
            (is_number ? type_text(member.get()) : "no number") + (is_big ? " big-endian" : "");
    H5free_memory(name);
  }
  const bool has_gaps = count <= most && bytes != H5Tget_size(type);
  return "{" + text + (count > most ? ", ..." : "") + (has_gaps ? "} with gaps" : "}");
}

}  // namespace

ElementType element_type(hid_t type) {
  const std::array<std::pair<hid_t, ElementType>, 20> known{
      {{H5T_IEEE_F32LE, ElementType::float32}, {H5T_IEEE_F32BE, ElementType::float32},
       {H5T_IEEE_F64LE, ElementType::float64}, {H5T_IEEE_F64BE, ElementType::float64},
       {H5T_STD_I8LE, ElementType::int8},      {H5T_STD_I8BE, ElementType::int8},
       {H5T_STD_U8LE, ElementType::uint8},     {H5T_STD_U8BE, ElementType::uint8},
       {H5T_STD_I16LE, ElementType::int16},    {H5T_STD_I16BE, ElementType::int16},
       {H5T_STD_U16LE, ElementType::uint16},   {H5T_STD_U16BE, ElementType::uint16},
       {H5T_STD_I32LE, ElementType::int32},    {H5T_STD_I32BE, ElementType::int32},
       {H5T_STD_U32LE, ElementType::uint32},   {H5T_STD_U32BE, ElementType::uint32},
       {H5T_STD_I64LE, ElementType::int64},    {H5T_STD_I64BE, ElementType::int64},
       {H5T_STD_U64LE, ElementType::uint64},   {H5T_STD_U64BE, ElementType::uint64}}};
  for (const auto& [id, element] : known)
    if (H5Tequal(type, id) > 0) return element;
  return ElementType::other;
}

NumbersOfType numbers_of(hid_t type) {
  if (is_string(type) && H5Tis_variable_str(type) == 0) return {NumberForm::text, {ElementType::uint8, false}};
  if (is_byte_of_bits(type)) return {NumberForm::boolean, {ElementType::uint8, false}};
  const NumberForm form = is_complex(type)   ? NumberForm::complex
                          : is_boolean(type) ? NumberForm::boolean
                                             : NumberForm::plain;
  const Hdf5Handle number(form == NumberForm::complex   ? H5Tget_member_type(type, 0)
                          : form == NumberForm::boolean ? H5Tget_super(type)
                                                        : H5Tcopy(type),
                          H5Tclose);
  return {form, {element_type(number.get()), H5Tget_order(number.get()) != H5Tget_order(H5T_NATIVE_INT)}};
}

bool is_integer(hid_t type) { return element_type(type) != ElementType::other && !is_float(type); }

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
      if (!is_complex(type)) return "compound " + members_text(type);
      return "compound {r, i} of " + type_text(Hdf5Handle(H5Tget_member_type(type, 0), H5Tclose).get());
    case H5T_BITFIELD:
      return is_byte_of_bits(type) ? "Boolean" : "bits: " + bits;
    case H5T_ENUM:
      return is_boolean(type) ? "Boolean" : "enumeration";
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
