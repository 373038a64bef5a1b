// What a call of Correlator::correlate must satisfy, checked once for all three implementations.
#pragma once

#include "physics/correlation.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error (bad_input): negative counts, inputs outside 1 to max_inputs, an integrate below 1, an integration of
/// more samples than a weight can count, a type of sums that is not sum_type() of the batch or the wider integers.
void check_correlation_call(const SignalBatch& signal, const VisibilityBatch& sums);

}  // namespace smallbatch
#pragma GCC visibility pop
