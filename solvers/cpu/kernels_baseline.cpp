#include "solvers/cpu/kernels_body.hpp"

namespace smallbatch {

constinit const LdltKernels ldlt_baseline = {"baseline",
                                             {4, &workspace_size_in_lanes<float, 4, 2>, &solve_in_lanes<float, 4, 2>,
                                              &factor_in_lanes<float, 4, 2>, &solve_factored_in_lanes<float, 4, 2>},
                                             {2, &workspace_size_in_lanes<double, 2, 2>, &solve_in_lanes<double, 2, 2>,
                                              &factor_in_lanes<double, 2, 2>, &solve_factored_in_lanes<double, 2, 2>}};

}  // namespace smallbatch
