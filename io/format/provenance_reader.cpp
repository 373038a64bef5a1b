#include "io/format/provenance_reader.hpp"

#include "io/hdf5/input.hpp"

namespace smallbatch {

std::map<std::string, ProvenanceValue> read_provenance(const std::string& path) {
  const InputFile file(path);
  std::map<std::string, ProvenanceValue> found;
  for (const std::string& name : file.attributes("/provenance"))
    if (auto value = file.text_or_number("/provenance", name)) found.emplace(name, std::move(*value));
  return found;
}

}  // namespace smallbatch
