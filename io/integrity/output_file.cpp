// The order is: temporary file, fsync, rename, fsync of the folder. A crash at any point leaves the old file or the new
// file, whole.
#include "io/integrity/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/system_refusals.hpp"
#include "io/integrity/hashes.hpp"

namespace smallbatch {
namespace {

Error exists_error(const std::string& path) {
  return {ErrorKind::output_exists, "cannot write " + path, "it exists already", "Choose another name."};
}

/// Flushes a file or a folder. Returns 0 or errno. Some file systems cannot flush folders, which is no failure.
int flush_to_disk(int file) { return ::fsync(file) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; }
int flush_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int failure = flush_to_disk(file);
  ::close(file);
  return failure;
}

/// Renames a file. Without `overwrite` it replaces nothing. Returns 0 or errno.
int rename_file(const std::string& from, const std::string& to, bool overwrite) {
  if (!overwrite) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    // This file system cannot refuse to replace a file. So check first whether the target exists.
    if (::access(to.c_str(), F_OK) == 0) return EEXIST;
    if (errno != ENOENT) return errno;
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Follows symbolic links to the file that is written, which need not exist yet.
std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // Linux's limit
  std::filesystem::path target = path;
  std::error_code unknown;
  for (int link = 0;; ++link) {
    const auto found = std::filesystem::symlink_status(target, unknown);
    if (!std::filesystem::status_known(found)) throw output_error(path, unknown.value());
    if (!std::filesystem::is_symlink(found)) break;
    if (link == most_links) throw output_error(path, ELOOP);
    target = target.parent_path() / std::filesystem::read_symlink(target, unknown);
    if (unknown) throw output_error(path, unknown.value());
  }
  return target.string();
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

Error output_error(const std::string& path, int system_error) {
  if (is_want_of_the_system(system_error)) return refused_by_system("write " + path, system_error);
  switch (system_error) {
    case ENOSPC:
    case EDQUOT:
      return {ErrorKind::output, "cannot write " + path, "disk full", "Free some space or write to another disk."};
    case EFBIG:
      return {ErrorKind::output, "cannot write " + path,
              "disk full: the file would exceed the largest size that is allowed here",
              "Raise the limit (ulimit -f) or write to another disk."};
    case ENOENT:
      if (::access(folder_of(behind_links(path)).c_str(), F_OK) == 0)
        return {ErrorKind::output, "cannot write " + path, "its folder was removed, or takes no new files",
                "Write elsewhere."};
      return {ErrorKind::output, "cannot write " + path, "its folder does not exist", "Create the folder first."};
    default:
      return {ErrorKind::output, "cannot write " + path, std::strerror(system_error),
              "Check the folder and its permissions, or write elsewhere."};
  }
}

namespace {

/// Returns whether a file of this name exists. Throws if it must not be replaced.
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

constexpr std::string_view part_ending = ".smallbatch-part", journal_ending = ".smallbatch-journal";

/// Whether this is a regular file of this user, without a second name (hard link).
bool is_own(const struct stat& status) {
  return status.st_uid == ::geteuid() && status.st_nlink == 1 && S_ISREG(status.st_mode);
}

Error written_by_other(const std::string& path) {
  return {ErrorKind::output, "cannot write " + path, "another process is writing it",
          "Wait until it has ended, or choose another name."};
}

/// Number of attempts at a name that other processes take and release meanwhile.
constexpr int most_attempts = 1000;

/// Locks the file of this name, and creates it if it is missing. Returns its descriptor, or -1 with errno set. errno is
/// also ENOLCK if every attempt found another file under this name.
int open_locked(const std::string& path, bool& is_new) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    is_new = file >= 0;
    if (file < 0 && errno == EEXIST) {
      file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      if (file < 0 && errno == ENOENT) continue;  // removed meanwhile
    }
    if (file < 0) return -1;
    // An exclusive lock, held for a moment, shows that no other process has the file. The shared lock that follows
    // admits readers, but no writer.
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 || ::flock(file, LOCK_SH | LOCK_NB) != 0) {
      const int failure = errno;
      if (is_new && failure != EWOULDBLOCK) ::unlink(path.c_str());
      ::close(file);
      errno = failure;
      return -1;
    }
    // The process that had the lock before may have renamed or removed the file.
    struct stat opened {
    }, there{};
    const bool is_there = ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
                          opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
    // A new file is this process's, even if the file system names another owner.
    if (is_there && (is_new || is_own(opened))) return file;
    // A file of another user, or with a second name, is never written into. It is removed.
    const bool is_stuck = is_there && ::unlink(path.c_str()) != 0;
    const int failure = errno;
    ::close(file);
    if (is_stuck) {
      errno = failure;
      return -1;
    }
  }
  errno = ENOLCK;
  return -1;
}

/// Creates a file that no other process has, on a file system without locks. The process number in its name does not
/// suffice: another machine may have a process with this number.
int open_own(const std::string& part, std::string& path) {
  path = part;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
    path = part + "-" + std::to_string(attempt);
  }
  return -1;
}

/// Returns the status of a file, or nothing if there is no such file. Throws Error(output) if this cannot be known.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) throw output_error(path, errno);
  return std::nullopt;
}

}  // namespace

void check_output(const std::string& path, bool overwrite) {
  may_replace(path, overwrite);
  if (::access(folder_of(behind_links(path)).c_str(), W_OK | X_OK) != 0) throw output_error(path, errno);
}

NamesBeside names_beside(const std::string& output) {
  const std::filesystem::path target = behind_links(output);
  std::string name = target.filename().string();
  const long longest = ::pathconf(folder_of(target.string()).c_str(), _PC_NAME_MAX);
  const auto most = static_cast<std::size_t>(longest > 0 ? longest : 255);
  if (name.size() + journal_ending.size() > most) {  // keep its beginning, and add a hash against equal names
    const std::string hash = "~" + hash_digits(name.data(), name.size());
    std::size_t kept = most - std::min(most, journal_ending.size() + hash.size());
    const auto is_inside_character = [&] { return (static_cast<unsigned char>(name[kept]) & 0xc0U) == 0x80; };
    while (kept > 0 && is_inside_character()) --kept;
    name.replace(kept, std::string::npos, hash);
  }
  const std::string beside = (target.parent_path() / name).string();
  const std::string part = beside + std::string(part_ending);
  return {part, beside + std::string(journal_ending), part + "-" + std::to_string(::getpid())};
}

LeftBehind left_behind(const std::string& output) {
  const auto [part, journal, own_part] = names_beside(output);
  LeftBehind left{false, part, journal};
  const int file = ::open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0 && is_want_of_the_system(errno)) throw output_error(output, errno);
  if (file < 0) return left;
  struct stat found {};
  const bool is_locked_by_other = ::flock(file, LOCK_EX | LOCK_NB) != 0;
  const int failure = errno;
  left.is_there = !is_locked_by_other && ::fstat(file, &found) == 0 && is_own(found) && found.st_size > 0;
  ::close(file);
  if (is_locked_by_other && failure == EWOULDBLOCK) throw written_by_other(output);
  return left;
}

OutputFile::OutputFile(const std::string& path, bool overwrite, Leftover leftover)
    : path_(path), overwrite_(overwrite) {
  const bool replaces = may_replace(path, overwrite);
  target_path_ = behind_links(path);
  const auto replaced = replaces ? status_of(target_path_) : std::nullopt;
  const auto journal = status_of(names_beside(path).journal);
  lock_output();
  // A file that replaces a private file is private while it is written.
  if (replaced) (void)::fchmod(lock_, (replaced->st_mode & 0777U) | S_IRUSR | S_IWUSR);
  if (has_leftover_ && leftover == Leftover::kept) {
    is_kept_ = true;
    return;
  }
  // Without `overwrite` the results of an unfinished run are not thrown away.
  if (has_leftover_ && !overwrite && journal && journal->st_size > 0) {
    ::close(lock_);
    throw Error(ErrorKind::output_exists, "cannot write " + path,
                "an unfinished run has left " + temporary_path_ + ", and run --resume continues it",
                "Choose another name.");
  }
  start_afresh();
}

void OutputFile::lock_output() {
  const auto [part, journal, own_part] = names_beside(path_);
  bool is_new = false;
  temporary_path_ = part;
  lock_ = open_locked(part, is_new);
  if (lock_ >= 0) {
    journal_path_ = journal;
    struct stat found {};
    has_leftover_ = !is_new && ::fstat(lock_, &found) == 0 && found.st_size > 0;
    return;
  }
  if (errno == EWOULDBLOCK) throw written_by_other(path_);
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL) {
    lock_ = open_own(own_part, temporary_path_);
    if (lock_ >= 0) return;
  }
  throw output_error(path_, errno);
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_path_, other.target_path_);
  std::swap(temporary_path_, other.temporary_path_);
  std::swap(journal_path_, other.journal_path_);
  std::swap(lock_, other.lock_);
  std::swap(overwrite_, other.overwrite_);
  std::swap(has_leftover_, other.has_leftover_);
  std::swap(is_kept_, other.is_kept_);
  return *this;
}

OutputFile::~OutputFile() {
  if (lock_ < 0) return;
  if (!is_kept_) {
    if (!journal_path_.empty()) ::unlink(journal_path_.c_str());
    ::unlink(temporary_path_.c_str());
  }
  ::close(lock_);  // this also releases the lock
}

void OutputFile::start_afresh() {
  // The journal goes first, so that it never describes another file.
  if (!journal_path_.empty() && ::unlink(journal_path_.c_str()) != 0 && errno != ENOENT)
    throw output_error(path_, errno);
  if (::ftruncate(lock_, 0) != 0) throw output_error(path_, errno);
  has_leftover_ = is_kept_ = false;
}

void OutputFile::copy_mode_and_owner() const {
  const auto replaced = status_of(target_path_);
  if (!replaced) return;
  const bool has_owner = ::fchown(lock_, replaced->st_uid, replaced->st_gid) == 0;
  const bool has_group = has_owner || ::fchown(lock_, static_cast<::uid_t>(-1), replaced->st_gid) == 0;
  // Bits such as set-user-id are copied only if owner and group are copied, too.
  (void)::fchmod(lock_, replaced->st_mode & (has_owner && has_group ? 07777U : 0777U));
}

void OutputFile::commit() {
  copy_mode_and_owner();
  if (const int failure = flush_to_disk(lock_)) throw output_error(path_, failure);
  const int failure = rename_file(temporary_path_, target_path_, overwrite_);
  if (failure == EEXIST) throw exists_error(path_);
  if (failure) throw output_error(path_, failure);
  if (!journal_path_.empty()) ::unlink(journal_path_.c_str());
  ::close(std::exchange(lock_, -1));
  const int folder_failure = flush_to_disk(folder_of(target_path_));
  // A folder may be writable but not readable. Such a folder cannot be opened, and so cannot be flushed.
  if (!folder_failure || folder_failure == EACCES) return;
  throw Error(ErrorKind::output, "the folder of " + path_ + " could not be flushed to the disk",
              std::strerror(folder_failure), "If the machine fails soon, check that the file is still there.");
}

}  // namespace smallbatch
