// Addresses of all datasets in a file that is being written. Other processes need them to write into the same file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Layout of one file.
struct OutputLayout {
  /// Type, shape and address of one dataset.
  struct Dataset {
    std::string name;                 ///< its path in the file
    int type = 0;                     ///< ElementType
    std::vector<std::int64_t> shape;  ///< the lengths of its axes
    std::int64_t address = -1;        ///< of its first byte in the file; negative: it has no bytes
  };
  std::string path;               ///< name of the complete file
  std::string temporary;          ///< name of the file while it is written
  std::vector<Dataset> datasets;  ///< all datasets of the file
};

/// Number of elements that a process has written, for each dataset.
using WrittenElements = std::map<std::string, std::int64_t>;

/// Part of a dataset that one call has written.
struct WrittenRange {
  std::string dataset;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< first index and count along each of its first axes
  std::optional<std::uint64_t> hash;                          ///< of the bytes; nothing if HDF5 converted them
};

}  // namespace smallbatch
#pragma GCC visibility pop
