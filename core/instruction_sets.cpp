#include "core/instruction_sets.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/error.hpp"

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

std::size_t chosen_instruction_set(InstructionSet wanted, const std::vector<std::string_view>& usable) {
  if (wanted == InstructionSet::best) return 0;
  const auto found = std::find(usable.begin(), usable.end(), instruction_set_name(wanted));
  if (found != usable.end()) return static_cast<std::size_t>(found - usable.begin());
  std::string have;
  for (const std::string_view name : usable) have += (have.empty() ? "" : ", ") + std::string(name);
  throw Error(ErrorKind::usage, "the instruction set " + std::string(instruction_set_name(wanted)) + " cannot be used",
              "this processor has " + have, "Name one of those, or best.");
}

}  // namespace smallbatch
