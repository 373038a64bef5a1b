// The three implementations, for tests that run over all of them. Without a GPU the cuda ones skip, and say so.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
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
    backend_.kind = GetParam();
    if (const std::string why = why_absent(backend_.kind); !why.empty()) GTEST_SKIP() << why;
  }
  Backend backend_;
};

}  // namespace smallbatch::testing
