// Which file it was: size, time and a hash of an input, for provenance (io/FORMAT.md).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

struct InputIdentity {
  std::uint64_t bytes = 0;         ///< of all files
  std::string modified;            ///< the latest of them, UTC; empty where it is not known
  std::string hash;                ///< XXH3, 128 bits, 32 hexadecimal digits; empty where a file cannot be read
  std::string touched;             ///< inode, and when anything about it was last changed, which nobody can set
  std::uint64_t hashed_bytes = 0;  ///< that the hash is of: all, of files of up to 64 MiB
  bool is_as_opened = true;        ///< false where InputGuard finds that it was touched before it was hashed
};

/// Of one file; of several the hash is that of their hashes, each with a newline. Never throws for a file.
InputIdentity identify_input(const std::vector<std::string>& paths);

/// What tells that a file is written while it is used. Made when it was opened.
class InputGuard {
 public:
  /// `descriptor` is open on the file of that path.
  InputGuard(std::string path, int descriptor);
  /// What the file is; to be called early.
  [[nodiscard]] InputIdentity identify() const;
  /// Throws Error(bad_input) where the file is not what it was: its size, its times, what it is called, and, where
  /// these leave it open, its hash. `begun` is what identify() said.
  void refuse_change(const InputIdentity& begun) const;

 private:
  std::string path_;
  int descriptor_;
  struct stat opened_;
  bool is_fresh_;  ///< written so shortly before that another write may have the same time
};

/// False, too, where a result file does not know the hash of its input.
bool is_another_input(const std::string& path, const std::string& hash_of_input);

}  // namespace smallbatch
