// What the header of an object says, read without HDF5, which takes 40 microseconds for what is a few hundred bytes.
// Headers of version 2 alone, as HDF5 writes them from 1.10's file format on, and of these what is plain: all else is
// for HDF5 to read. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/catalogue.hpp"
#include "io/hdf5_input_driver.hpp"

namespace smallbatch {

using HeaderBytes = std::span<const unsigned char>;

/// The latest parts of a file that were looked at: headers lie near each other.
class HeaderWindows {
 public:
  explicit HeaderWindows(InputBytes& file) : file_(file), windows_(64) {}
  /// Appends bytes of the file; false where they are not all there.
  bool read(const Extent& extent, std::vector<unsigned char>& bytes);

 private:
  static constexpr std::uint64_t bytes_of_window = std::uint64_t{1} << 14;
  struct Window {
    std::uint64_t number = UINT64_MAX;
    std::vector<unsigned char> bytes;
  };
  InputBytes& file_;
  std::vector<Window> windows_;
};

/// Names, types and values are parts of `chunks`, whose memory serves one header after the other.
struct ObjectHeader {
  struct Link {
    std::string_view name;
    std::uint64_t address = 0;
  };
  struct Attribute {
    std::string_view name;
    HeaderBytes type;         ///< as a message of that type
    std::uint64_t count = 0;  ///< of its elements
    HeaderBytes value;
  };

  ObjectKind kind = ObjectKind::none;  ///< a group or a dataset
  std::vector<Link> links;             ///< of a group, in no order
  std::vector<Attribute> attributes;
  std::vector<std::int64_t> shape;       ///< of a dataset
  HeaderBytes type;                      ///< likewise
  std::optional<std::uint64_t> address;  ///< of its bytes, which lie in one piece, where they do
  std::uint64_t bytes = 0;               ///< that lie there
  HeaderBytes fill;                      ///< its fill value, where its writer named one
  std::vector<std::vector<unsigned char>> chunks;
  std::size_t chunk_count = 0;                ///< of `chunks`: others are memory to come
  std::vector<std::int64_t> attribute_shape;  ///< of the latest attribute: memory for the next
};

/// The header at an address; false where it is damaged (its checksums), has another version, or says what is not plain:
/// links that are not hard, dense links or attributes, shared messages, chunks, filters, other files.
bool read_object_header(HeaderWindows& file, std::uint64_t address, ObjectHeader& header);

/// The checksum of HDF5's metadata: Jenkins' lookup3.
std::uint32_t metadata_checksum(HeaderBytes bytes);

}  // namespace smallbatch
