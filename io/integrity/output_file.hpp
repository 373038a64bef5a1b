// An output file appears whole or not at all. It is written under a temporary name in the same folder, flushed to the
// disk, then renamed. A run that is killed or fails leaves the old file, or none.
//
// The temporary file of results.h5 is results.h5.smallbatch-part. The process that writes it holds a lock on it. A
// temporary file without a lock was left by a process that was killed, and the next process takes it over. A journal
// beside it, results.h5.smallbatch-journal, may tell how much is finished (io/integrity/journal.hpp).
#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

/// Returns the error for a failed system call: "cannot write <path> (disk full). Free some space ...". `system_error`
/// is the value of errno.
Error output_error(const std::string& path, int system_error);

/// Throws those errors of OutputFile's constructor that can be found without creating a file.
void check_output(const std::string& path, bool overwrite);

/// Names of the temporary file and the journal of an output.
struct NamesBeside {
  std::string part, journal;
  std::string own_part;  ///< the temporary file on a file system without locks
};
NamesBeside names_beside(const std::string& output);

/// Whether an unfinished process left something of an output, and the names of its files.
struct LeftBehind {
  bool is_there = false;
  std::string part, journal;
};
/// Looks for files that an unfinished process left, and changes nothing. Throws Error(output) if another process writes
/// the output.
LeftBehind left_behind(const std::string& output);

class OutputFile {
 public:
  enum class Leftover {
    removed,  ///< the temporary file begins empty
    kept      ///< it keeps what a killed process left, until start_afresh()
  };
  /// Creates the temporary file, or takes it over. A symbolic link is followed, even if its target does not exist.
  ///
  /// Throws Error(output) if the target is no regular file, if its folder is not writable, or if another process writes
  /// it. If overwrite is false, throws Error(output_exists) if the target exists, or if an unfinished run would be
  /// `removed`.
  OutputFile(const std::string& path, bool overwrite, Leftover leftover = Leftover::removed);
  /// Removes the temporary file and the journal, unless they were committed or are to be kept.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }
  OutputFile& operator=(OutputFile&& other) noexcept;

  /// The name as the user gave it, for messages.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file to open and write. Before commit(), close it and check that closing succeeded.
  [[nodiscard]] const std::string& temporary_path() const { return temporary_path_; }
  /// The path of the journal. It is empty if the file system has no locks: without locks no later process takes over.
  [[nodiscard]] const std::string& journal_path() const { return journal_path_; }
  /// Whether an earlier process left an unfinished file.
  [[nodiscard]] bool has_leftover() const { return has_leftover_; }
  /// Empties the temporary file and removes the journal.
  void start_afresh();
  /// Sets whether the temporary file and the journal stay without a commit.
  void set_kept(bool is_kept) { is_kept_ = is_kept; }
  /// Flushes the file to the disk, renames it, flushes the folder and removes the journal. The file gets the mode of
  /// the file that it replaces, and also its owner if that is permitted. Throws Error(output) or Error(output_exists).
  void commit();

 private:
  void lock_output();
  void copy_mode_and_owner() const;

  std::string path_, target_path_, temporary_path_, journal_path_;
  int lock_ = -1;  ///< descriptor of the temporary file, with the lock
  bool overwrite_ = false, has_leftover_ = false, is_kept_ = false;
};

}  // namespace smallbatch
