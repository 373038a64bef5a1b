#include "core/processor.hpp"

#include <fstream>
#include <set>
#include <thread>

#include "core/instruction_sets.hpp"
#include "core/usable_kernels.hpp"

namespace smallbatch {

Processor processor() {
  Processor found;
  found.threads = std::thread::hardware_concurrency();
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> cores;  // "0 3": core 3 of package 0
  std::string package;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) found.model = value;
    if (line.starts_with("physical id")) package = value;
    if (line.starts_with("core id")) cores.insert(package + " " + value);
  }
  found.cores = static_cast<unsigned>(cores.size());
  return found;
}

std::vector<std::string_view> usable_instruction_sets() {
  std::vector<std::string_view> usable{instruction_set_name(InstructionSet::baseline)};
  if (processor_has_avx2()) usable.insert(usable.begin(), instruction_set_name(InstructionSet::avx2));
  if (processor_has_avx512()) usable.insert(usable.begin(), instruction_set_name(InstructionSet::avx512));
  return usable;
}

}  // namespace smallbatch
