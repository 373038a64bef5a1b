#include "solvers/ldlt_lanes_body.hpp"

namespace smallbatch {

constinit const LdltKernels ldlt_avx2 = {"avx2", {8, &solve_in_lanes<float, 8>}, {4, &solve_in_lanes<double, 4>}};

}  // namespace smallbatch
