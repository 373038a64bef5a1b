// Number of terms that the CPU adds in working precision before it adds them to a total of higher precision. On the GPU
// this is charges_per_sum in cuda/device.cuh.
//
// Every addition to a running sum loses up to u (2^-24 or 2^-53) of the sum. The error bound (physics/potential.hpp)
// leaves 4 u of sum |q|/r for all errors. A running sum over 256 charges of one sign would use this up. So would a sum
// over 32 charges if the first one outweighs the rest. Terms are therefore added in groups of 8, groups to partial sums
// of 32, and partial sums to the total. A term is then in at most 10 additions that round, 7 on average. This costs one
// more addition per 8 terms.
#pragma once

namespace smallbatch {

inline constexpr int charges_per_group = 8;
inline constexpr int charges_per_partial_sum = 32;

}  // namespace smallbatch
