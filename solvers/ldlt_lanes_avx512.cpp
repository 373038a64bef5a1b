#include "solvers/ldlt_lanes_body.hpp"

namespace smallbatch {

constinit const LdltKernels ldlt_avx512 = {"avx512", {16, &solve_in_lanes<float, 16>}, {8, &solve_in_lanes<double, 8>}};

}  // namespace smallbatch
