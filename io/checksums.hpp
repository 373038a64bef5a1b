// What a result file says of its own bytes (io/FORMAT.md): XXH3 of each dataset, in pieces, and of all that is in none.
// Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/hashes.hpp"
#include "io/hdf5_input_driver.hpp"  // Extent

namespace smallbatch {

inline constexpr const char* checksums_group = "/checksums";
/// Paths of the datasets that have bytes, in their order.
inline constexpr const char* checksums_dataset = "/checksums/dataset";
/// Dataset d has the pieces piece_offset[d] ... piece_offset[d + 1] - 1, each a text in `hash`.
inline constexpr const char* checksums_offset = "/checksums/piece_offset";
inline constexpr const char* checksums_hash = "/checksums/hash";
/// Two texts, which hashes_of_rest() makes; they come into the file when nothing else does any more.
inline constexpr const char* checksums_rest = "/checksums/rest";

/// The three datasets that say what the pieces are.
struct Checksums {
  std::vector<std::string> dataset;
  std::vector<std::int64_t> piece_offset{0};
  std::vector<std::string> hash;
};

/// Where in a file what has a hash lies.
struct FilePlaces {
  std::vector<Extent> listed;  ///< datasets whose pieces are listed
  std::vector<Extent> tables;  ///< the three of Checksums
  Extent rest;                 ///< of the two hashes
};

/// 16 digits of the tables' bytes, and 16 of all bytes of a file of `size` that have no other place in it. `read` reads
/// bytes of it; where it says that it could not, the digits are of nothing.
std::string hashes_of_rest(const FilePlaces& places, std::uint64_t size,
                           const std::function<bool(const Extent&, char*)>& read);

}  // namespace smallbatch
