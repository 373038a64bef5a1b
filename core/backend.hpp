// Which implementation does the work. Each operation has three behind one interface: cuda, cpu and reference.
#pragma once

#include <string>

#include "core/instruction_sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// An implementation of every operation.
enum class BackendKind {
  cuda,      ///< production on GPUs
  cpu,       ///< production without one: SIMD across systems or points, all threads
  reference  ///< Eigen in double precision, plain and slow: the referee
};

/// An implementation, and what it runs on.
struct Backend {
  BackendKind kind = BackendKind::cpu;                    ///< which of them
  int device = 0;                                         ///< CUDA device index (cuda)
  unsigned threads = 0;                                   ///< worker threads (cpu, reference); 0: one per core
  InstructionSet instruction_set = InstructionSet::best;  ///< (cpu)
};

/// "cuda:0", "cpu", "reference".
std::string backend_name(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
