// Checks the arguments of Correlator::correlate, in the same way for all three implementations.
#pragma once

#include "physics/correlation.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error (bad_input) for
/// - negative counts;
/// - inputs outside 1 to max_inputs;
/// - `integrate` below 1, or an integration with more samples than a weight can count;
/// - sums of a type other than sum_type() of the batch. If sum_type() is complex_int32, complex_int64 is also accepted.
void check_correlation_call(const SignalBatch& signal, const VisibilityBatch& sums);

}  // namespace smallbatch
#pragma GCC visibility pop
