// Checks of a call of Correlator::correlate, the same for all three implementations.
#pragma once

#include "physics/correlation.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Throws Error (bad_input) for
/// - negative counts;
/// - inputs outside 1 to max_inputs;
/// - an integrate below 1, or an integration with more samples than a weight can count;
/// - a type of sums that is neither sum_type() of the batch nor complex_int64 in place of complex_int32.
void check_correlation_call(const SignalBatch& signal, const VisibilityBatch& sums);

}  // namespace smallbatch
#pragma GCC visibility pop
