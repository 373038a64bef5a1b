// The instruction sets that the cpu backends are compiled for, all of them in every program of a processor family;
// which one runs is chosen at run time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// One of them, or the best.
enum class InstructionSet {
  best,      ///< the last of these that the processor has
  baseline,  ///< what the compiler takes for granted; the only one on processors other than x86-64
  avx2,      ///< x86-64 with AVX2 and FMA
  avx512     ///< x86-64 with AVX2, FMA and AVX-512 F, DQ and VL
};

/// "best", "baseline", "avx2", "avx512".
std::string_view instruction_set_name(InstructionSet set);

/// All of those names.
std::vector<std::string_view> instruction_set_names();

/// The one with that name.
std::optional<InstructionSet> parse_instruction_set(std::string_view name);

}  // namespace smallbatch
#pragma GCC visibility pop
