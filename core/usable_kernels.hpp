// Which of a room's kernels this processor runs: they are compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/instruction_sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Which of `usable`, the names of what this processor has, best first, is wanted. Throws Error (usage) where it is not
/// among them.
std::size_t chosen_instruction_set(InstructionSet wanted, const std::vector<std::string_view>& usable);

#if defined(__x86_64__)
inline constexpr bool built_for_x86_64 = true;
inline bool processor_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
inline bool processor_has_avx512() {
  return processor_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
/// Beyond what avx512 promises: BW and VNNI, products of bytes added up in fours.
inline bool processor_has_avx512_vnni() {
  return processor_has_avx512() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}
#else
inline constexpr bool built_for_x86_64 = false;
inline bool processor_has_avx2() { return false; }
inline bool processor_has_avx512() { return false; }
inline bool processor_has_avx512_vnni() { return false; }
#endif

/// Of a room's kernels, one table per instruction set, those that this processor runs: best first, baseline last. The
/// other two need not exist where this is not built for x86-64.
template <const auto& baseline, const auto& avx2, const auto& avx512>
auto usable_kernels() {
  std::vector usable{baseline};
  if constexpr (built_for_x86_64) {
    if (processor_has_avx2()) usable.insert(usable.begin(), avx2);
    if (processor_has_avx512()) usable.insert(usable.begin(), avx512);
  }
  return usable;
}

/// The one of them that is wanted. Throws Error (usage) where it is not among them.
template <class Kernels>
Kernels chosen_kernels(InstructionSet wanted, const std::vector<Kernels>& usable) {
  std::vector<std::string_view> names;
  for (const Kernels& kernels : usable) names.emplace_back(kernels.name);
  return usable[chosen_instruction_set(wanted, names)];
}

}  // namespace smallbatch
#pragma GCC visibility pop
