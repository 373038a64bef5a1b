// The three implementations of Correlator, for make_correlator().
#pragma once

#include <memory>

#include "physics/correlation.hpp"
#include "physics/correlations/cpu/rank_update.hpp"

namespace smallbatch {

std::unique_ptr<Correlator> make_cuda_correlator(int device);
std::unique_ptr<Correlator> make_cpu_correlator(unsigned threads, const RankUpdateKernels& kernels);
std::unique_ptr<Correlator> make_reference_correlator(unsigned threads);

}  // namespace smallbatch
