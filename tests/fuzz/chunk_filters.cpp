// undo_filters() makes exactly the expected number of bytes from a stored chunk, or says what is wrong. It accepts the
// same deflate streams as zlib. It restores bytes that were shuffled as HDF5's documentation says.
#include "io/hdf5/chunk_filters.hpp"

#include <zlib.h>

#include <vector>

#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

using Kind = ChunkFilter::Kind;

bool is_stream_of(std::span<const std::uint8_t> stored, std::size_t expected) {
  std::vector<Bytef> made(std::max<std::size_t>(expected, 1));
  uLongf made_bytes = expected;
  uLong taken = stored.size();
  return ::uncompress2(made.data(), &made_bytes, stored.data(), &taken) == Z_OK && made_bytes == expected &&
         taken == stored.size();
}

/// Returns byte 0 of every element, then byte 1 of every element, and so on. Bytes after the last whole element follow.
AlignedVector<unsigned char> shuffled(std::span<const std::uint8_t> bytes, std::size_t element_bytes) {
  const std::size_t elements = bytes.size() / element_bytes;
  AlignedVector<unsigned char> planes;
  for (std::size_t k = 0; k < element_bytes; ++k)
    for (std::size_t i = 0; i < elements; ++i) planes.push_back(bytes[i * element_bytes + k]);
  for (const std::uint8_t byte : bytes.subspan(elements * element_bytes)) planes.push_back(byte);
  return planes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  Input input(bytes, count);
  std::vector<ChunkFilter> filters;
  for (int left = input.take<std::uint8_t>() % 6; left > 0; --left) {
    const ChunkFilter filter{static_cast<Kind>(input.take<std::uint8_t>() % 5), input.take<std::uint8_t>()};
    if (std::ranges::find(filters, filter.kind, &ChunkFilter::kind) == filters.end()) filters.push_back(filter);
  }
  const auto skipped = input.take<std::uint8_t>();
  const std::size_t expected = input.take<std::uint16_t>();
  const auto stored = input.rest();

  AlignedVector<unsigned char> chunk(stored.begin(), stored.end());
  const auto wrong = undo_filters(filters, skipped, expected, chunk);
  require(wrong ? !wrong->empty() : chunk.size() == expected, "a chunk has another size");
  if (filters.size() == 1 && filters[0].kind == Kind::deflate && skipped == 0)
    require(!wrong == is_stream_of(stored, expected), "zlib says otherwise");
  if (filters.size() == 1 && filters[0].kind == Kind::shuffle && skipped == 0 && filters[0].element_bytes > 0) {
    chunk = shuffled(stored, filters[0].element_bytes);
    require(!undo_filters(filters, 0, stored.size(), chunk) && std::ranges::equal(chunk, stored),
            "bytes lie elsewhere");
  }
  if (!wrong && !filters.empty())
    require(stored.size() <= largest_stored_bytes(filters, expected) ||
                expected / largest_unpacked_ratio(filters) <= stored.size(),
            "bytes became more than they can");
  return 0;
}
