// Where the bytes of a dataset lie: all that it declares, in this file, behind filters that are known. Private to io/.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

/// All empty where a dataset has no elements.
struct DatasetStorage {
  std::optional<std::uint64_t> address;  ///< in the file, of what lies in one piece
  std::optional<ChunkLayout> chunks;
  std::uint64_t chunk_count = 0;
  std::uint64_t compact_bytes = 0;  ///< of what lies in the dataset's own header: HDF5 may read it
};

/// Throws Defect where it is not so.
DatasetStorage check_storage(const InputBytes& file, hid_t dataset, hid_t space, hid_t type,
                             const std::vector<std::int64_t>& shape);

}  // namespace smallbatch
