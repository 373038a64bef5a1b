// Checksums that a result file keeps of its own bytes (io/FORMAT.md). XXH3 covers each dataset, piece by piece, and all
// bytes outside the datasets. Private to io/.
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
/// Paths of the datasets that have bytes, sorted.
inline constexpr const char* checksums_dataset = "/checksums/dataset";
/// Dataset d has the pieces piece_offset[d] ... piece_offset[d + 1] - 1.
inline constexpr const char* checksums_offset = "/checksums/piece_offset";
/// The hash of each piece, as a text of 16 digits.
inline constexpr const char* checksums_hash = "/checksums/hash";
/// Two texts from hashes_of_rest(). They are written last, when no other byte of the file changes any more.
inline constexpr const char* checksums_rest = "/checksums/rest";

/// Contents of the three datasets that describe the pieces.
struct Checksums {
  std::vector<std::string> dataset;
  std::vector<std::int64_t> piece_offset{0};
  std::vector<std::string> hash;
};

/// Extents of the hashed bytes in a file.
struct FileExtents {
  std::vector<Extent> listed;  ///< datasets that have their pieces listed
  std::vector<Extent> tables;  ///< the three datasets of Checksums
  Extent rest;                 ///< the dataset checksums_rest
};

/// Reads bytes of a file. Returns false if that fails.
using ReadBytes = std::function<bool(const Extent&, char*)>;

/// A buffered view of small pieces of a file. Small pieces lie near each other, so reading a piece also reads the bytes
/// after it.
class FileWindow {
 public:
  static constexpr std::uint64_t bytes = std::uint64_t{1} << 16;
  FileWindow(std::uint64_t file_bytes, ReadBytes read) : file_bytes_(file_bytes), read_(std::move(read)) {}
  /// Returns the bytes of `extent`, at most `bytes` of them. They are valid until the next call. Returns null if the
  /// file has no such bytes, or if they cannot be read.
  const char* find(const Extent& extent);

 private:
  std::uint64_t file_bytes_, address_ = 0;
  ReadBytes read_;
  std::vector<char> window_;
};

/// Returns two hashes of 16 digits each: that of the tables' bytes, and that of all bytes of the file outside
/// `extents`. The file has `size` bytes. Bytes that `read` cannot read are left out of the hash.
std::string hashes_of_rest(const FileExtents& extents, std::uint64_t size, const ReadBytes& read);

}  // namespace smallbatch
