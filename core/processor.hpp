// The processor of this machine, as Linux describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smallbatch {

struct Processor {
  std::string model;                ///< "Intel(R) Xeon(R) Platinum 8480C"; empty if unknown
  unsigned cores = 0, threads = 0;  ///< counts for the whole machine; 0: unknown
};

Processor processor();

/// Returns the names of the usable instruction sets, best first. A set is usable if the processor has it and the cpu
/// backends are compiled for it.
std::vector<std::string_view> usable_instruction_sets();

}  // namespace smallbatch
