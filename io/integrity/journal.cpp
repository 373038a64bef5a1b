// A record consists of the number of its bytes (16 hexadecimal digits), their hash (16 digits), and the bytes.
#include "io/integrity/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/error.hpp"
#include "io/integrity/hashes.hpp"
#include "io/integrity/output_file.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t digits = 16;

std::string length_text(std::size_t length) {
  std::array<char, digits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016zx", length);
  return text.data();
}

/// Reads `count` bytes from `begin` on, or fewer at the end of the file. Throws if reading fails.
std::string read_bytes(int file, const std::string& path, std::uint64_t begin, std::uint64_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ::ssize_t found = ::pread(file, bytes.data() + done, count - done, static_cast<::off_t>(begin + done));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0)
      throw Error(ErrorKind::missing_file, "cannot read " + path, std::strerror(errno),
                  "Check the disk and run again. Without --resume the run begins anew.");
    if (found == 0) break;
    done += static_cast<std::size_t>(found);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Journal::Journal(const std::string& path, Access access) : path_(path) {
  const bool is_appended = access == Access::appended;
  const int how = is_appended ? O_RDWR | O_CREAT | O_APPEND : O_RDONLY;
  file_ = ::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file_ < 0 && !is_appended && errno == ENOENT) return;
  if (file_ < 0) throw output_error(path, errno);
  try {
    find_records();
    if (is_appended && ::ftruncate(file_, static_cast<::off_t>(end_)) != 0) throw output_error(path, errno);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::find_records() {
  struct stat found {};
  if (::fstat(file_, &found) != 0 || found.st_uid != ::geteuid() || found.st_nlink != 1 || !S_ISREG(found.st_mode)) {
    throw Error(ErrorKind::output, "cannot resume from " + path_,
                "it belongs to another user, has a second name, or is no regular file",
                "Remove it, or choose another name for the output.");
  }
  const auto size = static_cast<std::uint64_t>(found.st_size);
  while (size - end_ >= 2 * digits) {
    const std::string head = read_bytes(file_, path_, end_, 2 * digits);
    std::uint64_t length = 0;
    const auto [end, failure] = std::from_chars(head.data(), head.data() + std::min(digits, head.size()), length, 16);
    const bool is_length = failure == std::errc() && end == head.data() + digits;
    if (!is_length || length > size - end_ - 2 * digits) return;
    const std::string bytes = read_bytes(file_, path_, end_ + 2 * digits, length);
    if (head.substr(digits) != hash_digits(bytes.data(), bytes.size())) return;
    earlier_.push_back({end_ + 2 * digits, length});
    end_ += 2 * digits + length;
  }
}

std::string Journal::earlier(std::size_t record) const {
  const auto& [begin, length] = earlier_.at(record);
  return read_bytes(file_, path_, begin, length);
}

void Journal::append(const std::string& record) {
  latest_.assign(length_text(record.size())).append(hash_digits(record.data(), record.size())).append(record);
  for (std::string_view rest = latest_; !rest.empty();) {
    const ::ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw output_error(path_, written < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace smallbatch
