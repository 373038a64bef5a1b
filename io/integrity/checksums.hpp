// What a result file says of its own bytes (io/FORMAT.md): XXH3 of each dataset, in pieces, and of all that is in none.
// Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/integrity/extent.hpp"
#include "io/integrity/hashes.hpp"

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

/// Reads bytes of a file; false where it could not.
using ReadBytes = std::function<bool(const Extent&, char*)>;

/// Small pieces of a file: what lies behind one is read with it, since many lie near each other.
class FileWindow {
 public:
  static constexpr std::uint64_t bytes = std::uint64_t{1} << 16;
  FileWindow(std::uint64_t file_bytes, ReadBytes read) : file_bytes_(file_bytes), read_(std::move(read)) {}
  /// At most so many bytes of the file, until the next call; null where they are not there or could not be read.
  const char* find(const Extent& extent);

 private:
  std::uint64_t file_bytes_, address_ = 0;
  ReadBytes read_;
  std::vector<char> window_;
};

/// 16 digits of the tables' bytes, and 16 of all bytes of a file of `size` that have no other place in it. Where `read`
/// says that it could not, the digits are of nothing.
std::string hashes_of_rest(const FilePlaces& places, std::uint64_t size, const ReadBytes& read);

}  // namespace smallbatch
