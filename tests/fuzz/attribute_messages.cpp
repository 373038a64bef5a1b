// has_sound_attributes() returns for any bytes, base and address. It neither crashes nor hangs.
#include "io/hdf5/attribute_messages.hpp"

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const MemoryFile file({bytes, count});
  InputBytes input(file.path(), 1);
  Input places(bytes, count);
  const auto base = places.take<std::uint64_t>(), address = places.take<std::uint64_t>();
  (void)has_sound_attributes(input, 0, 16);
  (void)has_sound_attributes(input, base, address);
  (void)has_sound_attributes(input, 8, 8);
  return 0;
}
