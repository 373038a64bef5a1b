// The instruction sets that the cpu backends are compiled for, all of them in every program of a processor family;
// which one runs is chosen at run time.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace smallbatch {

enum class InstructionSet {
  best,      ///< the last of these that the processor has
  baseline,  ///< what the compiler takes for granted; the only one on processors other than x86-64
  avx2,      ///< x86-64 with AVX2 and FMA
  avx512     ///< x86-64 with AVX-512: F, and DQ and VL for the solver
};

/// "best", "baseline", "avx2", "avx512".
std::string_view instruction_set_name(InstructionSet set);

/// The one with that name.
std::optional<InstructionSet> parse_instruction_set(std::string_view name);

/// Which of `usable`, the names of what this processor has, best first, is wanted. Throws Error (usage) where it is not
/// among them.
std::size_t chosen_instruction_set(InstructionSet wanted, const std::vector<std::string_view>& usable);

}  // namespace smallbatch
