#include "bench/potential_production.hpp"

#include "physics/direct_sum.cuh"

namespace smallbatch {

namespace {

/// Calls direct_sum(), the production launch.
class Production {
 public:
  Production(std::shared_ptr<const DevicePotentialProblem> problem, bool with_field)
      : problem_(std::move(problem)), result_(problem_->result) {
    if (!with_field) result_.field = nullptr;
  }
  void launch(cudaStream_t stream) const {
    const DirectSumSizes sizes{problem_->charge_count(), 0, PotentialProblem::spacing};
    check(direct_sum(problem_->device_charges, problem_->device_lattice, sizes, {}, result_, nullptr, stream));
  }

 private:
  std::shared_ptr<const DevicePotentialProblem> problem_;
  PotentialResult<float> result_;
};

}  // namespace

Step production_potential_step(const std::shared_ptr<const DevicePotentialProblem>& problem, bool with_field) {
  Step step;
  step.name = with_field ? "direct_sum_with_field" : "direct_sum";
  step.idea = with_field ? "production: potential and field from the same differences and roots"
                         : "production: input inspected, targets near a charge summed again in double precision";
  step.launch = [production = std::make_shared<const Production>(problem, with_field)](cudaStream_t stream) {
    production->launch(stream);
  };
  step.check = [problem, with_field] { return problem->judge(with_field); };
  return step;
}

}  // namespace smallbatch
