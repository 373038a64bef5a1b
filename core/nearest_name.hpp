// Guesses for misspelt names: names of datasets and attributes, of commands and options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns the known name that the unknown `name` probably means, or nothing. Case is ignored. One letter may be wrong,
/// missing, extra or swapped with its neighbour. Two letters may be wrong in these ways if the known name has six or
/// more letters. Known names with fewer than four letters must match in every letter.
std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace smallbatch
#pragma GCC visibility pop
