// Finds the bytes of a dataset. All bytes that it declares must be in this file, and its filters must be known. Private
// to io/.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

/// Storage of a dataset's bytes. All members are empty if the dataset has no elements.
struct DatasetStorage {
  std::optional<std::uint64_t> address;  ///< in the file, if the dataset is contiguous
  std::optional<ChunkLayout> chunks;
  std::uint64_t chunk_count = 0;
  /// Number of bytes if the numbers are in the dataset's header. Hdf5Describer reads them by HDF5.
  std::uint64_t compact_bytes = 0;
};

/// Returns the storage of a dataset's bytes. Throws Defect if a byte is missing or in another file, or if a filter is
/// unknown.
DatasetStorage check_storage(const InputBytes& file, hid_t dataset, hid_t space, hid_t type,
                             const std::vector<std::int64_t>& shape);

}  // namespace smallbatch
