// The choice among kernels that are compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/instruction_sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Returns the index of the wanted instruction set among `usable`, the names of this processor's sets, best first.
/// Throws Error (usage) if the wanted set is not among them.
std::size_t chosen_instruction_set(InstructionSet wanted, const std::vector<std::string_view>& usable);

#if defined(__x86_64__)
inline constexpr bool built_for_x86_64 = true;
inline bool processor_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
inline bool processor_has_avx512() {
  return processor_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
/// Returns whether the processor has AVX-512 with BW and VNNI, which InstructionSet::avx512 does not include. A VNNI
/// instruction adds up four products of bytes.
inline bool processor_has_avx512_vnni() {
  return processor_has_avx512() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}
#else
inline constexpr bool built_for_x86_64 = false;
inline bool processor_has_avx2() { return false; }
inline bool processor_has_avx512() { return false; }
inline bool processor_has_avx512_vnni() { return false; }
#endif

/// Returns the tables of kernels that this processor can run, best first and baseline last. The template parameters are
/// one table per instruction set. The tables avx2 and avx512 need not be defined if the build is not for x86-64.
template <const auto& baseline, const auto& avx2, const auto& avx512>
auto usable_kernels() {
  std::vector usable{baseline};
  if constexpr (built_for_x86_64) {
    if (processor_has_avx2()) usable.insert(usable.begin(), avx2);
    if (processor_has_avx512()) usable.insert(usable.begin(), avx512);
  }
  return usable;
}

/// Returns the wanted kernels. Throws Error (usage) if they are not among `usable`.
template <class Kernels>
Kernels chosen_kernels(InstructionSet wanted, const std::vector<Kernels>& usable) {
  std::vector<std::string_view> names;
  for (const Kernels& kernels : usable) names.emplace_back(kernels.name);
  return usable[chosen_instruction_set(wanted, names)];
}

}  // namespace smallbatch
#pragma GCC visibility pop
