// What a file says of its origin.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace smallbatch {

using ProvenanceValue = std::variant<std::string, double>;

/// The attributes of /provenance of a problem or result file that are one string or one number, by their names,
/// whatever the program that wrote them; others are left out. Opens the file as the readers do, and throws what they
/// throw. The strings are the file's: they may hold anything.
std::map<std::string, ProvenanceValue> read_provenance(const std::string& path);

}  // namespace smallbatch
