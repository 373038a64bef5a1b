// What processor this machine has, as Linux says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smallbatch {

struct Processor {
  std::string model;                ///< "Intel(R) Xeon(R) Platinum 8480C"; empty where it is not said
  unsigned cores = 0, threads = 0;  ///< of the machine; 0: not known
};

Processor processor();

/// The names of the instruction sets that it has, of those that the cpu backends are compiled for, best first.
std::vector<std::string_view> usable_instruction_sets();

}  // namespace smallbatch
