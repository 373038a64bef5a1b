#include "solvers/cpu/backward_error.hpp"
#include "solvers/cpu/kernels.hpp"

#pragma GCC target("avx2,fma")
#include "solvers/cpu/kernels_body.hpp"

namespace smallbatch {

constinit const LdltKernels ldlt_avx2 = {"avx2",
                                         {8, &workspace_size_in_lanes<float, 8, 2>, &solve_in_lanes<float, 8, 2>,
                                          &factor_in_lanes<float, 8, 2>, &solve_factored_in_lanes<float, 8, 2>},
                                         {4, &workspace_size_in_lanes<double, 4, 2>, &solve_in_lanes<double, 4, 2>,
                                          &factor_in_lanes<double, 4, 2>, &solve_factored_in_lanes<double, 4, 2>}};

}  // namespace smallbatch
