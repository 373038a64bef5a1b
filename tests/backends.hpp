// The three backends, for tests that run with each. Tests of cuda are skipped without a GPU, and say why.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <string>

#include "core/backend.hpp"
#include "core/device.hpp"
#include "core/instruction_sets.hpp"
#include "core/usable_kernels.hpp"

namespace smallbatch {

/// Prints a backend in the messages of GoogleTest.
inline void PrintTo(BackendKind kind, std::ostream* out) { *out << backend_name({kind}); }

}  // namespace smallbatch

namespace smallbatch::testing {

inline const auto all_backends = ::testing::Values(BackendKind::reference, BackendKind::cpu, BackendKind::cuda);

inline std::string backend_test_name(const ::testing::TestParamInfo<BackendKind>& info) {
  switch (info.param) {
    case BackendKind::reference:
      return "reference";
    case BackendKind::cpu:
      return "cpu";
    case BackendKind::cuda:
      return "cuda";
  }
  return "unknown";
}

/// Returns the instruction set that SMALLBATCH_INSTRUCTION_SET names, or the best one if the variable is not set.
/// CMakeLists.txt runs the tests of solvers and physics without the variable, and then once for each set by name.
inline InstructionSet instruction_set_under_test() {
  const char* const name = std::getenv("SMALLBATCH_INSTRUCTION_SET");
  if (name == nullptr) return InstructionSet::best;
  if (const auto set = parse_instruction_set(name)) return *set;
  throw std::invalid_argument("SMALLBATCH_INSTRUCTION_SET names no instruction set: " + std::string(name));
}

inline Backend backend_under_test(BackendKind kind, unsigned threads = 0) {
  return {kind, 0, threads, instruction_set_under_test()};
}

/// Returns the best instruction set of this processor.
inline InstructionSet best_instruction_set() {
  if (processor_has_avx512()) return InstructionSet::avx512;
  return processor_has_avx2() ? InstructionSet::avx2 : InstructionSet::baseline;
}

/// Returns why a backend cannot or need not run here. Returns an empty text if it must run.
inline std::string why_absent(BackendKind kind) {
  if (kind != BackendKind::cuda)
    return instruction_set_under_test() == best_instruction_set()
               ? "this is the best instruction set here, which runs without a name"
               : "";
  const DeviceList list = cuda_devices();
  return list.devices.empty() ? "no GPU: " + list.why_none : "";
}

/// Fixture with the backend under test in `backend_`.
class BackendTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override {
    backend_ = backend_under_test(GetParam());
    if (const std::string why = why_absent(backend_.kind); !why.empty()) GTEST_SKIP() << why;
  }
  Backend backend_;
};

}  // namespace smallbatch::testing
