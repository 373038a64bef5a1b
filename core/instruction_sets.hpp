// Instruction sets that the cpu backends are compiled for. A program contains the kernels of all sets of its processor
// family, and chooses one set at run time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// An instruction set, or `best`.
enum class InstructionSet {
  best,      ///< the last set of this list that the processor has
  baseline,  ///< the set that the compiler assumes by default; the only one on processors other than x86-64
  avx2,      ///< x86-64 with AVX2 and FMA
  avx512     ///< x86-64 with AVX2, FMA and AVX-512 F, DQ and VL
};

/// Returns "best", "baseline", "avx2" or "avx512".
std::string_view instruction_set_name(InstructionSet set);

/// Returns the names of all instruction sets, with "best".
std::vector<std::string_view> instruction_set_names();

/// Returns the instruction set with that name, or nothing.
std::optional<InstructionSet> parse_instruction_set(std::string_view name);

}  // namespace smallbatch
#pragma GCC visibility pop
