// MessageReader gets any bytes instead of descriptions of objects. Either it throws Nonsense, or each object that it
// returns can be sent and read again without a change. The bytes also serve as the file that holds the object's chunks.
#include <functional>
#include <string>

#include "io/hdf5/catalogue_messages.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

struct NothingLeft {};

/// Returns a function for MessageReader. It gives at most `piece` bytes a call, because a socket may give few.
std::function<std::size_t(char*, std::size_t)> pieces_of(std::string_view bytes, std::size_t piece) {
  return [bytes, piece](char* to, std::size_t most) mutable {
    if (bytes.empty()) throw NothingLeft{};
    const std::size_t here = std::min({bytes.size(), most, piece});
    bytes.copy(to, here);
    bytes.remove_prefix(here);
    return here;
  };
}

std::string message_of(const StoredObject& object) {
  std::string message;
  MessageWriter writer([&](const char* data, std::size_t count) { message.append(data, count); });
  writer.put(object);
  writer.flush();
  return message;
}

/// Reads all chunks of a small dataset. Skips larger datasets.
void read_chunks(const StoredDataset& dataset, std::span<const std::uint8_t> file_bytes) {
  if (!dataset.chunks || dataset.info.type == ElementType::other) return;
  constexpr std::uint64_t most_bytes = 1 << 16;
  const auto all = declared_bytes(dataset.info.shape, sizeof(double));
  const auto chunk = declared_bytes(dataset.chunks->layout.chunk, sizeof(double));
  if (!all || *all == 0 || *all > most_bytes || !chunk || *chunk > most_bytes) return;
  const MemoryFile file(file_bytes);
  InputBytes bytes(file.path(), 1);
  ChunkedDataset chunks(dataset.chunks->layout, {dataset.info.type, dataset.is_swapped}, dataset.chunks->all);
  std::vector<double> values(*all / sizeof(double));
  const std::vector<std::int64_t> start(dataset.info.shape.size());
  if (const auto wrong = chunks.read(bytes, ElementType::float64, start, dataset.info.shape, values.data()))
    require(!wrong->empty() || bytes.has_failed(), "nobody knows what is wrong with a chunk");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  Input input(bytes, count);
  const std::size_t piece = input.take<std::uint8_t>() + std::size_t{1};
  const std::string text = input.text();
  MessageReader reader(pieces_of(text, piece));
  try {
    for (;;) {
      StoredObject object;
      put_together(object, 1, [&] { return reader.get_object(count); });
      if (object.dataset) {
        require(can_be_in_file(*object.dataset, count), "a dataset cannot be in the file");
        read_chunks(*object.dataset, {bytes, count});
      }
      const std::string sent = message_of(object);
      MessageReader again(pieces_of(sent, piece));
      require(message_of(again.get_object(count)) == sent && again.is_empty(), "what is sent again is not the same");
    }
  } catch (const Nonsense&) {
  } catch (const NothingLeft&) {
  }
  return 0;
}
