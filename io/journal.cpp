// A record is the number of its bytes (16 hexadecimal digits), their hash (as many), and the bytes.
#include "io/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/error.hpp"
#include "io/hashes.hpp"
#include "io/output_file.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t digits = 16;

std::string length_text(std::size_t length) {
  std::array<char, digits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016zx", length);
  return text.data();
}

/// Throws where it cannot be read to its end.
std::string bytes_of(int file, const std::string& path) {
  std::string bytes;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ::ssize_t found = ::pread(file, buffer.data(), buffer.size(), static_cast<::off_t>(bytes.size()));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0)
      throw Error(ErrorKind::missing_file, "cannot read " + path, std::strerror(errno),
                  "Check the disk, and run again; or without --resume, which begins again.");
    if (found == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(found));
  }
}

/// Takes the first record off `rest`; false where there is none that is whole.
bool take_record(std::string_view& rest, std::string& record) {
  std::size_t length = 0;
  if (rest.size() < 2 * digits) return false;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + digits, length, 16);
  if (failure != std::errc() || end != rest.data() + digits || length > rest.size() - 2 * digits) return false;
  const std::string_view hash = rest.substr(digits, digits), bytes = rest.substr(2 * digits, length);
  if (hash != hash_digits(bytes.data(), bytes.size())) return false;
  record = bytes;
  rest.remove_prefix(2 * digits + length);
  return true;
}

}  // namespace

Journal::Journal(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file_ < 0) throw output_error(path, errno);
  struct stat found {};
  if (::fstat(file_, &found) != 0 || found.st_uid != ::geteuid() || found.st_nlink != 1 || !S_ISREG(found.st_mode)) {
    ::close(file_);
    throw Error(ErrorKind::output, "cannot go on with " + path, "it is another user's, or no file of its own",
                "Remove it, or choose another name for the output.");
  }
  std::string bytes;
  try {
    bytes = bytes_of(file_, path);
  } catch (const Error&) {
    ::close(file_);
    throw;
  }
  std::string_view rest = bytes;
  for (std::string record; take_record(rest, record);) earlier_.push_back(record);
  if (::ftruncate(file_, static_cast<::off_t>(bytes.size() - rest.size())) != 0) {
    const int failure = errno;
    ::close(file_);
    throw output_error(path, failure);
  }
}

Journal::~Journal() { ::close(file_); }

void Journal::append(const std::string& record) {
  const std::string all = length_text(record.size()) + hash_digits(record.data(), record.size()) + record;
  for (std::string_view rest = all; !rest.empty();) {
    const ::ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw output_error(path_, written < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace smallbatch
