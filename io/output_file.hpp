// An output file appears whole or not at all: it is written under a temporary name in the same folder, flushed to the
// disk, then renamed. A run that is killed or fails leaves the old file, or none.
#pragma once

#include <string>

#include "core/error.hpp"

namespace smallbatch {

/// Error(output) for a failed system call: "cannot write <path> (disk full). Free some space ...". `system_error` is
/// errno's value.
Error output_error(const std::string& path, int system_error);

/// Throws what OutputFile would, as far as that can be known without creating a file.
void check_output(const std::string& path, bool overwrite);

class OutputFile {
 public:
  /// Creates the empty temporary file. Throws Error(output) where the target exists and overwrite is false, where it is
  /// no regular file, or where its folder cannot be written.
  OutputFile(const std::string& path, bool overwrite);
  /// Removes the temporary file, unless it was committed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// The name as the user gave it, for messages.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// What to open and write; close it, and check that closing succeeded, before commit().
  [[nodiscard]] const std::string& temporary_path() const { return temporary_path_; }
  /// Flushes the file to the disk, renames it and flushes the folder. Throws Error(output).
  void commit();

 private:
  std::string path_, target_path_, temporary_path_;
  bool overwrite_;
  bool committed_ = false;
};

}  // namespace smallbatch
