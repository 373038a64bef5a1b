#include "core/usable_kernels.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace smallbatch {

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
