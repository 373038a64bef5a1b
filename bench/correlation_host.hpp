// Correlations on the host.
#pragma once

#include <complex>
#include <cstdint>

#include "bench/ladder.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Eigen's rank update, and the cpu backend on one thread and on all, by the host's clock. 1024 samples per channel.
Ladder host_correlation_ladder(SampleType type, std::int64_t inputs, std::int64_t channels);

/// One channel, its samples (times, inputs): the lower triangle of `matrix` by columns. One thread.
void correlate_by_eigen(const std::complex<float>* signal, std::int64_t inputs, std::int64_t times,
                        std::complex<float>* matrix);

}  // namespace smallbatch
