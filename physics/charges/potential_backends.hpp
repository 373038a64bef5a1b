// The three implementations of Potential, for make_potential().
#pragma once

#include <memory>

#include "physics/charges/cpu/kernels.hpp"
#include "physics/potential.hpp"

namespace smallbatch {

/// Sends the calls for both precisions to the template Implementation::run(), because virtual functions cannot be
/// templates.
template <class Implementation>
class PotentialOf : public Potential {
 public:
  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<float>& result) final {
    static_cast<Implementation*>(this)->run(charges, targets, options, result);
  }
  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<double>& result) final {
    static_cast<Implementation*>(this)->run(charges, targets, options, result);
  }
};

std::unique_ptr<Potential> make_cuda_potential(int device);
std::unique_ptr<Potential> make_cpu_potential(unsigned threads, const DirectSumKernels& lanes);
std::unique_ptr<Potential> make_reference_potential(unsigned threads);

}  // namespace smallbatch
