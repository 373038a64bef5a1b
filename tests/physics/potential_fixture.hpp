// The fixture of tests that run over all implementations of Potential.
#pragma once

#include <memory>

#include "tests/backends.hpp"
#include "tests/physics/potential_cases.hpp"

namespace smallbatch::testing {

class PotentialBackendTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (!IsSkipped()) potential_ = make_potential(backend_);
  }
  std::unique_ptr<Potential> potential_;
};

}  // namespace smallbatch::testing
