// Checks that an output, or the log file, is not an input.
#pragma once

#include <string>

namespace smallbatch {

/// Throws Error(usage) if `output` exists and is the same file as `input`, even under another name.
void refuse_output_that_is_input(const std::string& input, const std::string& output);

/// Returns whether `path` is `output`, or one of the temporary files that are written beside `output`.
bool is_output_or_beside(const std::string& path, const std::string& output);

/// Returns whether both names mean the same file. Neither has to exist.
bool is_same_file(const std::string& one, const std::string& other);

}  // namespace smallbatch
