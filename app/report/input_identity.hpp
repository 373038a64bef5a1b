// Identity of an input file, for provenance: size, time and a hash (io/FORMAT.md).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

struct InputIdentity {
  std::uint64_t bytes = 0;         ///< of all files
  std::string modified;            ///< latest time of modification, UTC; empty if unknown
  std::string hash;                ///< XXH3 with 128 bits, 32 hexadecimal digits; empty if a file cannot be read
  std::string touched;             ///< time of the last change (st_ctim), which programs cannot set, and inode
  std::uint64_t hashed_bytes = 0;  ///< bytes that the hash covers: all, in a file of up to 64 MiB
  bool is_as_opened = true;        ///< false if InputGuard finds that the file was touched between opening and hashing
};

/// Identifies one file, or several. The hash of several files is the hash of their hashes, each followed by a newline.
/// Does not throw if a file cannot be read.
InputIdentity identify_input(const std::vector<std::string>& paths);

/// Notices that a file is written to while it is used. It is made when the file is opened.
class InputGuard {
 public:
  /// `descriptor` is open on the file `path`.
  InputGuard(std::string path, int descriptor);
  /// Returns the identity of the file. Call it early: refuse_change() compares the file with it at the end.
  [[nodiscard]] InputIdentity identify() const;
  /// Throws Error(bad_input) if the file has changed: its size, its times or the file under its name. If these leave
  /// doubt, the hash decides. `begun` is what identify() returned.
  void refuse_change(const InputIdentity& begun) const;

 private:
  std::string path_;
  int descriptor_;
  struct stat opened_;
  bool is_fresh_;  ///< written just before it was opened, so that another write may have the same time
};

/// Returns whether the file differs from the hashed input of a result file. Returns false if the result file has no
/// hash.
bool is_another_input(const std::string& path, const std::string& hash_of_input);

}  // namespace smallbatch
