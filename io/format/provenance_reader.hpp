// Reads what a file says of its origin.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace smallbatch {

using ProvenanceValue = std::variant<std::string, double>;

/// Returns the attributes of /provenance of a problem file or result file, by name. Attributes that are neither one
/// string nor one number are left out. It opens the file as the readers do, and throws what they throw. The strings
/// come from the file and may hold anything.
std::map<std::string, ProvenanceValue> read_provenance(const std::string& path);

}  // namespace smallbatch
