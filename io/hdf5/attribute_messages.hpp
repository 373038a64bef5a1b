// Checks attributes in object headers without checksums, before HDF5 decodes them. Private to io/.
#pragma once

#include <cstdint>

#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

/// Returns false if an attribute in the object header at `address` declares impossible sizes. HDF5 1.10 follows such
/// sizes and reads beyond the message and the memory that holds it. Returns true for headers with checksums, and for
/// headers that cannot be read: HDF5 reports those. HDF5 counts addresses from byte `base` of the file. Only files with
/// addresses and lengths of 8 bytes are supported.
bool has_sound_attributes(InputBytes& file, std::uint64_t base, std::uint64_t address);

}  // namespace smallbatch
