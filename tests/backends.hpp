// The three implementations, for tests that run over all of them. Without a GPU the cuda ones skip, and say so.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <string>

#include "core/backend.hpp"
#include "core/device.hpp"

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

/// What SMALLBATCH_INSTRUCTION_SET names; without it the best. The tests of a room run once with each (CMakeLists.txt).
inline InstructionSet instruction_set_under_test() {
  const char* const name = std::getenv("SMALLBATCH_INSTRUCTION_SET");
  if (name == nullptr) return InstructionSet::best;
  if (const auto set = parse_instruction_set(name)) return *set;
  throw std::invalid_argument("SMALLBATCH_INSTRUCTION_SET names no instruction set: " + std::string(name));
}

inline Backend backend_under_test(BackendKind kind, unsigned threads = 0) {
  return {kind, 0, threads, instruction_set_under_test()};
}

/// Why a backend cannot run here; empty where it can.
inline std::string why_absent(BackendKind kind) {
  if (kind != BackendKind::cuda) return "";
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
