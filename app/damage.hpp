// What is said of a result file whose bytes are not those that were written.
#pragma once

#include <string>

#include "io/byte_check.hpp"

namespace smallbatch {

/// Throws Error(bad_input), which names what was changed and where, unless its numbers are what was written.
void refuse_damaged_numbers(const std::string& path, const ByteCheck& check);
/// The same, and unless every other byte is.
void refuse_damage(const std::string& path, const ByteCheck& check);

/// What is said where bytes in no dataset are others, as some are that another program has added an attribute to.
std::string words_on_rest(const std::string& path);
/// What was compared, or why nothing was: "all 4096 bytes are what was written, of 12 datasets as well".
std::string check_words(const ByteCheck& check, bool is_result_file);

}  // namespace smallbatch
