// What follows from comparing the bytes of a result file with its checksums: what is said of it, and what is refused.
#pragma once

#include <string>

#include "io/format/byte_check.hpp"

namespace smallbatch {

/// Throws Error(bad_input), which names what was changed and where, unless its numbers are what was written.
void refuse_damaged_numbers(const std::string& path, const ByteCheck& check);
/// The same, and unless every other byte is, and was compared: a file without checksums is refused, too.
void refuse_unless_as_written(const std::string& path, const ByteCheck& check);

/// What is said where bytes in no dataset are others, as some are that another program has added an attribute to.
std::string words_on_rest(const std::string& path);
/// What was compared of a result file, or why nothing was: "all 4096 bytes are what was written (12 datasets, and the
/// rest)".
std::string check_words(const ByteCheck& check);

}  // namespace smallbatch
