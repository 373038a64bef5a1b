// How many terms are added in working precision before a total of higher precision takes over. Shared by cuda and cpu.
//
// Every addition to a running sum costs up to u (2^-24 or 2^-53) of what the sum holds, and the bound leaves 4 u of
// sum |q|/r for everything. A running sum over 256 charges of one sign, or over 64 of which the first outweighs the
// rest, would use that up. So terms are added in groups of 16, groups to partial sums of 64, and those to the total: no
// term takes part in more than 20 rounded additions, 10 on average, for one more addition per 16 terms.
#pragma once

namespace smallbatch {

inline constexpr int charges_per_group = 16;
inline constexpr int charges_per_partial_sum = 64;

}  // namespace smallbatch
