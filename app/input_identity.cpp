// libxxhash is used here alone.
#include "app/input_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>

namespace smallbatch {

namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  void add(const void* bytes, std::size_t count) { XXH3_128bits_update(state_.get(), bytes, count); }
  [[nodiscard]] std::string text() const {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state_.get()));
    std::string digits;
    for (const unsigned char byte : bytes.digest)
      for (const int half : {byte >> 4, byte & 15}) digits += "0123456789abcdef"[half];
    return digits;
  }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

/// "2026-11-23T07:54:11.123456789Z"
std::string time_text(const timespec& time) {
  std::tm parts{};
  gmtime_r(&time.tv_sec, &parts);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%09ldZ", time.tv_nsec);
  return text.data();
}

/// False where the file ends early or cannot be read.
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
  std::vector<char> buffer(hash_piece_bytes);
  Hash hash;
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
  if (is_read) identity.hash = hash.text();
  return identity;
}

InputIdentity identify_file(const std::string& path) {
  // A pipe's bytes are for its reader: opening it must not wait, and none is taken.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  const InputIdentity identity = identify_open_file(file);
  ::close(file);
  return identity;
}

}  // namespace

InputIdentity identify_input(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return identify_file(paths[0]);
  InputIdentity all;
  Hash hash;
  bool is_whole = true;
  for (const std::string& path : paths) {
    const InputIdentity one = identify_file(path);
    is_whole = is_whole && !one.hash.empty();
    all.bytes += one.bytes;
    all.hashed_bytes += one.hashed_bytes;
    all.modified = std::max(all.modified, one.modified);
    hash.add((one.hash + "\n").data(), one.hash.size() + 1);
  }
  if (is_whole && !paths.empty()) all.hash = hash.text();
  return all;
}

bool is_another_input(const std::string& path, const std::string& hash_of_input) {
  return !hash_of_input.empty() && identify_input({path}).hash != hash_of_input;
}

}  // namespace smallbatch
