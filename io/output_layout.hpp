// Where everything lies in a file that is being written, for other processes that write into it too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of one file.
struct OutputLayout {
  /// One array of numbers.
  struct Dataset {
    std::string name;                 ///< its path in the file
    int type = 0;                     ///< ElementType
    std::vector<std::int64_t> shape;  ///< the lengths of its axes
    std::int64_t address = -1;        ///< of its first byte in the file; negative where it has none
  };
  std::string path;               ///< what the file will be called
  std::string temporary;          ///< what it is called
  std::vector<Dataset> datasets;  ///< all of them
};

/// How many elements of each dataset a process has written.
using WrittenElements = std::map<std::string, std::int64_t>;

/// What was written of a dataset at a time.
struct WrittenRange {
  std::string dataset;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< first index and count, of its first axes
  std::optional<std::uint64_t> hash;                          ///< of the bytes, where they are known
};

}  // namespace smallbatch
#pragma GCC visibility pop
