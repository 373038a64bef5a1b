// Values whose sum in single precision is exact in any order, on host and device.
#pragma once

#include <cstdint>

namespace smallbatch {

/// Numbers from 1 to 8. Zeros lie between them if there are so many values that their sum could reach 2^24.
class WholeNumbers {
 public:
  constexpr explicit WholeNumbers(std::int64_t count) : every_(static_cast<std::uint32_t>(1 + count / (1 << 21))) {}
  [[nodiscard]] constexpr float operator()(std::int64_t i) const {
    std::uint32_t hash = static_cast<std::uint32_t>(i) * 2654435761U;
    hash = (hash ^ hash >> 15) * 2246822519U;
    hash ^= hash >> 13;
    return hash % every_ == 0 ? static_cast<float>(1 + (hash >> 29)) : 0;
  }

 private:
  std::uint32_t every_;
};

/// Stores numbers(i) in values[i].
struct StoreNumbers {
  WholeNumbers numbers;
  float* values;
  constexpr void operator()(std::int64_t i) const { values[i] = numbers(i); }
};

}  // namespace smallbatch
