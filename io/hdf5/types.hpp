// The HDF5 types that are read, and what messages call the others. Private to io/.
#pragma once

#include <hdf5.h>

#include <string>

#include "io/hdf5/catalogue.hpp"

namespace smallbatch {

/// In either byte order; `other` for everything that is no number of the product's files.
ElementType element_type(hid_t type);
/// The numbers that a type of datasets is made of, which may be itself.
struct NumbersOfType {
  NumberForm form = NumberForm::plain;
  NumberType numbers;
};
NumbersOfType numbers_of(hid_t type);
/// 8, 16, 32 or 64 bits, signed or not, in either byte order, and nothing out of the ordinary.
bool is_integer(hid_t type);
bool is_float(hid_t type);
/// Of fixed or variable length, ASCII or UTF-8.
bool is_string(hid_t type);
/// "float32", "uint8", "string", "an integer with unused bits, bits: 32", ...
std::string type_text(hid_t type);

}  // namespace smallbatch
