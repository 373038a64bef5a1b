#include "app/report/input_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

#include "core/error.hpp"
#include "io/integrity/hashes.hpp"

namespace smallbatch {

namespace {

/// If a file is larger than all pieces together, only these pieces are hashed, evenly spread from first byte to last.
/// They reveal a changed structure, a file of another run or a broken copy. The time does not grow with the file.
constexpr std::uint64_t hash_pieces = 64, hash_piece_bytes = std::uint64_t{1} << 20;
/// Bytes that are read at a time before they are hashed, so that they stay in the core's cache.
constexpr std::size_t bytes_at_once = std::size_t{1} << 17;

/// Returns "2026-11-23T07:54:11.123456789Z".
std::string time_text(const timespec& time) {
  std::tm parts{};
  gmtime_r(&time.tv_sec, &parts);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%09ldZ", time.tv_nsec);
  return text.data();
}

/// Returns false if the file ends early or cannot be read.
bool add_piece(int file, std::uint64_t begin, std::uint64_t count, std::vector<char>& buffer, Hash& hash) {
  while (count > 0) {
    const ::ssize_t got =
        ::pread(file, buffer.data(), std::min<std::uint64_t>(count, buffer.size()), static_cast<::off_t>(begin));
    if (got <= 0) return false;
    hash.add(buffer.data(), static_cast<std::size_t>(got));
    begin += static_cast<std::uint64_t>(got);
    count -= static_cast<std::uint64_t>(got);
  }
  return true;
}

InputIdentity identify_open_file(int file) {
  InputIdentity identity;
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return identity;
  identity.bytes = static_cast<std::uint64_t>(found.st_size);
  identity.modified = time_text(found.st_mtim);
  identity.touched = time_text(found.st_ctim) + ", inode " + std::to_string(found.st_ino);
  std::vector<char> buffer(bytes_at_once);
  Hash hash(HashBits::of_128);
  bool is_read = true;
  if (identity.bytes <= hash_pieces * hash_piece_bytes) {
    is_read = add_piece(file, 0, identity.bytes, buffer, hash);
    identity.hashed_bytes = identity.bytes;
  } else {
    for (std::uint64_t k = 0; k < hash_pieces && is_read; ++k)
      is_read =
          add_piece(file, k * (identity.bytes - hash_piece_bytes) / (hash_pieces - 1), hash_piece_bytes, buffer, hash);
    identity.hashed_bytes = hash_pieces * hash_piece_bytes;
  }
  if (is_read) identity.hash = hash.digits();
  return identity;
}

InputIdentity identify_file(const std::string& path) {
  // Opening a pipe must not wait. No byte of a pipe is read here, because the program that reads the input needs all of
  // them.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  const InputIdentity identity = identify_open_file(file);
  ::close(file);
  return identity;
}

bool is_same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

InputIdentity identify_input(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return identify_file(paths[0]);
  InputIdentity all;
  Hash hash(HashBits::of_128);
  bool is_whole = true;
  for (const std::string& path : paths) {
    const InputIdentity one = identify_file(path);
    is_whole = is_whole && !one.hash.empty();
    all.bytes += one.bytes;
    all.hashed_bytes += one.hashed_bytes;
    all.modified = std::max(all.modified, one.modified);
    hash.add((one.hash + "\n").data(), one.hash.size() + 1);
  }
  if (is_whole && !paths.empty()) all.hash = hash.digits();
  return all;
}

InputGuard::InputGuard(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor), opened_{} {
  constexpr double fresh_seconds = 1;  // longer than the clock step of any common file system
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (::fstat(descriptor, &opened_) != 0) opened_ = {};
  is_fresh_ = static_cast<double>(now.tv_sec - opened_.st_ctim.tv_sec) +
                  1e-9 * static_cast<double>(now.tv_nsec - opened_.st_ctim.tv_nsec) <
              fresh_seconds;
}

InputIdentity InputGuard::identify() const {
  InputIdentity identity = identify_open_file(descriptor_);
  struct stat now {};
  identity.is_as_opened = ::fstat(descriptor_, &now) == 0 && is_same_time(now.st_ctim, opened_.st_ctim);
  return identity;
}

void InputGuard::refuse_change(const InputIdentity& begun) const {
  if (begun.hash.empty() && begun.bytes == 0) return;  // not a regular file
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::bad_input, "cannot use " + path_,
                why + " while it was used, so the results would belong to no file",
                "Keep other programs from writing to it, and run again.");
  };
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) refuse("it could not be looked at");
  if (now.st_size != opened_.st_size || !is_same_time(now.st_mtim, opened_.st_mtim)) refuse("it was changed");
  // A file that was removed or renamed is still the same file. A new file under the old name is another file.
  struct stat named {};
  const bool is_named = ::stat(path_.c_str(), &named) == 0;
  if (is_named && (named.st_ino != opened_.st_ino || named.st_dev != opened_.st_dev)) refuse("it was replaced");
  const bool is_untouched = is_same_time(now.st_ctim, opened_.st_ctim);
  if (is_untouched && !is_fresh_) return;
  if (identify_open_file(descriptor_).hash != begun.hash) refuse("it was changed");
  // Here the hashes are equal. This proves that the file is unchanged, if the first hash covers the whole file and was
  // made before the file was touched. If it proves nothing, a new name, link, mode or owner must explain the touch.
  const bool does_hash_tell = begun.is_as_opened && begun.hashed_bytes == begun.bytes;
  const bool is_explained = !is_named || now.st_nlink != opened_.st_nlink || now.st_mode != opened_.st_mode ||
                            now.st_uid != opened_.st_uid || now.st_gid != opened_.st_gid;
  if (!is_untouched && !does_hash_tell && !is_explained) refuse("it was changed, and its time set back,");
}

bool is_another_input(const std::string& path, const std::string& hash_of_input) {
  if (hash_of_input.empty()) return false;
  const InputIdentity found = identify_input({path});
  if (found.hash.empty())
    throw Error(ErrorKind::missing_file, "cannot read " + path, "its hash could not be computed",
                "Check the disk or the network, and run again.");
  return found.hash != hash_of_input;
}

}  // namespace smallbatch
