// What a misspelt name means: of datasets and attributes, of commands and options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// The known name that `name`, which is none of them, probably means: alike but for case, or one letter wrong, missing,
/// extra or swapped with its neighbour (two, where the known name has six or more).
std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace smallbatch
#pragma GCC visibility pop
