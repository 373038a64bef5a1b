// How many terms the CPU adds in working precision before a total of higher precision takes over (the GPU:
// charges_per_sum in cuda/device.cuh).
//
// Every addition to a running sum costs up to u (2^-24 or 2^-53) of what the sum holds, and the bound leaves 4 u of
// sum |q|/r for everything. A running sum over 256 charges of one sign, or over 32 of which the first outweighs the
// rest, would use that up. So terms are added in groups of 8, groups to partial sums of 32, and those to the total: no
// term takes part in more than 10 rounded additions, 5 on average, for one more addition per 8 terms.
#pragma once

namespace smallbatch {

inline constexpr int charges_per_group = 8;
inline constexpr int charges_per_partial_sum = 32;

}  // namespace smallbatch
