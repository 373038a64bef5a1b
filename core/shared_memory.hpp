// How much shared memory a block of threads may ask for. Private to */cuda.
#pragma once

#include <cstddef>

namespace smallbatch {

/// On each GPU of compute capability 8.0 and later: those of 8.6, 8.9 and 12.0 have the least, 99 KiB (8.0: 163; 9.0 and
/// 10.0: 227). No kernel is launched with more but where it has asked the device. What is declared __shared__ takes
/// part, but is 48 KiB at most, as the compiler sees to.
inline constexpr std::size_t shared_bytes_everywhere = 99 << 10;

}  // namespace smallbatch
