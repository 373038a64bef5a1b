#include "app/output_check.hpp"

#include <filesystem>

#include "core/error.hpp"

namespace smallbatch {

void refuse_output_that_is_input(const std::string& input, const std::string& output) {
  std::error_code unknown;  // of a file that does not exist: not the same
  if (std::filesystem::equivalent(input, output, unknown))
    throw Error(ErrorKind::usage, "the output " + output + " is the input " + input, "it would be replaced",
                "Choose another name. See smallbatch --help.");
}

}  // namespace smallbatch
