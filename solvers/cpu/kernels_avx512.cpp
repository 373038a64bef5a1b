#include "solvers/cpu/backward_error.hpp"
#include "solvers/cpu/kernels.hpp"

#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")
#include "solvers/cpu/kernels_body.hpp"

namespace smallbatch {

constinit const LdltKernels ldlt_avx512 = {"avx512",
                                           {16, &workspace_size_in_lanes<float, 16, 4>, &solve_in_lanes<float, 16, 4>,
                                            &factor_in_lanes<float, 16, 4>, &solve_factored_in_lanes<float, 16, 4>},
                                           {8, &workspace_size_in_lanes<double, 8, 4>, &solve_in_lanes<double, 8, 4>,
                                            &factor_in_lanes<double, 8, 4>, &solve_factored_in_lanes<double, 8, 4>}};

}  // namespace smallbatch
