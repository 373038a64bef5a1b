// Where the bytes of a dataset lie: all that it declares, in this file, behind filters that are known. Private to io/.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_chunks.hpp"
#include "io/hdf5_input_errors.hpp"

namespace smallbatch {

/// Neither is there where a dataset has no elements, or lies in its own header: HDF5 may read it.
struct DatasetStorage {
  std::optional<std::uint64_t> address;  ///< in the file, of what lies in one piece
  std::optional<ChunkLayout> chunks;
};

/// Throws where it is not so.
DatasetStorage check_storage(const InputErrors& file, hid_t dataset, hid_t space, hid_t type, const std::string& object,
                             const std::vector<std::int64_t>& shape);

}  // namespace smallbatch
