// The HDF5 file format specification, III.E (global heap) and IV.A.1.b (object header version 2) with the messages of
// IV.A.2 that hdf5_object_headers.cpp reads. Of axes: the HDF5 Dimension Scale Specification,
// https://docs.hdfgroup.org/archive/support/HDF5/doc/HL/H5DS_Spec.pdf
#include "io/hdf5_header_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "io/hdf5_bytes.hpp"

namespace smallbatch {
namespace {

/// What a message of a header can have; HDF5 keeps longer attributes elsewhere.
constexpr std::size_t most_message_bytes = 65535;
constexpr std::size_t prefix_bytes = 10, message_head_bytes = 4;
/// Of the global heap: HDF5 reads so much of a collection before it knows how large it is.
constexpr std::size_t collection_bytes = 4096;

/// What comes before a message of so many bytes. `is_constant`: HDF5 marks so what cannot change once the object is
/// there.
void put_head(std::string& messages, unsigned type, std::size_t bytes, bool is_constant = false) {
  if (bytes > most_message_bytes) {
    throw Error(ErrorKind::internal, "a message of a header would have " + std::to_string(bytes) +
                                         " bytes, more than its length can say. Please report this.");
  }
  put(messages, type, 1);
  put(messages, bytes, 2);
  put(messages, is_constant ? 1 : 0, 1);
}
void put_message(std::string& messages, unsigned type, const std::string& message, bool is_constant = false) {
  put_head(messages, type, message.size(), is_constant);
  messages += message;
}

constexpr std::size_t outside_bytes = 18;
/// Where what belongs to an object lies outside of its header, if any does.
void put_outside(std::string& messages, unsigned type, std::uint64_t heap, std::uint64_t names) {
  put_head(messages, type, outside_bytes);
  put(messages, 0, 2);
  put(messages, heap, 8);
  put(messages, names, 8);
}

/// All are in the header.
void put_attributes(std::string& messages, const std::vector<NamedMessage>& attributes,
                    const std::vector<NamedMessage>& more = {}) {
  if (attributes.empty() && more.empty()) return;
  put_outside(messages, 0x15, undefined_address, undefined_address);
  for (const auto* const some : {&attributes, &more})
    for (const NamedMessage& attribute : *some) put_message(messages, 0x0C, attribute.message);
}

/// Before a header's messages, which take so many bytes: without times.
std::string header_prefix(std::size_t messages_bytes) {
  constexpr unsigned version = 2, size_of_four_bytes = 2;
  std::string header;
  header.reserve(prefix_bytes + messages_bytes + checksum_bytes);
  header = "OHDR";
  put(header, version, 1);
  put(header, size_of_four_bytes, 1);
  put(header, messages_bytes, 4);
  return header;
}

constexpr std::size_t space_bytes(std::size_t rank) { return 4 + 8 * rank; }
void put_space(std::string& bytes, std::span<const std::int64_t> shape) {
  put(bytes, 2, 1);
  put(bytes, shape.size(), 1);
  put(bytes, 0, 1);
  put(bytes, shape.empty() ? 0 : 1, 1);
  for (const std::int64_t length : shape) put(bytes, static_cast<std::uint64_t>(length), 8);
}

/// What is not written is `fill`, not said, or, of names alone, which nobody writes, the type's own.
std::string fill_message(const PlainDataset& dataset) {
  constexpr unsigned early = 1, late = 2, at_allocation = 0, never = 1, where_set = 2, is_said = 32;
  const bool is_filled = !dataset.fill.empty(), is_name = !dataset.address && dataset.bytes > 0;
  std::string message;
  put(message, 3, 1);
  put(message, is_name ? late | where_set << 2 : early | (is_filled ? at_allocation << 2 | is_said : never << 2), 1);
  if (is_filled) put(message, dataset.fill.size(), 4);
  return message + dataset.fill;
}

/// Without its checksum, and without the address of its numbers, which goes to `address_at`.
std::string dataset_header(const PlainDataset& dataset, const std::vector<NamedMessage>& of_axes,
                           std::size_t& address_at) {
  constexpr std::size_t layout_bytes = 18;
  std::string messages;
  put_head(messages, 0x01, space_bytes(dataset.shape.size()));
  put_space(messages, dataset.shape);
  put_message(messages, 0x03, dataset.type, true);
  put_message(messages, 0x05, fill_message(dataset), true);
  put_head(messages, 0x08, layout_bytes);
  put(messages, 3, 1);
  put(messages, 1, 1);  // in one piece
  address_at = prefix_bytes + messages.size();
  put(messages, undefined_address, 8);
  put(messages, dataset.bytes, 8);
  put_attributes(messages, dataset.attributes, of_axes);
  return header_prefix(messages.size()) + messages;
}

NamedMessage zero_ended_text(const std::string& name, const std::string& text) {
  return attribute_message(name, text_type(text.size() + 1, TextEnd::zero, false), {}, text + '\0');
}

/// An axis that has a name.
struct Use {
  std::string dataset;
  std::uint32_t axis = 0;
};
using Uses = std::map<std::string, std::vector<Use>>;  // by the names of axes

/// Who uses which axis. Axes that are no datasets are added, and all are said to be axes.
Uses name_axes(PlainDatasets& datasets, const ScaleTypes& types) {
  Uses uses;
  for (const auto& [name, dataset] : datasets)
    for (std::uint32_t axis = 0; axis < dataset.axes.size(); ++axis) uses[dataset.axes[axis]].push_back({name, axis});
  for (const auto& [axis, users] : uses) {
    if (const auto found = datasets.find(axis); found != datasets.end()) {
      found->second.attributes.push_back(zero_ended_text("NAME", axis));
    } else {
      const std::int64_t length = datasets.at(users[0].dataset).shape.at(users[0].axis);
      std::array<char, 80> text{};
      std::snprintf(text.data(), text.size(), "This is a netCDF dimension but not a netCDF variable.%10llu",
                    static_cast<unsigned long long>(length));
      datasets[axis] = {types.name, {length}, {}, 4 * static_cast<std::uint64_t>(length), {}, {}, {}};
      datasets[axis].attributes.push_back(zero_ended_text("NAME", text.data()));
    }
    datasets[axis].attributes.push_back(zero_ended_text("CLASS", "DIMENSION_SCALE"));
  }
  return uses;
}

HeaderPattern make_pattern(PlainDatasets datasets, const ScaleTypes& types) {
  const Uses uses = name_axes(datasets, types);
  constexpr std::size_t bytes_of_one = 16;  // in the lists of axes, and of their users
  // Headers have the addresses of others, which are known once all are as long as they will be: their last attributes.
  struct Lists {
    std::size_t end = 0;                     ///< of what the axes are called
    const std::vector<Use>* used = nullptr;  ///< by whom, at the header's end
  };
  HeaderPattern pattern;
  std::map<std::string_view, std::size_t> begins;
  std::vector<Lists> lists;
  for (const auto& [name, dataset] : datasets) {
    std::vector<NamedMessage> of_axes;
    const auto add_list = [&](const char* attribute, const std::string& type, std::size_t count) {
      of_axes.push_back(attribute_message(attribute, type, count, std::string(bytes_of_one * count, '\0')));
      return of_axes.back().message.size();
    };
    Lists& of_header = lists.emplace_back();
    if (!dataset.axes.empty()) add_list("DIMENSION_LIST", types.list, dataset.axes.size());
    std::size_t after_list = 0;
    if (const auto found = uses.find(name); found != uses.end()) {
      of_header.used = &found->second;
      after_list = message_head_bytes + add_list("REFERENCE_LIST", types.uses, found->second.size());
    }
    const std::size_t begin = pattern.bytes.size();
    std::size_t address_at = 0;
    pattern.bytes += dataset_header(dataset, of_axes, address_at);
    if (dataset.address) pattern.numbers.push_back(begin + address_at);
    pattern.ends.push_back(pattern.bytes.size());
    of_header.end = pattern.bytes.size() - after_list;
    pattern.bytes.append(checksum_bytes, '\0');
    begins.emplace(name, begin);
    put_message(pattern.links, 0x06, link_message(name, 0));
    pattern.linked.push_back({pattern.links.size() - 8, begin});
  }
  std::size_t k = 0;
  for (const auto& [name, dataset] : datasets) {
    std::size_t at = lists[k].end - bytes_of_one * dataset.axes.size();
    for (const std::string& axis : dataset.axes)
      pattern.listed.push_back({std::exchange(at, at + bytes_of_one), begins.at(axis)});
    const std::vector<Use>* const used = lists[k].used;
    at = used ? pattern.ends[k] - bytes_of_one * used->size() : 0;
    for (std::size_t user = 0; used && user < used->size(); ++user, at += bytes_of_one) {
      pattern.references.push_back({at, begins.at((*used)[user].dataset)});
      set(pattern.bytes.data() + at + 8, (*used)[user].axis, 8);
    }
    ++k;
  }
  return pattern;
}

/// Makes `key` of all that a pattern depends on.
void make_key(const PlainDatasets& datasets, std::string& key) {
  key.clear();
  const auto add_text = [&key](const std::string& text) {
    put(key, text.size(), 4);
    key += text;
  };
  for (const auto& [name, dataset] : datasets) {
    add_text(name);
    add_text(dataset.type);
    put(key, dataset.shape.size(), 4);
    for (const std::int64_t length : dataset.shape) put(key, static_cast<std::uint64_t>(length), 8);
    put(key, dataset.address ? 1 : 0, 1);
    put(key, dataset.bytes, 8);
    add_text(dataset.fill);
    put(key, dataset.attributes.size(), 4);
    for (const NamedMessage& attribute : dataset.attributes) add_text(attribute.message);
    put(key, dataset.axes.size(), 4);
    for (const std::string& axis : dataset.axes) add_text(axis);
  }
}

}  // namespace

std::string link_message(const std::string& name, std::uint64_t address) {
  const std::size_t length_bytes = name.size() < 256 ? 1 : 2;
  std::string message;
  put(message, 1, 1);
  put(message, length_bytes - 1, 1);
  put(message, name.size(), length_bytes);
  message += name;
  put(message, address, 8);
  return message;
}

std::string links_to(const std::vector<GroupMember>& members) {
  std::string links;
  for (const auto& [name, address] : members) put_message(links, 0x06, link_message(name, address));
  return links;
}

std::string text_type(std::size_t length, TextEnd end, bool is_utf8) {
  std::string message;
  put(message, 0x13, 1);  // version 1, a string
  put(message, (end == TextEnd::padded ? 1 : 0) | (is_utf8 ? 16 : 0), 3);
  put(message, length, 4);
  return message;
}

NamedMessage attribute_message(const std::string& name, const std::string& type, std::optional<std::size_t> length,
                               const std::string& values) {
  const std::int64_t axis = static_cast<std::int64_t>(length.value_or(1));
  const auto shape = std::span(&axis, length ? 1 : 0);
  constexpr std::size_t head_bytes = 9;
  std::string message;
  message.reserve(head_bytes + name.size() + 1 + type.size() + space_bytes(shape.size()) + values.size());
  put(message, 3, 1);
  put(message, 0, 1);
  put(message, name.size() + 1, 2);
  put(message, type.size(), 2);
  put(message, space_bytes(shape.size()), 2);
  put(message, 0, 1);  // the name is ASCII
  message.append(name).append(1, '\0').append(type);
  put_space(message, shape);
  message += values;
  if (message.size() > most_message_bytes) {
    throw Error(ErrorKind::usage, "cannot write the attribute " + name,
                "it would have " + std::to_string(message.size()) + " bytes with what is said of it, more than " +
                    std::to_string(most_message_bytes),
                "Make it shorter.");
  }
  return {name, std::move(message)};
}

std::array<char, 16> ReferenceHeap::add(std::uint64_t reference) {
  // Objects: 16 bytes and a reference.
  constexpr std::size_t head_bytes = 16, object_bytes = 24;
  if (bytes_.size() + object_bytes + head_bytes > collection_bytes) flush();
  if (bytes_.empty()) {
    address_ = reserve_(collection_bytes);
    bytes_ = "GCOL";
    put(bytes_, 1, 4);
    put(bytes_, collection_bytes, 8);
    count_ = 0;
  }
  ++count_;
  put(bytes_, count_, 2);
  put(bytes_, 0, 6);
  put(bytes_, sizeof reference, 8);
  put(bytes_, reference, 8);
  std::array<char, 16> place{};
  set(place.data(), 1, 4);  // so many references
  set(place.data() + 4, address_, 8);
  set(place.data() + 12, count_, 4);
  return place;
}

void ReferenceHeap::flush() {
  if (bytes_.empty()) return;
  const std::size_t left = collection_bytes - bytes_.size();  // what is left is object 0
  put(bytes_, 0, 8);
  put(bytes_, left, 8);
  bytes_.resize(collection_bytes);
  write_(address_, bytes_);
  bytes_.clear();
}

std::string write_datasets(const PlainDatasets& datasets, const ScaleTypes& types, HeaderPatterns& patterns,
                           ReferenceHeap& heap, const ReferenceHeap::Reserve& reserve,
                           const ReferenceHeap::Write& write) {
  constexpr std::size_t most_known = 64;
  auto& [known, key, headers] = patterns;
  make_key(datasets, key);
  auto found = known.find(key);
  if (found == known.end()) {
    if (known.size() == most_known) known.clear();
    found = known.emplace(key, make_pattern(datasets, types)).first;
  }
  const HeaderPattern& pattern = found->second;
  const std::uint64_t begin = reserve(pattern.bytes.size());
  headers = pattern.bytes;
  std::string links = pattern.links;
  auto at_numbers = pattern.numbers.begin();
  for (const auto& [name, dataset] : datasets)
    if (dataset.address) set(headers.data() + *at_numbers++, *dataset.address, 8);
  for (const auto& [at, header] : pattern.references) set(headers.data() + at, begin + header, 8);
  for (const auto& [at, header] : pattern.listed) std::ranges::copy(heap.add(begin + header), headers.data() + at);
  std::size_t header = 0;
  for (const std::size_t end : pattern.ends) {
    set(headers.data() + end, checksum_of(headers, header, end), checksum_bytes);
    header = end + checksum_bytes;
  }
  write(begin, headers);
  for (const auto& [at, linked] : pattern.linked) set(links.data() + at, begin + linked, 8);
  return links;
}

std::string group_header(const std::string& links, const std::vector<NamedMessage>& attributes,
                         const DenseLinks& outside) {
  constexpr std::size_t limits_bytes = 6;
  std::size_t bytes = message_head_bytes + outside_bytes + message_head_bytes + limits_bytes + links.size();
  if (!attributes.empty()) bytes += message_head_bytes + outside_bytes;
  for (const NamedMessage& attribute : attributes) bytes += message_head_bytes + attribute.message.size();
  std::string header = header_prefix(bytes);
  put_outside(header, 0x02, outside.heap, outside.names);
  put_head(header, 0x0A, limits_bytes, true);
  put(header, 0, 1);
  put(header, 1, 1);  // its limits are not HDF5's own
  put(header, most_members_in_header, 2);
  put(header, least_members_outside, 2);
  header += links;
  put_attributes(header, attributes);
  put_checksum(header);
  return header;
}

}  // namespace smallbatch
