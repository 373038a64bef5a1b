// Private to this room and its tests: one maker per backend, and the check of the arguments that all of them make.
#pragma once

#include <cstdint>
#include <memory>

#include "solvers/ldlt_lanes.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

std::unique_ptr<SpdSolver> make_cuda_spd_solver(int device);
std::unique_ptr<SpdSolver> make_cpu_spd_solver(unsigned threads, const LdltKernels& kernels);
std::unique_ptr<SpdSolver> make_reference_spd_solver(unsigned threads);

/// Throws Error (bad_input) for n outside [1, max_system_size], nrhs < 0 or count < 0.
void check_spd_batch(const SpdShape& shape, std::int64_t count);

}  // namespace smallbatch
