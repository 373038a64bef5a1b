// y_i = a x_i + y_i, an example of an element-wise functor that works on the device and on the host.
#pragma once

#include <cstdint>

#include "bench/ladder.hpp"

namespace smallbatch {

struct Saxpy {
  float a;
  const float* x;
  float* y;
  constexpr void operator()(std::int64_t i) const { y[i] = a * x[i] + y[i]; }
};

/// Computes four neighbours at a time, by loads and stores of 16 bytes. Index k stands for values 4 k .. 4 k + 3; only
/// the first `count` values exist. x and y are aligned to 16 bytes.
struct SaxpyOfFour {
  struct alignas(16) Four {
    float value[4];
  };
  Saxpy one;
  std::int64_t count;
  constexpr void operator()(std::int64_t k) const {
    if (4 * k + 4 > count) {
      for (std::int64_t i = 4 * k; i < count; ++i) one(i);
      return;
    }
    const Four x = reinterpret_cast<const Four*>(one.x)[k];
    Four& y = reinterpret_cast<Four*>(one.y)[k];
    Four result = y;
    for (int i = 0; i < 4; ++i) result.value[i] = one.a * x.value[i] + result.value[i];
    y = result;
  }
};

/// Ladder of the vendor's library, the loops of core/grid_stride.cuh on the device, and loops on the host.
Ladder saxpy_ladder(std::int64_t count);

}  // namespace smallbatch
