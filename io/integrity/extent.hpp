#pragma once

#include <cstdint>

namespace smallbatch {

/// Bytes [address, address + size) of a file.
struct Extent {
  std::uint64_t address = 0, size = 0;
};

}  // namespace smallbatch
