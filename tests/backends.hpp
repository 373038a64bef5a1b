// The three implementations, for tests that run over all of them. Without a GPU the cuda ones skip, and say so.
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

/// How GoogleTest shows a backend.
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

/// What SMALLBATCH_INSTRUCTION_SET names; without it the best. The tests of a room run once with each (CMakeLists.txt):
/// with the best without a name, and with the others by theirs.
inline InstructionSet instruction_set_under_test() {
  const char* const name = std::getenv("SMALLBATCH_INSTRUCTION_SET");
  if (name == nullptr) return InstructionSet::best;
  if (const auto set = parse_instruction_set(name)) return *set;
  throw std::invalid_argument("SMALLBATCH_INSTRUCTION_SET names no instruction set: " + std::string(name));
}

inline Backend backend_under_test(BackendKind kind, unsigned threads = 0) {
  return {kind, 0, threads, instruction_set_under_test()};
}

/// The last one that this processor has.
inline InstructionSet best_instruction_set() {
  if (processor_has_avx512()) return InstructionSet::avx512;
  return processor_has_avx2() ? InstructionSet::avx2 : InstructionSet::baseline;
}

/// Why a backend cannot run here, or need not; empty where it is to run.
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
