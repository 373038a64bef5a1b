#include "io/interchange/text_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/error.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t bytes_per_read = 1 << 16;
constexpr std::size_t longest_line = 1 << 16;
constexpr std::int64_t longest_stream = 128 << 20;  // for pipes and devices, which may have no end
constexpr int patience_for_writer = 2000;           // milliseconds

struct OtherKind {
  std::string_view first_bytes, name, remedy;
};
using namespace std::string_view_literals;
constexpr std::string_view as_utf8 =
    "Write it as UTF-8: iconv -f UTF-16 -t UTF-8 does, or Out-File -Encoding utf8 in PowerShell.";
constexpr std::array<OtherKind, 8> other_kinds{{
    {"\x1f\x8b"sv, "packed by gzip", "Unpack it: gunzip does."},
    {"BZh"sv, "packed by bzip2", "Unpack it: bunzip2 does."},
    {"\xfd\x37zXZ"sv, "packed by xz", "Unpack it: unxz does."},
    {"\x28\xb5\x2f\xfd"sv, "packed by zstd", "Unpack it: unzstd does."},
    {"PK\3\4"sv, "a ZIP archive", "Unpack it: unzip does."},
    {"\x89HDF\r\n\x1a\n"sv, "HDF5", "Give a text file here. HDF5 is read from a file, not from a pipe."},
    {"\xff\xfe"sv, "UTF-16 text, as PowerShell's > writes it", as_utf8},
    {"\xfe\xff"sv, "UTF-16 text", as_utf8},
}};

}  // namespace

TextLines::TextLines(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const auto refuse = [&](const std::string& why, const char* remedy) {
    if (file_ >= 0) ::close(file_);
    throw Error(ErrorKind::missing_file, "cannot read " + path, why, remedy);
  };
  struct stat found {};
  if (file_ < 0 || ::fstat(file_, &found) != 0)
    refuse(std::strerror(errno), path == "-" ? "Standard input is /dev/stdin." : "Check the name.");
  if (S_ISDIR(found.st_mode)) refuse("it is a folder", "Give the name of a file.");
  is_regular_ = S_ISREG(found.st_mode);
  if (S_ISFIFO(found.st_mode)) {
    // O_NONBLOCK opens a pipe that has no writer yet. A writer may start later or be slow, so this waits for the first
    // byte.
    pollfd events{file_, POLLIN, 0};
    while (::poll(&events, 1, patience_for_writer) < 0 && errno == EINTR) continue;
    char first = 0;
    const ::ssize_t got = events.revents == 0 ? ::read(file_, &first, 1) : -1;
    if (got == 0) refuse("it is a pipe, and nobody writes to it", "Start what writes to it, and run again.");
    if (got > 0) bytes_ += first;
  }
  if (!is_regular_) ::fcntl(file_, F_SETFL, 0);
}

TextLines::~TextLines() { ::close(file_); }

bool TextLines::next(std::string_view& line) {
  std::size_t end = bytes_.find('\n', begin_);
  while (end == std::string::npos && !is_at_end_) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    const std::size_t searched = bytes_.size();
    if (searched > longest_line)
      throw Error(ErrorKind::bad_input,
                  path_ + ", line " + std::to_string(line_number_ + 1) + ": the line is longer than " +
                      std::to_string(longest_line) + " bytes",
                  "it has no end, ends by a carriage return, or is no text", "Give a text file with line feeds.");
    fill();
    end = bytes_.find('\n', searched);
  }
  if (end == std::string::npos && begin_ == bytes_.size()) return false;
  end = std::min(end, bytes_.size());
  line = std::string_view(bytes_).substr(begin_, end - begin_);
  begin_ = std::min(end + 1, bytes_.size());
  ++line_number_;
  return true;
}

/// Reads more bytes. Before the first line, reads enough to recognise the kind of file.
void TextLines::fill() {
  constexpr std::size_t enough = 8;
  const bool is_first = line_number_ == 0 && bytes_.size() < enough;
  do {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + bytes_per_read);
    ::ssize_t got = 0;
    do got = ::read(file_, bytes_.data() + before, bytes_per_read);
    while (got < 0 && errno == EINTR);
    if (got < 0)
      throw Error(ErrorKind::missing_file, "cannot read " + path_,
                  "reading failed after line " + std::to_string(line_number_) + ": " + std::strerror(errno),
                  "Check the disk or the network, and run again.");
    bytes_.resize(before + static_cast<std::size_t>(got));
    bytes_read_ += got;
    is_at_end_ = got == 0;
  } while (is_first && bytes_.size() < enough && !is_at_end_);
  if (is_first)
    for (const OtherKind& kind : other_kinds)
      if (bytes_.starts_with(kind.first_bytes))
        throw Error(ErrorKind::bad_input, path_ + " is " + std::string(kind.name), "plain text is expected",
                    std::string(kind.remedy));
  if (!is_regular_ && bytes_read_ > longest_stream)
    throw Error(ErrorKind::bad_input, path_ + " gives more than 128 MiB",
                "it is no file on a disk, and may have no end", "Write it into a file, and give that.");
}

}  // namespace smallbatch
