// Text from strangers is changed so that a terminal shows it and never obeys it. A shell reads the quoted text back
// unchanged.
#include "app/cli/shell_text.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/input.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

/// Returns the word as bash reads it: bare, in '...' with '\'' between, or in $'...' with \x1b, \' and two backslashes.
std::string read_by_shell(std::string_view word) {
  std::string text;
  if (word.starts_with("$'")) {
    for (std::size_t k = 2; k + 1 < word.size(); ++k) {
      if (word[k] != '\\') {
        text += word[k];
      } else if (word[k + 1] == 'x') {
        text += static_cast<char>(std::stoi(std::string(word.substr(k + 2, 2)), nullptr, 16));
        k += 3;
      } else {
        text += word[++k];
      }
    }
    return text;
  }
  bool is_within = false;
  for (std::size_t k = 0; k < word.size(); ++k) {
    if (word[k] == '\'') {
      is_within = !is_within;
    } else if (word[k] == '\\' && !is_within) {
      text += word[++k];
    } else {
      text += word[k];
    }
  }
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  const std::string visible = visible_text(text);
  require(is_obeyed_nowhere(visible) && visible_text(visible) == visible, "visible_text()");
  const std::string word = shell_quoted(text);
  require(is_obeyed_nowhere(word), "shell_quoted() is obeyed by a terminal");
  if (text.find('\0') == std::string::npos)
    require(read_by_shell(word) == text, "shell_quoted() is read as another word");
  require(is_obeyed_nowhere(quoted(text)) && quoted(text).size() >= 2, "quoted()");
  return 0;
}
