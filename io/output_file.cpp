// Temporary file, fsync, rename, fsync of the folder: the order that survives a crash at any point.
#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace smallbatch {
namespace {

Error exists_error(const std::string& path) {
  return {ErrorKind::output_exists, "cannot write " + path, "it exists already", "Choose another name."};
}

/// Flushes a file or a folder; 0 or errno. Folders on some file systems cannot be flushed: that is no failure.
int flush_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int failure = ::fsync(file) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
  ::close(file);
  return failure;
}

/// Renames without replacing anything where `overwrite` is false; 0 or errno.
int rename_file(const std::string& from, const std::string& to, bool overwrite) {
  if (!overwrite) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // This file system cannot refuse to replace: look first.
    if (::access(to.c_str(), F_OK) == 0) return EEXIST;
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Error output_error(const std::string& path, int system_error) {
  switch (system_error) {
    case ENOSPC:
    case EDQUOT:
      return {ErrorKind::output, "cannot write " + path, "disk full", "Free some space or write to another disk."};
    case EFBIG:
      return {ErrorKind::output, "cannot write " + path, "disk full: the file would pass the largest size allowed here",
              "Raise the limit (ulimit -f) or write to another disk."};
    case ENOENT:
      return {ErrorKind::output, "cannot write " + path, "its folder does not exist", "Create the folder first."};
    default:
      return {ErrorKind::output, "cannot write " + path, std::strerror(system_error),
              "Check the folder and its permissions, or write elsewhere."};
  }
}

namespace {

/// Throws where nothing may be written to a file of this name, as far as it is there; returns whether it is.
bool may_replace(const std::string& path, bool overwrite) {
  struct stat status {};
  if (path.empty()) throw Error(ErrorKind::usage, "the output has no name. Give the name of a file.");
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) throw output_error(path, errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::output, "output " + path + " is " +
                                       (S_ISDIR(status.st_mode) ? "a folder" : "no regular file") +
                                       ". Give the name of a file.");
  }
  if (!overwrite) throw exists_error(path);
  return true;
}

/// Of the file behind links, which is replaced, not the link.
std::string behind_links(const std::string& path) {
  std::error_code ignored;
  const auto target = std::filesystem::canonical(path, ignored);
  return ignored ? path : target.string();
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

void check_output(const std::string& path, bool overwrite) {
  const std::string folder = folder_of(may_replace(path, overwrite) ? behind_links(path) : path);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) throw output_error(path, errno);
}

OutputFile::OutputFile(const std::string& path, bool overwrite)
    : path_(path), target_path_(path), overwrite_(overwrite) {
  if (may_replace(path, overwrite)) target_path_ = behind_links(path);
  for (int attempt = 0;; ++attempt) {
    temporary_path_ = target_path_ + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int file = ::open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      return;
    }
    if (errno != EEXIST) throw output_error(path, errno);
  }
}

OutputFile::~OutputFile() {
  if (!committed_) ::unlink(temporary_path_.c_str());
}

void OutputFile::commit() {
  if (const int failure = flush_to_disk(temporary_path_)) throw output_error(path_, failure);
  const int failure = rename_file(temporary_path_, target_path_, overwrite_);
  if (failure == EEXIST) throw exists_error(path_);
  if (failure) throw output_error(path_, failure);
  committed_ = true;
  const int folder_failure = flush_to_disk(folder_of(target_path_));
  // A folder may be writable and not readable; then it cannot be flushed by name.
  if (folder_failure && folder_failure != EACCES) throw output_error(path_, folder_failure);
}

}  // namespace smallbatch
