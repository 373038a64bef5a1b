// The messages of an object's header are any bytes, whose checksum is right: what is found of them lies in them.
#include "io/hdf5_object_headers.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

void append_checksum(std::vector<std::uint8_t>& bytes, std::size_t begin) {
  const std::uint32_t sum = metadata_checksum(HeaderBytes(bytes).subspan(begin));
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(sum >> shift));
}

template <class Part>
bool is_in(const std::vector<std::vector<unsigned char>>& chunks, const Part& part) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(part.data());
  return part.empty() || std::ranges::any_of(chunks, [&](const std::vector<unsigned char>& chunk) {
           const auto* const end = chunk.data() + chunk.size();
           return begin >= chunk.data() && begin <= end && part.size() <= static_cast<std::size_t>(end - begin);
         });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::size_t most = 60000;
  Input input(bytes, std::min(count, most));
  const auto flags = static_cast<std::uint8_t>(input.take<std::uint8_t>() & 4U);  // whether messages are numbered
  const auto messages = input.rest();
  std::vector<std::uint8_t> file{'O', 'H', 'D', 'R', 2, static_cast<std::uint8_t>(flags | 1U)};
  for (const int shift : {0, 8}) file.push_back(static_cast<std::uint8_t>(messages.size() >> shift));
  file.insert(file.end(), messages.begin(), messages.end());
  append_checksum(file, 0);
  const std::size_t continued = file.size();
  for (const char letter : std::string("OCHK")) file.push_back(static_cast<std::uint8_t>(letter));
  file.insert(file.end(), messages.begin(), messages.end());
  append_checksum(file, continued);
  const MemoryFile memory(file);
  InputBytes opened(memory.path(), 1);
  HeaderWindows windows(opened);
  ObjectHeader header;
  if (!read_object_header(windows, 0, header)) return 0;
  require(header.kind == ObjectKind::group || header.kind == ObjectKind::dataset, "a kind");
  require(header.shape.size() <= 32 && is_in(header.chunks, header.type), "a dataset that is in its header");
  for (const auto& link : header.links) require(is_in(header.chunks, link.name), "a link that is in its header");
  for (const auto& [name, type, elements, value] : header.attributes)
    require(is_in(header.chunks, name) && is_in(header.chunks, type) && is_in(header.chunks, value),
            "an attribute that is in its header");
  return 0;
}
