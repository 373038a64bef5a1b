// The HDF5 types that are read, and the names of all types in messages. Private to io/.
#pragma once

#include <hdf5.h>

#include <string>

#include "io/hdf5/catalogue.hpp"

namespace smallbatch {

/// Returns the type of a number in either byte order. Types that the product's files do not use are `other`.
ElementType element_type(hid_t type);
/// Form of a dataset's type, and the numbers that this type consists of.
struct NumbersOfType {
  NumberForm form = NumberForm::plain;
  NumberType numbers;
};
NumbersOfType numbers_of(hid_t type);
/// Whether the type is an ordinary integer: 8, 16, 32 or 64 bits, signed or not, in either byte order.
bool is_integer(hid_t type);
bool is_float(hid_t type);
/// Whether the type is a string, of fixed or variable length, in ASCII or UTF-8.
bool is_string(hid_t type);
/// Returns the name of a type for messages: "float32", "uint8", "string", "an integer with unused bits, bits: 32", ...
std::string type_text(hid_t type);

}  // namespace smallbatch
