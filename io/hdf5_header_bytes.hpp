// Headers of groups and datasets as bytes, as HDF5 1.10 and later read and write them, made without HDF5, which takes
// tens of microseconds for each: a result file of 100,000 sets has 1.6 million. What is read back from such bytes is in
// hdf5_object_headers.hpp. Private to io/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/hdf5_dense_links.hpp"

namespace smallbatch {

/// An attribute, as the message that a header has of it.
struct NamedMessage {
  std::string name, message;
};

/// Of texts of `length` bytes, which end with a zero or are padded with them: what a header says of the type.
enum class TextEnd { zero, padded };
std::string text_type(std::size_t length, TextEnd end, bool is_utf8);

/// An attribute of one value, or of `length` of them. `type` is as a header has it, `values` their bytes. Throws
/// Error(usage) where that is more than a message of a header can have, 65,535 bytes.
NamedMessage attribute_message(const std::string& name, const std::string& type, std::optional<std::size_t> length,
                               const std::string& values);

/// A dataset in one piece.
struct PlainDataset {
  std::string type;  ///< as a header has it
  std::vector<std::int64_t> shape;
  std::optional<std::uint64_t> address;
  std::uint64_t bytes = 0;
  std::string fill;  ///< the value, of the type; empty: what was not written is not said
  std::vector<NamedMessage> attributes;
  std::vector<std::string> axes;  ///< what they are called, where they are: names of datasets in the same group
};
using PlainDatasets = std::map<std::string, PlainDataset, std::less<>>;  // by their names

/// Collections of the references that DIMENSION_LIST keeps outside of headers ("global heap").
class ReferenceHeap {
 public:
  using Reserve = std::function<std::uint64_t(std::uint64_t size)>;
  using Write = std::function<void(std::uint64_t address, const std::string& bytes)>;
  /// reserve() gives room in the file, write() fills it.
  ReferenceHeap(Reserve reserve, Write write) : reserve_(std::move(reserve)), write_(std::move(write)) {}
  /// One reference: where it is, as a list of variable length has it.
  std::array<char, 16> add(std::uint64_t reference);
  /// Writes what has not been written.
  void flush();

 private:
  Reserve reserve_;
  Write write_;
  std::uint64_t address_ = 0;
  std::string bytes_;  ///< of the collection that has room; empty: of none
  std::uint16_t count_ = 0;
};

/// Types of dimension scales, as headers have them: of DIMENSION_LIST, of REFERENCE_LIST and of names alone.
struct ScaleTypes {
  std::string list, uses, name;
};

/// The headers of a group's datasets, one after the other, but for what differs from one group to the next: addresses,
/// and checksums, of which each header has one behind it.
struct HeaderPattern {
  /// A place, and where in `bytes` the header begins whose address it is to say.
  struct Place {
    std::size_t at = 0, header = 0;
  };
  std::string bytes, links;
  std::vector<std::size_t> ends;     ///< of headers, without their checksums
  std::vector<std::size_t> numbers;  ///< where to say the addresses of the numbers of those datasets that have some
  std::vector<Place> references;     ///< in `bytes`
  std::vector<Place> listed;         ///< in `bytes`, by way of the heap
  std::vector<Place> linked;         ///< in `links`
};
/// Those that were made, by all that they depend on.
struct HeaderPatterns {
  std::unordered_map<std::string, HeaderPattern> known;
  std::string key, headers;  ///< of the latest group: their memory is taken once
};

/// Writes the headers of a group's datasets, with the names of their axes as HDF5's dimension scales: those that are no
/// dataset are names alone, as netCDF has them. Returns the links to all, as the group's header has them. `patterns` is
/// for groups of the same types.
std::string write_datasets(const PlainDatasets& datasets, const ScaleTypes& types, HeaderPatterns& patterns,
                           ReferenceHeap& heap, const ReferenceHeap::Reserve& reserve,
                           const ReferenceHeap::Write& write);

/// A member of a group, as the message that a header has of it.
std::string link_message(const std::string& name, std::uint64_t address);
/// Those messages of a header's links, one after the other.
std::string links_to(const std::vector<GroupMember>& members);

/// The header of a group with one link to it. Its members are in there, and up to `most_members_in_header` stay there
/// when others add some; or they are outside.
inline constexpr unsigned most_members_in_header = 32, least_members_outside = 24;
std::string group_header(const std::string& links, const std::vector<NamedMessage>& attributes,
                         const DenseLinks& outside = {});

}  // namespace smallbatch
