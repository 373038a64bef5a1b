// The backends cuda, cpu and reference: three implementations of each operation, behind one interface.
#pragma once

#include <string>

#include "core/instruction_sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// An implementation of every operation.
enum class BackendKind {
  cuda,      ///< fast, on GPUs
  cpu,       ///< fast, without a GPU: SIMD across systems or points, all threads
  reference  ///< Eigen in double precision, plain and slow: the referee
};

/// A backend and the hardware that it runs on.
struct Backend {
  BackendKind kind = BackendKind::cpu;                    ///< which implementation
  int device = 0;                                         ///< CUDA device index, for cuda only
  unsigned threads = 0;                                   ///< worker threads, for cpu and reference; 0: one per core
  InstructionSet instruction_set = InstructionSet::best;  ///< for cpu only
};

/// Returns "cuda:0", "cpu" or "reference".
std::string backend_name(const Backend& backend);

}  // namespace smallbatch
#pragma GCC visibility pop
