// The HDF5 file format specification, III.A.2 (version 2 B-trees, of type 5) and III.G (fractal heap), with the
// parameters that HDF5 has for groups.
//
// The heap is a space of its own, in blocks: of a block of blocks ("indirect") each row has four, in the first two rows
// of 512 bytes, and of twice as many from row to row. Up to 64 KiB a block has links ("direct"), from there on it is a
// block of blocks again. They are filled in their order, and what lies behind the last one is not there.
#include "io/hdf5_dense_links.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "io/hdf5_bytes.hpp"
#include "io/hdf5_header_bytes.hpp"

namespace smallbatch {
namespace {

using Reserve = std::function<std::uint64_t(std::uint64_t)>;
using Write = std::function<void(std::uint64_t, const std::string&)>;

constexpr std::size_t id_bytes = 7;
using HeapId = std::array<char, id_bytes>;

/// One behind the other: there may be very many.
struct HeapObjects {
  std::string bytes;
  std::vector<std::size_t> ends;
  [[nodiscard]] std::size_t size() const { return ends.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t k) const {
    const std::size_t begin = k == 0 ? 0 : ends[k - 1];
    return std::string_view(bytes).substr(begin, ends[k] - begin);
  }
};

class Heap {
 public:
  Heap(const HeapObjects& objects, const Reserve& reserve, const Write& write)
      : objects_(objects), reserve_(reserve), write_(write) {}

  /// Writes the heap, and returns where.
  std::uint64_t write() {
    constexpr std::size_t header_bytes = 146;
    header_ = reserve_(header_bytes);
    ids.resize(objects_.size());
    std::string entries = write_children(most_rows);
    constexpr std::size_t row_bytes = width * sizeof(std::uint64_t);
    std::size_t rows = 1;  // of the root: those that have something
    while (entries.size() > rows * row_bytes && entries.substr(rows * row_bytes).find_first_not_of('\xFF') != npos)
      ++rows;
    entries.resize(rows * row_bytes);
    const std::uint64_t root = write_indirect(0, entries);

    const std::uint64_t used = objects_.bytes.size();
    constexpr std::uint64_t most_object_bytes = 4096, first_rows = 1, checksums_of_blocks = 2;
    std::string header = "FRHP";
    put(header, 0, 1);
    put(header, id_bytes, 2);
    put(header, 0, 2);  // no filters
    put(header, checksums_of_blocks, 1);
    put(header, most_object_bytes, 4);
    put(header, 0, 8);  // huge objects
    put(header, undefined_address, 8);
    put(header, room_of(rows) - used, 8);
    put(header, undefined_address, 8);  // nobody keeps what is free
    put(header, bytes_of_rows(rows), 8);
    put(header, allocated_, 8);
    put(header, offset_, 8);  // where the next block will be
    put(header, objects_.size(), 8);
    for (int k = 0; k < 4; ++k) put(header, 0, 8);  // huge and tiny objects
    put(header, width, 2);
    put(header, first_block, 8);
    put(header, largest_block, 8);
    put(header, offset_bits, 2);
    put(header, first_rows, 2);
    put(header, root, 8);
    put(header, rows, 2);
    put_checksum(header);
    write_(header_, header);
    return header_;
  }

  std::vector<HeapId> ids;  ///< of the objects

 private:
  static constexpr std::size_t npos = std::string::npos;
  static constexpr std::size_t width = 4, first_block = 512, largest_block = 65536, offset_bits = 32, offset_bytes = 4;
  static constexpr std::size_t most_rows = 22;  ///< that `offset_bits` reach
  static constexpr std::size_t prefix_bytes = 5 + 8 + offset_bytes;
  static constexpr std::size_t direct_overhead = prefix_bytes + checksum_bytes;

  static std::uint64_t block_bytes(std::size_t row) { return row == 0 ? first_block : first_block << (row - 1); }
  /// Of a block of so many rows, in the heap.
  static std::uint64_t bytes_of_rows(std::size_t rows) { return width * first_block << (rows - 1); }
  /// Of a block of blocks of so many bytes.
  static std::size_t rows_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::countr_zero(bytes / (width * first_block))) + 1;
  }
  /// For objects, in all of its blocks.
  static std::uint64_t room_of(std::size_t rows) {
    std::uint64_t room = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t bytes = block_bytes(row);
      room += width * (bytes <= largest_block ? bytes - direct_overhead : room_of(rows_of(bytes)));
    }
    return room;
  }

  [[nodiscard]] std::string prefix(const char* sign, std::uint64_t offset) const {
    std::string bytes = sign;
    put(bytes, 0, 1);
    put(bytes, header_, 8);
    put(bytes, offset, offset_bytes);
    return bytes;
  }

  /// Writes blocks until there are no more objects; returns the addresses of those of so many rows.
  std::string write_children(std::size_t rows) {
    std::string entries;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < width; ++column) {
        const std::uint64_t bytes = block_bytes(row);
        std::uint64_t child = undefined_address;
        if (next_ < objects_.size() && bytes <= largest_block) {
          child = write_direct(bytes);
        } else if (next_ < objects_.size()) {
          const std::uint64_t begin = offset_;
          child = write_indirect(begin, write_children(rows_of(bytes)));
        }
        put(entries, child, 8);
      }
    return entries;
  }

  std::uint64_t write_indirect(std::uint64_t offset, const std::string& entries) {
    std::string block = prefix("FHIB", offset) + entries;
    put_checksum(block);
    const std::uint64_t address = reserve_(block.size());
    write_(address, block);
    return address;
  }

  std::uint64_t write_direct(std::uint64_t bytes) {
    std::string block = prefix("FHDB", offset_);
    block.reserve(bytes);
    block.append(checksum_bytes, '\0');
    for (; next_ < objects_.size() && block.size() + objects_[next_].size() <= bytes; ++next_) {
      const std::string_view object = objects_[next_];
      constexpr std::size_t length_bytes = id_bytes - 1 - offset_bytes;
      ids[next_][0] = 0;  // it lies in a block
      set(ids[next_].data() + 1, offset_ + block.size(), offset_bytes);
      set(ids[next_].data() + 1 + offset_bytes, object.size(), length_bytes);
      block += object;
    }
    block.resize(bytes);
    set(block.data() + prefix_bytes, checksum_of(block, 0, block.size()), checksum_bytes);
    const std::uint64_t address = reserve_(bytes);
    write_(address, block);
    offset_ += bytes;
    allocated_ += bytes;
    return address;
  }

  const HeapObjects& objects_;
  const Reserve& reserve_;
  const Write& write_;
  std::uint64_t header_ = 0, offset_ = 0, allocated_ = 0;
  std::size_t next_ = 0;  ///< object
};

/// A name's hash, and where its link is in the heap.
struct Record {
  std::uint32_t hash = 0;
  std::size_t member = 0;
};

/// Records in their order, as many in one node as in its neighbours.
class NameTree {
 public:
  NameTree(const std::vector<Record>& records, const std::vector<HeapId>& ids, const Reserve& reserve,
           const Write& write)
      : records_(records), ids_(ids), reserve_(reserve), write_(write) {}

  std::uint64_t write() {
    levels_ = {{most_in_leaf, most_in_leaf, 0}};
    while (levels_.back().most_below < records_.size()) {
      const std::size_t child_bytes = 8 + count_bytes + levels_.back().bytes_of_most;
      const std::size_t most = (node_bytes - node_overhead - child_bytes) / (record_bytes + child_bytes);
      const std::uint64_t below = (most + 1) * levels_.back().most_below + most;
      levels_.push_back({most, below, (static_cast<std::size_t>(std::bit_width(below)) + 7) / 8});
    }
    const std::size_t depth = levels_.size() - 1;
    const Node root = write_node(0, records_.size(), depth);
    constexpr std::uint64_t split_percent = 100, merge_percent = 40;
    std::string header = "BTHD";
    put(header, 0, 1);
    put(header, names_of_links, 1);
    put(header, node_bytes, 4);
    put(header, record_bytes, 2);
    put(header, depth, 2);
    put(header, split_percent, 1);
    put(header, merge_percent, 1);
    put(header, root.address, 8);
    put(header, root.records, 2);
    put(header, records_.size(), 8);
    put_checksum(header);
    const std::uint64_t address = reserve_(header.size());
    write_(address, header);
    return address;
  }

 private:
  static constexpr std::uint64_t names_of_links = 5;  ///< the type of such a tree
  static constexpr std::size_t node_bytes = 512, record_bytes = 4 + id_bytes, node_overhead = 6 + checksum_bytes;
  static constexpr std::size_t most_in_leaf = (node_bytes - node_overhead) / record_bytes, count_bytes = 1;
  /// Of nodes that far above leaves: the most records in one, in it and below, and the bytes of that number.
  struct Level {
    std::size_t most = 0;
    std::uint64_t most_below = 0;
    std::size_t bytes_of_most = 0;
  };
  struct Node {
    std::uint64_t address = 0;
    std::size_t records = 0, below = 0;  ///< below: with its own
  };

  void put_record(std::string& node, std::size_t record) const {
    put(node, records_[record].hash, 4);
    node.append(ids_[records_[record].member].data(), id_bytes);
  }

  /// Of records [first, first + count), and the nodes below it.
  Node write_node(std::size_t first, std::size_t count, std::size_t level) {
    std::string node = level == 0 ? "BTLF" : "BTIN";
    node.reserve(node_bytes);
    put(node, 0, 1);
    put(node, names_of_links, 1);
    std::size_t in_node = count;
    if (level == 0) {
      for (std::size_t k = 0; k < count; ++k) put_record(node, first + k);
    } else {
      const Level& below = levels_[level - 1];
      // Between two children is a record.
      const std::size_t children = std::max<std::size_t>(2, (count + 1 + below.most_below) / (below.most_below + 1));
      in_node = children - 1;
      std::string places;
      std::size_t next = first;
      for (std::size_t child = 0; child < children; ++child) {
        const std::size_t left = children - child, in_child = (first + count - next - (left - 1)) / left;
        const Node written = write_node(next, in_child, level - 1);
        next += in_child;
        if (left > 1) put_record(node, next++);
        put(places, written.address, 8);
        put(places, written.records, count_bytes);
        put(places, written.below, below.bytes_of_most);
      }
      node += places;
    }
    put_checksum(node);
    node.resize(node_bytes);
    const std::uint64_t address = reserve_(node_bytes);
    write_(address, node);
    return {address, in_node, count};
  }

  const std::vector<Record>& records_;
  const std::vector<HeapId>& ids_;
  const Reserve& reserve_;
  const Write& write_;
  std::vector<Level> levels_;  ///< from leaves to the root
};

}  // namespace

DenseLinks write_dense_links(const std::vector<GroupMember>& members, const Reserve& reserve, const Write& write) {
  HeapObjects links;
  std::vector<Record> records;
  links.ends.reserve(members.size());
  records.reserve(members.size());
  for (const auto& [name, address] : members) {
    records.push_back({checksum_of(name, 0, name.size()), links.size()});
    links.bytes += link_message(name, address);
    links.ends.push_back(links.bytes.size());
  }
  std::ranges::sort(records, [&](const Record& one, const Record& other) {
    return one.hash != other.hash ? one.hash < other.hash : members[one.member].name < members[other.member].name;
  });
  Heap heap(links, reserve, write);
  const std::uint64_t address = heap.write();
  return {address, NameTree(records, heap.ids, reserve, write).write()};
}

}  // namespace smallbatch
