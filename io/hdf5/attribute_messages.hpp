// Attributes as they lie in object headers without checksums, checked before HDF5 decodes them. Private to io/.
#pragma once

#include <cstdint>

#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

/// For files whose addresses and lengths have 8 bytes: false where an attribute in the object header at `address` (of
/// the file; `base` is where HDF5 counts from) says of itself what cannot be: HDF5 1.10 takes its value from wherever
/// the sizes lead, out of the message and of the memory that holds it. True also for headers that have checksums, and
/// for what cannot be read: HDF5 will say so.
bool has_sound_attributes(InputBytes& file, std::uint64_t base, std::uint64_t address);

}  // namespace smallbatch
