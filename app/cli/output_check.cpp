#include "app/cli/output_check.hpp"

#include <filesystem>

#include "core/error.hpp"
#include "io/integrity/output_file.hpp"

namespace smallbatch {

void refuse_output_that_is_input(const std::string& input, const std::string& output) {
  if (is_same_file(input, output))
    throw Error(ErrorKind::usage, "the output " + output + " is the input " + input, "it would be replaced",
                "Choose another name. See smallbatch --help.");
  if (is_output_or_beside(input, output))
    throw Error(ErrorKind::usage, "the input " + input + " has the name of a temporary file of the output " + output,
                "it would be replaced", "Choose another name for the output.");
}

bool is_output_or_beside(const std::string& path, const std::string& output) {
  const auto [part, journal, own_part] = names_beside(output);
  return is_same_file(path, output) || is_same_file(path, part) || is_same_file(path, journal);
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code unknown;
  if (std::filesystem::equivalent(one, other, unknown)) return true;
  // equivalent() fails if a file does not exist. The names are then compared.
  const auto canonical_path = [](const std::string& path) {
    std::error_code failure;
    const std::filesystem::path whole = std::filesystem::absolute(path, failure);
    const std::filesystem::path found = std::filesystem::weakly_canonical(whole, failure);
    return !failure ? found : std::filesystem::path(path).lexically_normal();
  };
  return !one.empty() && !other.empty() && canonical_path(one) == canonical_path(other);
}

}  // namespace smallbatch
