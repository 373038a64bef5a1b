// Messages and errors after the bytes of a result file were compared with its checksums.
#pragma once

#include <string>

#include "io/format/byte_check.hpp"

namespace smallbatch {

/// Throws Error(bad_input) if numbers of the file are damaged. The message names the changed places.
void refuse_damaged_numbers(const std::string& path, const ByteCheck& check);
/// Throws Error(bad_input) if any byte of the file differs from what was written, or if the file has no checksums.
void refuse_unless_as_written(const std::string& path, const ByteCheck& check);

/// Returns the warning that bytes outside all datasets have changed. An attribute that another program
/// adds changes some of these bytes.
std::string words_on_rest(const std::string& path);
/// Returns how much of a result file was compared, or why nothing was: "all 4096 bytes are unchanged (12 datasets and
/// the rest of the file)".
std::string check_words(const ByteCheck& check);

}  // namespace smallbatch
