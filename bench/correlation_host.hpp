// A ladder (bench/ladder.hpp) of correlations on the host.
#pragma once

#include <complex>
#include <cstdint>

#include "bench/ladder.hpp"
#include "core/signals.hpp"

namespace smallbatch {

/// Ladder of Eigen's rank update, then the cpu backend on one thread and on all. It uses the host's clock and 1024
/// samples per channel.
Ladder host_correlation_ladder(SampleType type, std::int64_t inputs, std::int64_t channels);

/// Correlates one channel of samples (times, inputs) on one thread. Fills the lower triangle of `matrix`, by columns.
void correlate_by_eigen(const std::complex<float>* signal, std::int64_t inputs, std::int64_t times,
                        std::complex<float>* matrix);

}  // namespace smallbatch
