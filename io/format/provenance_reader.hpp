// Reads what a file says of its origin.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace smallbatch {

using ProvenanceValue = std::variant<std::string, double>;

/// Returns the attributes of /provenance of a problem file or result file, by name. Attributes that are neither one
/// string nor one number are left out. The file is opened as by ProblemReader, with the same errors. The strings come
/// from the file and may hold anything.
std::map<std::string, ProvenanceValue> read_provenance(const std::string& path);

}  // namespace smallbatch
