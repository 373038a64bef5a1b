// The one thing an output must never be: an input.
#pragma once

#include <string>

namespace smallbatch {

/// Throws Error(usage) where `output` exists and is the same file as `input`, whatever it is called.
void refuse_output_that_is_input(const std::string& input, const std::string& output);

}  // namespace smallbatch
