#include "io/hdf5/catalogue_messages.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/visible_text.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t largest_rank = 32;  ///< HDF5's limit

/// Sends the number of values, and then each value by `put_one`.
template <class Values>
void put_all(MessageWriter& writer, const Values& values, const auto& put_one) {
  writer.put(std::uint64_t{values.size()});
  for (const auto& value : values) put_one(value);
}

/// Receives values. Memory is allocated as values arrive, and not for the announced number.
template <class T>
std::vector<T> get_all(MessageReader& reader, const std::function<T()>& get_one) {
  std::vector<T> values;
  for (auto count = reader.get<std::uint64_t>(); count > 0; --count) values.push_back(get_one());
  values.shrink_to_fit();
  return values;
}

template <class T>
std::vector<T> get_numbers(MessageReader& reader) {
  return get_all<T>(reader, [&] { return reader.get<T>(); });
}

/// Receives an enumerator by its number.
template <class Enum>
Enum get_one_of(MessageReader& reader, Enum last) {
  const auto number = reader.get<std::uint8_t>();
  if (number > static_cast<std::uint8_t>(last)) throw Nonsense{};
  return static_cast<Enum>(number);
}

}  // namespace

void MessageWriter::flush() {
  send_(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void MessageWriter::put(const std::string& text) {
  put(std::uint64_t{text.size()});
  buffer_ += text;
}

void MessageWriter::put(const Defect& defect) {
  put(defect.why);
  put(defect.remedy);
  put(static_cast<std::uint8_t>(defect.kind));
}

void MessageWriter::put_if_any(const Defect* defect) {
  put(std::uint8_t{defect != nullptr});
  if (defect) put(*defect);
}

void MessageWriter::put(const StoredAttribute& attribute) {
  put(attribute.name);
  put(attribute.type_name);
  put(attribute.count);
  for (const bool is : {attribute.is_integer, attribute.is_number, attribute.is_text}) put(std::uint8_t{is});
  put_all(*this, attribute.integers, [&](std::int64_t value) { put(value); });
  put(std::uint8_t{attribute.number.has_value()});
  put(attribute.number.value_or(0));
  put_all(*this, attribute.texts, [&](const std::string& text) { put(text); });
  put_if_any(attribute.defect.get());
}

void MessageWriter::put(const StoredDataset& dataset) {
  const auto put_shape = [&](const std::vector<std::int64_t>& shape) {
    put_all(*this, shape, [&](std::int64_t length) { put(length); });
  };
  put_shape(dataset.info.shape);
  put(static_cast<std::uint8_t>(dataset.info.type));
  put(dataset.info.type_name);
  put(static_cast<std::uint8_t>(dataset.info.form));
  put(std::uint8_t{dataset.is_swapped});
  put(std::uint8_t{dataset.address.has_value()});
  put(dataset.address.value_or(0));
  put(std::uint8_t{dataset.chunks != nullptr});
  if (dataset.chunks) {
    const auto& [layout, chunks] = *dataset.chunks;
    put_shape(layout.chunk);
    put_all(*this, layout.filters, [&](const ChunkFilter& filter) {
      put(static_cast<std::uint8_t>(filter.kind));
      put(std::uint64_t{filter.element_bytes});
    });
    put(std::uint8_t{layout.filters_edges});
    put_all(*this, chunks, [&](const StoredChunk& chunk) {
      put(chunk.extent.address);
      put(chunk.extent.size);
      put(chunk.skipped);
    });
  }
  for (const auto* bytes : {&dataset.compact, &dataset.fill}) {
    put(std::uint8_t{*bytes != nullptr});
    if (*bytes) put_all(*this, **bytes, [&](unsigned char byte) { put(byte); });
  }
}

void MessageWriter::put(const StoredObject& object) {
  put(std::uint8_t{object.is_described});
  put(static_cast<std::uint8_t>(object.kind));
  put_if_any(object.defect.get());
  put_all(*this, object.attributes, [&](const StoredAttribute& attribute) { put(attribute); });
  put_if_any(object.attributes_defect.get());
  put_all(*this, object.members, [&](const StoredObject& member) { put(member.name); });
  put(std::uint8_t{object.dataset != nullptr});
  if (object.dataset) put(*object.dataset);
  put_if_any(object.contents_defect.get());
}

void MessageReader::get(char* bytes, std::size_t count) {
  while (count > 0) {
    if (next_ == end_) {
      next_ = 0;
      end_ = receive_(buffer_.data(), buffer_.size());
    }
    const std::size_t here = std::min(count, end_ - next_);
    std::memcpy(bytes, buffer_.data() + next_, here);
    next_ += here;
    bytes += here;
    count -= here;
  }
}

bool MessageReader::get_flag() {
  const auto flag = get<std::uint8_t>();
  if (flag > 1) throw Nonsense{};
  return flag == 1;
}

std::string MessageReader::get_text() {
  std::string text;
  for (auto left = get<std::uint64_t>(); left > 0;) {
    std::array<char, 256> part;
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(left, part.size()));
    get(part.data(), here);
    text.append(part.data(), here);
    left -= here;
  }
  return text;
}

Defect MessageReader::get_defect() {
  Defect defect;
  defect.why = visible_text(get_text());
  defect.remedy = visible_text(get_text());
  const auto kind = static_cast<ErrorKind>(get<std::uint8_t>());
  if (kind == ErrorKind::missing_file || kind == ErrorKind::out_of_memory) defect.kind = kind;
  return defect;
}

std::unique_ptr<Defect> MessageReader::get_defect_if_any() {
  return get_flag() ? std::make_unique<Defect>(get_defect()) : nullptr;
}

std::shared_ptr<const Defect> MessageReader::get_shared_defect_if_any() {
  constexpr std::size_t most_kept = 8;
  if (!get_flag()) return {};
  Defect defect = get_defect();
  const auto same = std::ranges::find_if(latest_defects_, [&](const std::shared_ptr<const Defect>& kept) {
    return kept->why == defect.why && kept->remedy == defect.remedy && kept->kind == defect.kind;
  });
  if (same != latest_defects_.end()) return *same;
  if (latest_defects_.size() == most_kept) latest_defects_.erase(latest_defects_.begin());
  return latest_defects_.emplace_back(std::make_shared<Defect>(std::move(defect)));
}

StoredAttribute MessageReader::get_attribute() {
  StoredAttribute attribute;
  attribute.name = get_text();
  attribute.type_name = visible_text(get_text());
  attribute.count = get<std::int64_t>();
  for (bool* is : {&attribute.is_integer, &attribute.is_number, &attribute.is_text}) *is = get_flag();
  attribute.integers = get_numbers<std::int64_t>(*this);
  const bool has_number = get_flag();
  const auto number = get<double>();
  if (has_number) attribute.number = number;
  attribute.texts = get_all<std::string>(*this, [&] { return get_text(); });
  attribute.defect = get_defect_if_any();
  return attribute;
}

StoredDataset MessageReader::get_dataset() {
  StoredDataset dataset;
  dataset.info.shape = get_numbers<std::int64_t>(*this);
  dataset.info.type = get_one_of(*this, ElementType::other);
  dataset.info.type_name = visible_text(get_text());
  dataset.info.form = get_one_of(*this, NumberForm::text);
  const bool is_complex = dataset.info.form == NumberForm::complex;
  if (is_complex && (dataset.info.shape.empty() || dataset.info.shape.back() != 2)) throw Nonsense{};
  const bool is_text = dataset.info.form == NumberForm::text;
  if (is_text &&
      (dataset.info.shape.empty() || dataset.info.shape.back() < 1 || dataset.info.type != ElementType::uint8)) {
    throw Nonsense{};
  }
  if (dataset.info.shape.size() > largest_rank + (is_complex || is_text ? 1 : 0)) throw Nonsense{};
  dataset.is_swapped = get_flag();
  const bool has_address = get_flag();
  const auto address = get<std::uint64_t>();
  if (has_address) dataset.address = address;
  if (get_flag()) {
    dataset.chunks = std::make_unique<StoredChunks>();
    auto& [layout, chunks] = *dataset.chunks;
    layout.shape = dataset.info.shape;
    layout.chunk = get_numbers<std::int64_t>(*this);
    layout.filters = get_all<ChunkFilter>(*this, [&] {
      const auto kind = get_one_of(*this, ChunkFilter::Kind::zstandard);
      return ChunkFilter{kind, get<std::uint64_t>()};
    });
    if (layout.filters.size() > 5) throw Nonsense{};
    for (const ChunkFilter& filter : layout.filters)  // no kind may come twice, so that a chunk's size has bounds
      if (std::ranges::count(layout.filters, filter.kind, &ChunkFilter::kind) > 1) throw Nonsense{};
    layout.filters_edges = get_flag();
    chunks = get_all<StoredChunk>(*this, [&] {
      StoredChunk chunk;
      chunk.extent.address = get<std::uint64_t>();
      chunk.extent.size = get<std::uint64_t>();
      chunk.skipped = get<std::uint32_t>();
      return chunk;
    });
  }
  for (auto* bytes : {&dataset.compact, &dataset.fill})
    if (get_flag()) *bytes = std::make_unique<std::vector<unsigned char>>(get_numbers<unsigned char>(*this));
  return dataset;
}

StoredObject MessageReader::get_object(std::uint64_t file_bytes) {
  StoredObject object;
  object.is_described = get_flag();
  object.kind = get_one_of(*this, ObjectKind::other);
  object.defect = get_defect_if_any();
  object.attributes = get_all<StoredAttribute>(*this, [&] { return get_attribute(); });
  object.attributes_defect = get_defect_if_any();
  object.members = get_all<StoredObject>(*this, [&] {
    StoredObject member;
    member.name = get_text();
    return member;
  });
  if (get_flag()) object.dataset = std::make_unique<StoredDataset>(get_dataset());
  object.contents_defect = get_shared_defect_if_any();

  const auto is_after = [](const StoredObject& a, const StoredObject& b) { return a.name >= b.name; };
  const bool has_dataset = object.kind == ObjectKind::dataset && !object.contents_defect;
  if (std::ranges::adjacent_find(object.members, is_after) != object.members.end() ||
      has_dataset != (object.dataset != nullptr) || (object.dataset && !can_be_in_file(*object.dataset, file_bytes))) {
    throw Nonsense{};
  }
  return object;
}

}  // namespace smallbatch
