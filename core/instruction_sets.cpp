#include "core/instruction_sets.hpp"

#include <array>
#include <utility>

namespace smallbatch {

namespace {
constexpr std::array<std::pair<InstructionSet, std::string_view>, 4> names{{{InstructionSet::best, "best"},
                                                                            {InstructionSet::baseline, "baseline"},
                                                                            {InstructionSet::avx2, "avx2"},
                                                                            {InstructionSet::avx512, "avx512"}}};
}  // namespace

std::string_view instruction_set_name(InstructionSet wanted) {
  for (const auto& [set, name] : names)
    if (set == wanted) return name;
  return "unknown";
}

std::vector<std::string_view> instruction_set_names() {
  std::vector<std::string_view> all;
  for (const auto& [set, name] : names) all.push_back(name);
  return all;
}

std::optional<InstructionSet> parse_instruction_set(std::string_view wanted) {
  for (const auto& [set, name] : names)
    if (name == wanted) return set;
  return std::nullopt;
}

}  // namespace smallbatch
