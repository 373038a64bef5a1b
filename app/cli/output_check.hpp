// What an output, or the log file, must never be: an input.
#pragma once

#include <string>

namespace smallbatch {

/// Throws Error(usage) where `output` exists and is the same file as `input`, whatever it is called.
void refuse_output_that_is_input(const std::string& input, const std::string& output);

/// Whether a file is `output`, or has a name that is written beside it.
bool is_output_or_beside(const std::string& path, const std::string& output);

/// Whatever they are called, and even where neither is there yet.
bool is_same_file(const std::string& one, const std::string& other);

}  // namespace smallbatch
