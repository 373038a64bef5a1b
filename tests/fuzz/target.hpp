// Every target of this folder defines LLVMFuzzerTestOneInput(). libFuzzer and corpus_test.cpp call this function with
// bytes. The target passes the bytes to tested functions. It throws Broken if a tested function breaks the promises of
// its header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

/// Returns 0, as libFuzzer requires.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count);

namespace smallbatch::testing {

struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Broken(what);
}

/// Takes numbers from the front of the bytes, in this machine's byte order. Missing bytes are zeros.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t count) : left_(bytes, count) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t here = std::min(sizeof(T), left_.size());
    if (here > 0) std::memcpy(&value, left_.data(), here);
    left_ = left_.subspan(here);
    return value;
  }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return left_; }
  [[nodiscard]] std::string text() const { return {left_.begin(), left_.end()}; }

 private:
  std::span<const std::uint8_t> left_;
};

/// Returns whether the text has no control character of ASCII or C1, and none of five other characters that a terminal
/// obeys. The five stand for all marks of direction and all invisible characters.
inline bool is_obeyed_nowhere(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, is_control)) return false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const auto next = static_cast<unsigned char>(text[i + 1]);
    if (text[i] == '\xc2' && next >= 0x80 && next < 0xa0) return false;
  }
  for (const std::string_view mark : {"\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x80\xa8", "\xe2\x81\xa6", "\xef\xbb\xbf"})
    if (text.find(mark) != std::string_view::npos) return false;
  return true;
}

}  // namespace smallbatch::testing
