// Which file it was: size, time and a hash of an input, for provenance (io/FORMAT.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

struct InputIdentity {
  std::uint64_t bytes = 0;         ///< of all files
  std::string modified;            ///< the latest of them, UTC; empty where it is not known
  std::string hash;                ///< XXH3, 128 bits, 32 hexadecimal digits; empty where a file cannot be read
  std::uint64_t hashed_bytes = 0;  ///< that the hash is of: all, of files of up to hash_pieces * hash_piece_bytes
};

/// Of a larger file these pieces are hashed, evenly spread from its first byte to its last: what a changed structure, a
/// file of another run or a broken copy would alter, in a time that does not grow with the file.
inline constexpr std::uint64_t hash_pieces = 64, hash_piece_bytes = std::uint64_t{1} << 20;

/// Of one file; of several the hash is that of their hashes, each with a newline. Never throws for a file.
InputIdentity identify_input(const std::vector<std::string>& paths);

/// False, too, where a result file does not know the hash of its input.
bool is_another_input(const std::string& path, const std::string& hash_of_input);

}  // namespace smallbatch
