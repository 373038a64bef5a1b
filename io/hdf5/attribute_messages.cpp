// Source: the HDF5 file format specification, IV.A.1.a (object header version 1), IV.A.2.b (dataspace), .d (datatype),
// .m (attribute) and .q (continuation).
#include "io/hdf5/attribute_messages.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace smallbatch {
namespace {

using Message = std::span<const unsigned char>;

constexpr std::uint64_t largest_extent = std::uint64_t{1} << 20;  ///< bytes of one part of an object header
constexpr std::size_t most_extents = 1000;
constexpr unsigned attribute_type = 0x0C, continuation_type = 0x10;

/// Returns the number in `count` bytes, the lowest byte first. Bytes beyond the end are 0.
std::uint64_t number(Message bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) value = value << 8 | (at + i <= bytes.size() ? bytes[at + i - 1] : 0);
  return value;
}

/// Whether the dataspace has exactly the bytes that its rank requires. Sets `elements` to the number of elements that
/// it declares.
bool is_sound_dataspace(Message bytes, std::uint64_t& elements) {
  const std::uint64_t version = number(bytes, 0, 1), rank = number(bytes, 1, 1), flags = number(bytes, 2, 1);
  if (version != 1 && version != 2) return false;
  const std::size_t sizes = version == 1 ? 8 : 4;
  if (bytes.size() != sizes + 8 * rank * ((flags & 1) != 0 ? 2 : 1)) return false;
  elements = version == 2 && number(bytes, 3, 1) == 2 ? 0 : 1;  // a dataspace of type 2 is null: it has no element
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(elements, number(bytes, sizes + 8 * axis, 8), &elements)) return false;
  }
  return true;
}

/// Whether name, datatype, dataspace and value follow each other and end within the message.
bool is_sound_attribute(Message message) {
  const std::uint64_t version = number(message, 0, 1);
  if (version < 1 || version > 3) return false;
  const bool is_shared = version > 1 && (number(message, 1, 1) & 3) != 0;  // its datatype or dataspace lies elsewhere
  if (is_shared) return true;
  const auto padded = [&](std::uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
  const std::uint64_t name_size = number(message, 2, 2), type_size = number(message, 4, 2),
                      space_size = number(message, 6, 2);
  const std::uint64_t type = (version == 3 ? 9 : 8) + padded(name_size), space = type + padded(type_size),
                      value = space + padded(space_size);
  if (value > message.size()) return false;
  std::uint64_t bytes = 0;
  return is_sound_dataspace(message.subspan(space, space_size), bytes) &&
         !__builtin_mul_overflow(bytes, number(message, type + 4, 4), &bytes) && bytes <= message.size() - value;
}

}  // namespace

bool has_sound_attributes(InputBytes& file, std::uint64_t base, std::uint64_t address) {
  std::vector<unsigned char> bytes(16);
  const auto read = [&](std::uint64_t from, std::uint64_t size) {
    bytes.resize(std::min(size, largest_extent));
    return from <= INT64_MAX - base && file.read_some({base + from, bytes.size()}, bytes.data()) == bytes.size();
  };
  if (!read(address, 16) || bytes[0] != 1) return true;  // headers with checksums begin with "OHDR"
  std::vector<Extent> extents{{address + 16, number(bytes, 8, 4)}};
  for (std::size_t next = 0; next < extents.size() && next < most_extents; ++next) {
    if (!read(extents[next].address, extents[next].size)) return true;
    for (std::size_t at = 0; at + 8 <= bytes.size();) {
      const std::uint64_t type = number(bytes, at, 2), size = number(bytes, at + 2, 2);
      const bool is_shared = (bytes[at + 4] & 2) != 0;
      at += 8;
      if (size > bytes.size() - at) return true;
      const Message message = Message(bytes).subspan(at, size);
      if (type == continuation_type) extents.push_back({number(message, 0, 8), number(message, 8, 8)});
      if (type == attribute_type && !is_shared && !is_sound_attribute(message)) return false;
      at += size;
    }
  }
  return true;
}

}  // namespace smallbatch
