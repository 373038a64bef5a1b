// The input is a command line with one word per line. It is parsed, or refused by Error(usage) with a sentence.
#include <cmath>
#include <sstream>
#include <vector>

#include "app/cli/options.hpp"
#include "core/error.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  std::vector<std::string> words{"smallbatch"};
  std::istringstream lines({reinterpret_cast<const char*>(bytes), count});
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    const Invocation call = parse_options(static_cast<int>(argv.size()), argv.data());
    require(is_obeyed_nowhere(call.command_line), "the command line of provenance is not one line");
    if (const auto* run = std::get_if<RunOptions>(&call.command)) {
      require(run->memory == 0 || (run->memory >= std::uint64_t{1} << 20 && run->memory <= std::uint64_t{1} << 50),
              "--memory");
      require(run->spd.pivot_floor >= 0 && run->spd.pivot_floor < 1, "--pivot-floor");
    }
    if (const auto* import = std::get_if<ImportOptions>(&call.command))
      require(std::isfinite(import->margin) && import->temperature > 0, "--margin or --temperature");
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::usage && *error.what() != '\0', "another kind of error");
  }
  return 0;
}
