// The HDF5 file format specification, IV.A.1.b (object header version 2), IV.A.2.b (dataspace), .c (link info), .g
// (link), .i (data layout), .m (attribute), .q (continuation) and .v (attribute info).
#include "io/hdf5_object_headers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "io/hdf5_bytes.hpp"

namespace smallbatch {
namespace {

constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 20;
constexpr std::size_t most_chunks = 1000, most_dimensions = 32;
constexpr std::size_t most_chunks_kept = 4, most_bytes_kept = std::size_t{1} << 16;

/// Thrown and caught here: it is not plain.
struct NotPlain {};

/// Takes what a message holds, one part after the other.
class Parts {
 public:
  explicit Parts(HeaderBytes bytes) : bytes_(bytes) {}
  HeaderBytes take(std::uint64_t count) {
    if (count > bytes_.size()) throw NotPlain{};
    const HeaderBytes part = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return part;
  }
  /// Of so many bytes, the lowest first.
  std::uint64_t number(std::size_t count) {
    const HeaderBytes part = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i > 0; --i) value = value << 8 | part[i - 1];
    return value;
  }
  std::string_view text(std::uint64_t count) {
    const HeaderBytes part = take(count);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  void expect(std::uint64_t expected, std::size_t count) {
    if (number(count) != expected) throw NotPlain{};
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  HeaderBytes bytes_;
};

/// Adds the lengths of the axes.
void read_dataspace(HeaderBytes message, std::vector<std::int64_t>& shape) {
  Parts parts(message);
  parts.expect(2, 1);
  const std::uint64_t rank = parts.number(1), flags = parts.number(1), kind = parts.number(1);
  if (rank > most_dimensions || flags > 1 || kind != (rank > 0 ? 1U : 0U)) throw NotPlain{};
  shape.reserve(rank);
  for (std::uint64_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t length = parts.number(8);
    if (length > INT64_MAX) throw NotPlain{};
    shape.push_back(static_cast<std::int64_t>(length));
  }
  if (flags == 1) parts.take(8 * rank);  // the most that each may become
}

/// `shape` is memory for it.
ObjectHeader::Attribute read_attribute(HeaderBytes message, std::vector<std::int64_t>& shape) {
  Parts parts(message);
  parts.expect(3, 1);
  parts.expect(0, 1);  // neither its type nor its dataspace lies elsewhere
  const std::uint64_t name_size = parts.number(2), type_size = parts.number(2), space_size = parts.number(2);
  parts.take(1);  // of the name's characters
  ObjectHeader::Attribute attribute;
  attribute.name = parts.text(name_size);
  if (name_size == 0 || attribute.name.find('\0') != name_size - 1) throw NotPlain{};
  attribute.name.remove_suffix(1);
  attribute.type = parts.take(type_size);
  shape.clear();
  read_dataspace(parts.take(space_size), shape);
  const auto count = declared_bytes(shape, 1);
  if (!count) throw NotPlain{};
  attribute.count = *count;
  attribute.value = parts.take(parts.left());
  return attribute;
}

ObjectHeader::Link read_link(HeaderBytes message) {
  Parts parts(message);
  parts.expect(1, 1);
  const std::uint64_t flags = parts.number(1);
  if (flags > 0x1F) throw NotPlain{};
  if ((flags & 8) != 0) parts.expect(0, 1);  // it is hard
  if ((flags & 4) != 0) parts.take(8);       // which one it was
  if ((flags & 16) != 0) parts.take(1);      // of the name's characters
  ObjectHeader::Link link;
  link.name = parts.text(parts.number(std::size_t{1} << (flags & 3)));
  if (link.name.empty() || link.name.find('\0') != std::string_view::npos) throw NotPlain{};
  link.address = parts.number(8);
  return link;
}

/// Of a link info or an attribute info message: nothing lies outside the header.
void expect_compact(HeaderBytes message, std::size_t index_bytes) {
  Parts parts(message);
  parts.expect(0, 1);
  const std::uint64_t flags = parts.number(1);
  if (flags > 3) throw NotPlain{};
  if ((flags & 1) != 0) parts.take(index_bytes);
  parts.expect(undefined_address, 8);
}

class Header {
 public:
  Header(HeaderWindows& file, std::uint64_t address, ObjectHeader& found)
      : file_(file), address_(address), found_(found) {}

  void read() {
    found_.links.clear();
    found_.attributes.clear();
    found_.shape.clear();
    found_.type = found_.fill = {};
    found_.address.reset();
    found_.bytes = found_.chunk_count = 0;
    // What few headers need is not kept for all others.
    std::erase_if(found_.chunks, [](const auto& chunk) { return chunk.capacity() > most_bytes_kept; });
    if (found_.chunks.size() > most_chunks_kept) found_.chunks.resize(most_chunks_kept);
    read_first_chunk();
    for (std::size_t done = 0; done < continuations_.size();) {  // a part of it may go on elsewhere
      const auto [address, size] = continuations_[done++];
      if (size < 8 || continuations_.size() > most_chunks) throw NotPlain{};
      Parts parts(read_chunk({address, size}));
      if (parts.text(4) != "OCHK") throw NotPlain{};
      read_messages(parts.take(size - 8));
    }
    const bool is_dataset = has_type_ && has_space_ && has_layout_;
    if (is_group_ == is_dataset || (is_group_ && (has_type_ || has_space_ || has_layout_)) ||
        (!is_group_ && !found_.links.empty())) {
      throw NotPlain{};
    }
    found_.kind = is_group_ ? ObjectKind::group : ObjectKind::dataset;
  }

 private:
  /// With its checksum, which fits.
  HeaderBytes read_chunk(const Extent& extent) {
    if (extent.size < checksum_bytes || extent.size > largest_chunk) throw NotPlain{};
    if (found_.chunk_count == found_.chunks.size()) found_.chunks.emplace_back();
    std::vector<unsigned char>& bytes = found_.chunks[found_.chunk_count++];
    bytes.clear();
    if (!file_.read(extent, bytes)) throw NotPlain{};
    const HeaderBytes all(bytes);
    Parts sum(all.last(checksum_bytes));
    if (sum.number(checksum_bytes) != metadata_checksum(all.first(all.size() - checksum_bytes))) throw NotPlain{};
    return all;
  }

  void read_first_chunk() {
    constexpr std::size_t longest_prefix = 34;
    if (address_ > INT64_MAX) throw NotPlain{};
    if (found_.chunks.empty()) found_.chunks.emplace_back();
    std::vector<unsigned char>& prefix = found_.chunks.front();
    prefix.clear();
    (void)file_.read({address_, longest_prefix}, prefix);  // a short header at the file's end has fewer
    Parts parts{HeaderBytes(prefix)};
    if (parts.text(4) != "OHDR") throw NotPlain{};
    parts.expect(2, 1);
    const std::uint64_t flags = parts.number(1);
    if (flags > 0x3F) throw NotPlain{};
    has_creation_order_ = (flags & 4) != 0;
    if ((flags & 32) != 0) parts.take(16);  // times
    if ((flags & 16) != 0) parts.take(4);   // when attributes become dense
    const std::uint64_t size = parts.number(std::size_t{1} << (flags & 3));
    const std::uint64_t before = prefix.size() - parts.left();
    if (size > largest_chunk) throw NotPlain{};
    read_messages(read_chunk({address_, before + size + checksum_bytes}).subspan(before, size));
  }

  void read_messages(HeaderBytes bytes) {
    Parts parts(bytes);
    const std::size_t head = has_creation_order_ ? 6 : 4;
    while (parts.left() >= head) {  // what is shorter is a gap
      const std::uint64_t type = parts.number(1), size = parts.number(2), flags = parts.number(1);
      if (has_creation_order_) parts.take(2);
      const HeaderBytes message = parts.take(size);
      if ((flags & 2) != 0) throw NotPlain{};  // it lies elsewhere
      read_message(type, message);
    }
  }

  static void note_once(bool& has) {
    if (std::exchange(has, true)) throw NotPlain{};
  }

  void read_message(std::uint64_t type, HeaderBytes message) {
    switch (type) {
      case 0x00:  // nothing
      case 0x0A:  // group info
      case 0x0D:  // comment
      case 0x12:  // time of modification
      case 0x16:  // count of links
        return;
      case 0x05: {
        constexpr std::uint64_t is_named = 32;
        Parts parts(message);
        parts.expect(3, 1);
        if ((parts.number(1) & is_named) != 0) found_.fill = parts.take(parts.number(4));
        return;
      }
      case 0x01:
        note_once(has_space_);
        return read_dataspace(message, found_.shape);
      case 0x02:
        note_once(is_group_);
        return expect_compact(message, 8);
      case 0x03:
        note_once(has_type_);
        found_.type = message;
        return;
      case 0x06:
        found_.links.push_back(read_link(message));
        return;
      case 0x08: {
        note_once(has_layout_);
        Parts parts(message);
        if (const std::uint64_t version = parts.number(1); version != 3 && version != 4) throw NotPlain{};
        parts.expect(1, 1);  // in one piece
        const std::uint64_t address = parts.number(8);
        found_.bytes = parts.number(8);
        if (address != undefined_address) found_.address = address;
        return;
      }
      case 0x0C:
        found_.attributes.push_back(read_attribute(message, found_.attribute_shape));
        return;
      case 0x10: {
        Parts parts(message);
        const std::uint64_t address = parts.number(8);
        continuations_.push_back({address, parts.number(8)});
        return;
      }
      case 0x15:
        return expect_compact(message, 2);
      default:
        throw NotPlain{};
    }
  }

  HeaderWindows& file_;
  std::uint64_t address_;
  ObjectHeader& found_;
  std::vector<Extent> continuations_;
  bool has_creation_order_ = false, is_group_ = false, has_space_ = false, has_type_ = false, has_layout_ = false;
};

}  // namespace

bool HeaderWindows::read(const Extent& extent, std::vector<unsigned char>& bytes) {
  std::uint64_t address = extent.address, left = extent.size;
  if (address > INT64_MAX - left) return false;
  while (left > 0) {
    const std::uint64_t number = address / bytes_of_window, from = address % bytes_of_window;
    Window& window = windows_[number % windows_.size()];
    if (window.number != number) {
      window.number = UINT64_MAX;
      window.bytes.resize(bytes_of_window);
      window.bytes.resize(file_.read_some({number * bytes_of_window, bytes_of_window}, window.bytes.data()));
      if (file_.has_failed()) return false;
      window.number = number;
    }
    const std::uint64_t there = window.bytes.size() > from ? window.bytes.size() - from : 0;
    const std::uint64_t here = std::min(left, there);
    if (here == 0) return false;
    const auto begin = window.bytes.begin() + static_cast<std::ptrdiff_t>(from);
    bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(here));
    address += here;
    left -= here;
  }
  return true;
}

bool read_object_header(HeaderWindows& file, std::uint64_t address, ObjectHeader& header) {
  try {
    Header(file, address, header).read();
    return true;
  } catch (const NotPlain&) {
    return false;
  }
}

std::uint32_t metadata_checksum(HeaderBytes bytes) {
  // http://burtleburtle.net/bob/c/lookup3.c, hashlittle(bytes, size, 0)
  std::uint32_t a = 0xDEADBEEF + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto word = [](const unsigned char* from) {
    return static_cast<std::uint32_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 8 |
           static_cast<std::uint32_t>(from[2]) << 16 | static_cast<std::uint32_t>(from[3]) << 24;
  };
  const auto add_words = [&](const unsigned char* twelve) {
    a += word(twelve);
    b += word(twelve + 4);
    c += word(twelve + 8);
  };
  const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int by) {
    x = (x - z) ^ std::rotl(z, by);
    z += y;
  };
  const auto finish = [](std::uint32_t& x, std::uint32_t y, int by) { x = (x ^ y) - std::rotl(y, by); };
  constexpr std::size_t step = 12;
  for (; bytes.size() > step; bytes = bytes.subspan(step)) {
    add_words(bytes.data());
    mix(a, b, c, 4);
    mix(b, c, a, 6);
    mix(c, a, b, 8);
    mix(a, b, c, 16);
    mix(b, c, a, 19);
    mix(c, a, b, 4);
  }
  if (bytes.empty()) return c;
  std::array<unsigned char, step> last{};
  std::ranges::copy(bytes, last.begin());
  add_words(last.data());
  finish(c, b, 14);
  finish(a, c, 11);
  finish(b, a, 25);
  finish(c, b, 16);
  finish(a, c, 4);
  finish(b, a, 14);
  finish(c, b, 24);
  return c;
}

}  // namespace smallbatch
