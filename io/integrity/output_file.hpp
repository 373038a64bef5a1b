// An output file appears whole or not at all: it is written under a temporary name in the same folder, flushed to the
// disk, then renamed. A run that is killed or fails leaves the old file, or none.
//
// The temporary file of results.h5 is results.h5.smallbatch-part, and who writes it holds a lock on it: what lies there
// without a lock is what a process that was killed has left, and the next one takes it over. Beside it
// results.h5.smallbatch-journal may say how far it is (io/integrity/journal.hpp).
#pragma once

#include <string>
#include <utility>

#include "core/error.hpp"

namespace smallbatch {

/// Error(output) for a failed system call: "cannot write <path> (disk full). Free some space ...". `system_error` is
/// errno's value.
Error output_error(const std::string& path, int system_error);

/// Throws what OutputFile would, as far as that can be known without creating a file.
void check_output(const std::string& path, bool overwrite);

/// The names that the temporary file and the journal of an output have.
struct NamesBeside {
  std::string part, journal;
  std::string own_part;  ///< where files cannot be locked
};
NamesBeside names_beside(const std::string& output);

/// What a process that did not end has left of an output, and where it would be.
struct LeftBehind {
  bool is_there = false;
  std::string part, journal;
};
/// As OutputFile would find it; nothing is changed. Throws Error(output) where another process writes it.
LeftBehind left_behind(const std::string& output);

class OutputFile {
 public:
  enum class Leftover {
    removed,  ///< the temporary file is empty
    kept      ///< it holds what a process that was killed has left, until start_afresh()
  };
  /// A link is followed, whether its target is there or not. Throws Error(output) where the target exists and overwrite
  /// is false, where it is no regular file, where its folder cannot be written, where another process writes it, or
  /// where overwrite is false and a run that can be gone on with is to be `removed`.
  OutputFile(const std::string& path, bool overwrite, Leftover leftover = Leftover::removed);
  /// Removes the temporary file and the journal, unless they were committed or are to be kept.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }
  OutputFile& operator=(OutputFile&& other) noexcept;

  /// The name as the user gave it, for messages.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// What to open and write; close it, and check that closing succeeded, before commit().
  [[nodiscard]] const std::string& temporary_path() const { return temporary_path_; }
  /// Empty where the file system has no locks: then no other process could take over what is there.
  [[nodiscard]] const std::string& journal_path() const { return journal_path_; }
  /// Another process has left something here.
  [[nodiscard]] bool has_leftover() const { return has_leftover_; }
  /// Empties the temporary file and removes the journal.
  void start_afresh();
  /// Whether the temporary file and the journal stay without a commit.
  void keep(bool is_kept) { is_kept_ = is_kept; }
  /// Flushes the file to the disk, gives it the mode and, as far as that is permitted, the owner of what it replaces,
  /// renames it, flushes the folder and removes the journal. Throws Error(output).
  void commit();

 private:
  void take_place();
  void copy_mode_and_owner() const;

  std::string path_, target_path_, temporary_path_, journal_path_;
  int lock_ = -1;  ///< the temporary file, open
  bool overwrite_ = false, has_leftover_ = false, is_kept_ = false;
};

}  // namespace smallbatch
