// InputFile takes names, shapes and attributes from descriptions of objects (io/hdf5/catalogue.hpp). It requests the
// descriptions of one object or of many objects at a time, and stores them. One file, because all functions share the
// stored descriptions.
#include "io/hdf5/input.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/array_view.hpp"
#include "core/parallel.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/array_runs.hpp"
#include "io/hdf5/chunks.hpp"
#include "io/hdf5/describer_process.hpp"
#include "io/hdf5/input_driver.hpp"
#include "io/hdf5/input_errors.hpp"

namespace smallbatch {
namespace {

/// Numbers that need conversion are read in parts of this size. Several threads then convert a part in pieces.
constexpr std::int64_t numbers_per_part = std::int64_t{1} << 22, numbers_per_piece = std::int64_t{1} << 16;

/// A row of at most this size is passed to ExamineRows while it is in the cache of the thread that has read it.
constexpr std::int64_t most_bytes_of_row_in_cache = std::int64_t{1} << 20;

/// Seconds that the first, second and third describing process may sleep. A process that waits for a lock is soon
/// replaced, and the later processes give a slow disk more time.
constexpr std::array asleep_seconds{2.0, 8.0, 30.0};

Defect not_one_number(const StoredAttribute& stored) {
  return {"expected one number, found " + std::to_string(stored.count) + " of " + stored.type_name,
          "Store it as one number."};
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

std::string quoted(const std::string& text) {
  return "\"" + visible_text(text.size() > 64 ? text.substr(0, 64) + "..." : text) + "\"";
}

struct InputFile::Impl {
  Impl(const std::string& name, unsigned threads) : path(name), bytes(std::make_shared<InputBytes>(name, threads)) {}

  std::string path;
  std::shared_ptr<InputBytes> bytes;
  BeforeRead before_read;
  std::mutex mutex;  ///< guards all members below
  std::unique_ptr<DescriberProcess> child;
  std::size_t asleep = 0;  ///< number of processes that fell asleep
  StoredObject root;
  StoredObject* latest_group =
      nullptr;  ///< the group of the latest requested object; it is described, and does not move
  std::string path_of_latest_group;
  std::size_t latest_index = 0;  ///< index of the member that was found last in a large group
  std::map<const StoredDataset*, ChunkedDataset> chunked;

  [[nodiscard]] Error error(const std::string& object, const std::string& why, const std::string& remedy) const {
    return {ErrorKind::bad_input, visible_text("cannot use " + object + " of " + path), visible_text(why), remedy};
  }
  [[nodiscard]] Error error(const std::string& object, const Defect& defect) const {
    return {defect.kind, "cannot use " + object + " of " + path, defect.why, defect.remedy};
  }
  [[nodiscard]] Error error(const Defect& defect) const {
    return {defect.kind, "cannot use " + visible_text(path), defect.why, defect.remedy};
  }

  void open() {
    if (!has_hdf5_signature(*bytes)) {
      if (bytes->has_failed()) throw error({bytes->why(), bytes->remedy(), bytes->kind()});
      if (bytes->size() == 0) throw error({"it is empty, 0 bytes", "Write it anew."});
      throw error({"it is not an HDF5 file",
                   "Give an HDF5 file as FORMAT.md describes. Files of other formats must be imported first."});
    }
    start();
  }

  /// Calls work(). If the process falls asleep, ends the process and calls work() again.
  template <class Work>
  void while_awake(Work&& work) {
    for (;;) {
      try {
        return work();
      } catch (const Asleep&) {
        child.reset();
        if (++asleep < asleep_seconds.size()) continue;
        throw error({"the process that reads it does not respond", "Check the disk or the network, and run again.",
                     ErrorKind::missing_file});
      }
    }
  }

  void start() {
    try {
      while_awake([&] {
        child.reset();
        child = std::make_unique<DescriberProcess>(path, bytes, asleep_seconds[asleep]);
      });
    } catch (const Defect& defect) {
      throw error(defect);
    }
  }

  void ask(StoredObject& object, const std::string& name, int depth) {
    while_awake([&] {
      if (!child || !child->ask(name, depth)) {
        start();
        if (!child->ask(name, depth)) throw child->end_of_process();
      }
      StoredObject described;
      described.name = object.name;
      put_together(described, depth, [&] { return child->next(); });
      child->expect_no_more();
      object = std::move(described);
    });
  }

  struct Found {
    StoredObject* object = nullptr;  ///< null if there is none
    std::optional<Error> error;      ///< why it is unknown whether there is an object
  };

  /// Returns a member of a group, or null.
  StoredObject* member_of(StoredObject& group, std::string_view name) {
    constexpr std::size_t few = 64;
    auto& members = group.members;
    // Sets are mostly requested in the order of their names, which is the same in all groups of sets.
    for (const std::size_t index : {latest_index, latest_index + 1}) {
      if (members.size() <= few || index >= members.size() || members[index].name != name) continue;
      latest_index = index;
      return &members[index];
    }
    const auto found = std::ranges::lower_bound(members, name, {}, &StoredObject::name);
    if (found == members.end() || found->name != name) return nullptr;
    if (members.size() > few) latest_index = static_cast<std::size_t>(found - members.begin());
    return &*found;
  }

  /// Finds the object at an absolute path. Every link on the path must be hard. Missing descriptions of objects on the
  /// path are fetched. With the object itself, the objects at most `depth` levels below it are fetched.
  Found look_up(const std::string& object, int depth) {
    const std::string_view path_of_object = object;
    StoredObject* found = &root;
    std::size_t end = 0;  // end of the part of the path that leads to `found`
    const std::size_t slash = std::min(object.rfind('/'), object.size());
    if (latest_group && path_of_object.substr(0, slash) == path_of_latest_group) {
      found = latest_group;
      end = slash;
    }
    for (;;) {
      const auto prefix = [&] { return end == 0 ? "/" : object.substr(0, end); };
      const bool is_last = object == "/" || end == object.size();
      if (!found->is_described) ask(*found, prefix(), is_last ? depth : 0);
      if (found->defect) return {nullptr, error(prefix(), *found->defect)};
      if (found->kind == ObjectKind::none) return {};
      if (is_last) return {found, {}};
      if (found->kind != ObjectKind::group) {
        return {nullptr, error(prefix(), "expected a group, found none", "See FORMAT.md.")};
      }
      if (found->contents_defect) return {nullptr, error(prefix(), *found->contents_defect)};
      if (end == slash && found != latest_group) {
        latest_group = found;
        path_of_latest_group = object.substr(0, slash);
      }
      const std::size_t next = std::min(object.find('/', end + 1), object.size());
      found = member_of(*found, path_of_object.substr(end + 1, next - end - 1));
      if (!found) return {};
      end = next;
    }
  }

  /// Returns the object at an absolute path, or null. Throws the error of look_up().
  const StoredObject* find(const std::string& object) {
    Found found = look_up(object, 0);
    if (found.error) throw std::move(*found.error);
    return found.object;
  }

  const StoredDataset& dataset(const std::string& object) {
    const std::lock_guard lock(mutex);
    const StoredObject* found = find(object);
    if (!found) {
      const std::size_t slash = object.rfind('/');
      throw error(slash == 0 ? "/" : object.substr(0, slash), "it has no dataset " + quoted(object.substr(slash + 1)),
                  "Add the dataset, as FORMAT.md says.");
    }
    if (found->kind != ObjectKind::dataset) {
      throw error(
          object,
          std::string("expected a dataset, found ") + (found->kind == ObjectKind::group ? "a group" : "a named type"),
          "Store it as a dataset.");
    }
    if (found->contents_defect) throw error(object, *found->contents_defect);
    return *found->dataset;
  }

  ChunkedDataset& chunks_of(const StoredDataset& dataset) {
    const std::lock_guard lock(mutex);
    return chunked
        .try_emplace(&dataset, dataset.chunks->layout, NumberType{dataset.info.type, dataset.is_swapped},
                     dataset.chunks->all)
        .first->second;
  }

  /// Returns the attribute of this name, or null if there is none. If `is_expected` rejects the attribute, throws the
  /// defect that `expected` returns for it.
  const StoredAttribute* attribute(const std::string& object, const std::string& name,
                                   const std::function<bool(const StoredAttribute&)>& is_expected,
                                   const std::function<Defect(const StoredAttribute&)>& expected) {
    const std::lock_guard lock(mutex);
    const StoredObject* found = find(object);
    if (!found) return nullptr;
    if (found->attributes_defect) throw error(object, *found->attributes_defect);
    const auto attribute = std::ranges::find(found->attributes, name, &StoredAttribute::name);
    if (attribute == found->attributes.end()) return nullptr;
    const bool is_known = !attribute->type_name.empty();
    if (is_known && !is_expected(*attribute)) throw error(object + "@" + name, expected(*attribute));
    if (attribute->defect) throw error(object + "@" + name, *attribute->defect);
    return &*attribute;
  }

  /// Returns the extent in the file of numbers [first, first + count) of a contiguous dataset.
  static Extent extent_of(const StoredDataset& dataset, std::int64_t first, std::int64_t count) {
    const auto bytes = static_cast<std::uint64_t>(bytes_of(dataset.info.type));
    return {dataset.address.value_or(0) + static_cast<std::uint64_t>(first) * bytes,
            static_cast<std::uint64_t>(count) * bytes};
  }

  /// Reads `count` numbers from index `first` on, of a dataset without chunks.
  bool read_run(const StoredDataset& dataset, std::int64_t first, std::int64_t count, ElementType wanted,
                unsigned char* values) const {
    const NumberType type{dataset.info.type, dataset.is_swapped};
    const std::size_t stored_bytes = bytes_of(type.type), wanted_bytes = bytes_of(wanted);
    if (dataset.address && type == NumberType{wanted}) return bytes->read(extent_of(dataset, first, count), values);
    AlignedVector<unsigned char> part;
    for (std::int64_t done = 0; done < count; done += numbers_per_part) {
      const std::int64_t numbers = std::min(numbers_per_part, count - done);
      const unsigned char* from = nullptr;
      if (dataset.address) {
        part.resize(static_cast<std::size_t>(numbers) * stored_bytes);
        if (!bytes->read(extent_of(dataset, first + done, numbers), part.data())) return false;
        from = part.data();
      } else {
        from = dataset.compact->data() + static_cast<std::size_t>(first + done) * stored_bytes;
      }
      parallel_for(numbers, numbers_per_piece, bytes->threads(), [&](std::int64_t begin, std::int64_t end) {
        convert_numbers(type, from + static_cast<std::size_t>(begin) * stored_bytes, wanted,
                        values + static_cast<std::size_t>(done + begin) * wanted_bytes,
                        static_cast<std::size_t>(end - begin));
      });
    }
    return true;
  }

  /// Throws if netCDF's attributes say that numbers are packed or missing. NaNs that stand for missing numbers are left
  /// to the caller.
  template <class T>
  void check_meaning(std::initializer_list<AxisRange> leading, const Rows<T>& wanted) {
    const auto number = [&](const char* name) -> const StoredAttribute* {
      return attribute(
          wanted.object, name, [](const StoredAttribute& stored) { return stored.is_number && stored.count == 1; },
          not_one_number);
    };
    if (dataset(wanted.object).info.form == NumberForm::text) return;
    for (const auto& [name, what_does_nothing] : {std::pair{"scale_factor", 1.0}, {"add_offset", 0.0}}) {
      const StoredAttribute* const packing = number(name);
      if (!packing || packing->number == what_does_nothing) continue;
      throw error(wanted.object,
                  std::string("its numbers are packed: its attribute ") + name + " is " + text_of(*packing->number),
                  "Store the numbers themselves, without scale_factor and add_offset.");
    }
    for (const char* const name : {"_FillValue", "missing_value"}) {
      const StoredAttribute* const missing = number(name);
      if (!missing || std::isnan(*missing->number)) continue;
      const DatasetInfo& info = dataset(wanted.object).info;
      T value{};  // the missing value, converted as the numbers are
      if (missing->is_integer) {
        convert_numbers({ElementType::int64}, missing->integers.data(), element_type_of<T>, &value, 1);
      } else {
        double of_type = *missing->number;
        if (info.type == ElementType::float32) of_type = static_cast<float>(of_type);
        convert_numbers({ElementType::float64}, &of_type, element_type_of<T>, &value, 1);
      }
      std::vector<std::int64_t> counts = info.shape;
      std::ranges::transform(leading, counts.begin(), &AxisRange::count);
      const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{1}, std::multiplies<>());
      const ArrayView<T> all(wanted.values, static_cast<std::size_t>(total));
      const auto* const found = std::find(all.begin(), all.end(), value);
      if (found == all.end()) continue;
      std::int64_t rest = found - all.begin();
      std::vector<std::int64_t> index(counts.size());
      for (std::size_t axis = counts.size(); axis-- > 0; rest /= counts[axis]) {
        const std::int64_t first = axis < leading.size() ? (leading.begin() + axis)->first : 0;
        index[axis] = first + rest % counts[axis];
      }
      throw error(wanted.object,
                  "the number at " + shape_text(index) + " is missing: it equals the attribute " + name + ", " +
                      text_of(*missing->number),
                  "Give every element a number, or leave out the problems with missing numbers.");
    }
  }

  /// Returns the error for an object that could not be read.
  [[nodiscard]] Error unreadable(const std::string& object) const {
    return error(object, Defect{bytes->why(), bytes->remedy(), bytes->kind()});
  }

  /// Reads rows of a dataset, or adds their extents to `parts`, which the caller reads later.
  template <class T>
  void read_or_add(std::initializer_list<AxisRange> leading, const Rows<T>& wanted,
                   std::vector<InputBytes::Part>& parts) {
    const auto& [object, values, examine] = wanted;
    const StoredDataset& dataset = this->dataset(object);
    std::vector<std::int64_t> start(dataset.info.shape.size(), 0), count = dataset.info.shape;
    if (leading.size() > start.size())
      throw Error(ErrorKind::internal, object + " has fewer axes than were asked for.");
    std::size_t axis = 0;
    for (const auto& [first, length] : leading) {
      const std::int64_t all = dataset.info.shape[axis];
      if (first < 0 || length < 0 || first > all || length > all - first) {
        throw Error(ErrorKind::usage,
                    "cannot read [" + std::to_string(first) + ", " + std::to_string(first) + " + " +
                        std::to_string(length) + ") of " + object + " of " + path,
                    "that axis has " + std::to_string(all), "Ask for a range within it.");
      }
      start[axis] = first;
      count[axis] = length;
      ++axis;
    }
    if (std::ranges::find(count, 0) != count.end()) return;
    const auto product = [](auto first, auto last) {
      return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
    };
    const auto first_of_row = count.begin() + static_cast<std::ptrdiff_t>(leading.size());
    const std::int64_t rows = product(count.begin(), first_of_row),
                       numbers_per_row = product(first_of_row, count.end());
    const std::int64_t bytes_per_row = numbers_per_row * static_cast<std::int64_t>(sizeof(T));
    const NumberType type{dataset.info.type, dataset.is_swapped};
    // If rows are stored in the wanted type, the threads that read them call `examine`. Otherwise `examine` is called
    // after all rows are read.
    const bool examines_pieces = examine && dataset.address && type == NumberType{element_type_of<T>} &&
                                 bytes_per_row <= most_bytes_of_row_in_cache;
    if (dataset.chunks) {
      const auto wrong = chunks_of(dataset).read(*bytes, element_type_of<T>, start, count, values);
      if (wrong) throw wrong->empty() ? unreadable(object) : error(object, *wrong, damaged);
    } else {
      T* next = values;
      for_each_run(dataset.info.shape, start, count, [&](std::int64_t first, std::int64_t length) {
        if (before_read && dataset.address) {
          before_read(object, extent_of(dataset, first, length));
        }
        auto* const into = reinterpret_cast<unsigned char*>(next);
        const std::int64_t first_row = (next - values) / numbers_per_row;
        if (examines_pieces) {
          const auto row = static_cast<std::uint64_t>(bytes_per_row);
          parts.push_back({extent_of(dataset, first, length), into,
                           [&examine, first_row, row](std::uint64_t begin, std::uint64_t end) {
                             examine(first_row + static_cast<std::int64_t>(begin / row),
                                     static_cast<std::int64_t>((end - begin) / row));
                           },
                           row});
        } else if (!read_run(dataset, first, length, element_type_of<T>, into)) {
          throw unreadable(object);
        }
        next += length;
      });
    }
    if (examine && !examines_pieces) {
      parallel_for(rows, std::max<std::int64_t>(1, most_bytes_of_row_in_cache / bytes_per_row), bytes->threads(),
                   [&](std::int64_t begin, std::int64_t end) { examine(begin, end - begin); });
    }
  }
};

InputFile::InputFile(const std::string& path, unsigned threads) : impl_(std::make_unique<Impl>(path, threads)) {
  impl_->open();
}

InputFile::~InputFile() = default;

const std::string& InputFile::path() const { return impl_->path; }

Error InputFile::error(const std::string& object, const std::string& why, const std::string& remedy) const {
  return impl_->error(object, why, remedy);
}

void InputFile::describe(const std::string& object, int depth) const {
  const std::lock_guard lock(impl_->mutex);
  (void)impl_->look_up(object, depth);  // a defect is reported when the object is used
}

void InputFile::end_describing() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->child.reset();
}

ObjectKind InputFile::kind(const std::string& object) const {
  const std::lock_guard lock(impl_->mutex);
  const StoredObject* found = impl_->find(object);
  return found ? found->kind : ObjectKind::none;
}

std::vector<std::string> InputFile::members(const std::string& group) const {
  const std::lock_guard lock(impl_->mutex);
  const StoredObject* found = impl_->find(group);
  if (!found) return {};
  if (found->kind != ObjectKind::group) throw error(group, "expected a group, found a dataset", "See FORMAT.md.");
  if (found->contents_defect) throw impl_->error(group, *found->contents_defect);
  std::vector<std::string> names;
  for (const StoredObject& member : found->members) names.push_back(member.name);
  return names;
}

const DatasetInfo& InputFile::dataset(const std::string& object) const { return impl_->dataset(object).info; }

std::int64_t InputFile::chunk_bytes(const std::string& object) const {
  const StoredDataset& dataset = impl_->dataset(object);
  if (!dataset.chunks) return 0;
  return static_cast<std::int64_t>(
      declared_bytes(dataset.chunks->layout.chunk, bytes_of(dataset.info.type)).value_or(0));
}

void InputFile::check_proportion(const std::string& object) const {
  constexpr std::uint64_t always_allowed = std::uint64_t{1} << 23, per_byte_of_file = 16;
  const auto bytes = declared_bytes(dataset(object).shape, sizeof(double));
  const std::uint64_t of_file = impl_->bytes->size();
  if (bytes && (*bytes <= always_allowed || (*bytes - always_allowed) / per_byte_of_file <= of_file)) return;
  throw error(object,
              "its shape " + shape_text(dataset(object).shape) + " takes memory out of proportion to a file of " +
                  std::to_string(of_file) + " bytes",
              "Store it without compression.");
}

const DatasetInfo& InputFile::float_dataset(const std::string& object) const {
  const DatasetInfo& info = dataset(object);
  if (!info.is_float()) {
    throw error(object, "expected float32 or float64, found " + info.type_name,
                info.form == NumberForm::complex ? "Store real numbers: complex numbers are not accepted here."
                                                 : "Convert it before writing, e.g. array.astype(\"float64\").");
  }
  return info;
}

template <class T>
void InputFile::read_together(std::initializer_list<AxisRange> leading, std::initializer_list<Rows<T>> datasets) const {
  std::vector<InputBytes::Part> parts;
  std::vector<const std::string*> part_of;
  for (const Rows<T>& rows : datasets) {
    impl_->read_or_add(leading, rows, parts);
    part_of.resize(parts.size(), &rows.object);
  }
  if (const auto* const lacking = impl_->bytes->read(parts))
    throw impl_->unreadable(*part_of[static_cast<std::size_t>(lacking - parts.data())]);
  if (!impl_->bytes->check_unchanged()) throw impl_->unreadable(datasets.begin()->object);
  for (const Rows<T>& rows : datasets) impl_->check_meaning(leading, rows);
}

template void InputFile::read_together(std::initializer_list<AxisRange>, std::initializer_list<Rows<float>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>, std::initializer_list<Rows<double>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>,
                                       std::initializer_list<Rows<std::int8_t>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>,
                                       std::initializer_list<Rows<std::uint8_t>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>,
                                       std::initializer_list<Rows<std::int32_t>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>,
                                       std::initializer_list<Rows<std::int64_t>>) const;
template void InputFile::read_together(std::initializer_list<AxisRange>,
                                       std::initializer_list<Rows<std::uint64_t>>) const;

void InputFile::read_integers(const std::string& object, std::initializer_list<AxisRange> leading,
                              std::int64_t* values) const {
  const DatasetInfo& info = dataset(object);
  if (!info.is_integer()) throw Error(ErrorKind::internal, object + " has no integers, and they were asked for.");
  if (!info.is(ElementType::uint64)) return read(object, leading, values);
  auto* const bits = reinterpret_cast<std::uint64_t*>(values);
  read(object, leading, bits);
  std::vector<std::int64_t> counts = info.shape;
  std::ranges::transform(leading, counts.begin(), &AxisRange::count);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{1}, std::multiplies<>());
  const ArrayView<std::int64_t> all(values, static_cast<std::size_t>(total));
  const auto beyond = std::find_if(all.begin(), all.end(), [](std::int64_t value) { return value < 0; });
  if (beyond == all.end()) return;
  throw error(object, "expected integers that fit int64, found " + std::to_string(static_cast<std::uint64_t>(*beyond)),
              "Store smaller numbers.");
}

template <class T>
std::optional<T> InputFile::fill_value(const std::string& object) const {
  const StoredDataset& dataset = impl_->dataset(object);
  if (!dataset.fill) return std::nullopt;
  T value{};
  convert_numbers({dataset.info.type, dataset.is_swapped}, dataset.fill->data(), element_type_of<T>, &value, 1);
  return value;
}

template std::optional<double> InputFile::fill_value(const std::string&) const;
template std::optional<std::int64_t> InputFile::fill_value(const std::string&) const;
template std::optional<std::uint64_t> InputFile::fill_value(const std::string&) const;

std::vector<std::string> InputFile::texts(const std::string& object) const {
  const DatasetInfo& info = dataset(object);
  if (info.form != NumberForm::text || info.shape.size() != 2) {
    throw error(object, "expected strings of fixed length along one axis, found " + info.type_name,
                "Store them so, e.g. numpy.array(names, \"S\").");
  }
  check_proportion(object);
  const auto count = static_cast<std::size_t>(info.shape[0]), length = static_cast<std::size_t>(info.shape[1]);
  std::vector<std::uint8_t> bytes(count * length);
  read(object, {}, bytes.data());
  std::vector<std::string> found(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const text = reinterpret_cast<const char*>(bytes.data() + i * length);
    found[i].assign(text, ::strnlen(text, length));
    while (found[i].ends_with(' ')) found[i].pop_back();
  }
  return found;
}

std::optional<Extent> InputFile::extent(const std::string& object) const {
  const StoredDataset& dataset = impl_->dataset(object);
  if (dataset.info.type == ElementType::other) return {};
  const auto size = declared_bytes(dataset.info.shape, bytes_of(dataset.info.type));
  if (!dataset.address || !size || *size == 0) return {};
  return Extent{*dataset.address, *size};
}

void InputFile::set_before_read(BeforeRead function) { impl_->before_read = std::move(function); }

std::uint64_t InputFile::size() const { return impl_->bytes->size(); }

int InputFile::descriptor() const { return impl_->bytes->descriptor(); }

void InputFile::read_bytes(const Extent& extent, void* bytes) const {
  if (impl_->bytes->read(extent, bytes, 1)) return;
  throw impl_->error({impl_->bytes->why(), impl_->bytes->remedy(), impl_->bytes->kind()});
}

std::vector<std::string> InputFile::attributes(const std::string& object) const {
  const std::lock_guard lock(impl_->mutex);
  const StoredObject* found = impl_->find(object);
  if (!found) return {};
  if (found->attributes_defect) throw impl_->error(object, *found->attributes_defect);
  std::vector<std::string> names;
  for (const StoredAttribute& attribute : found->attributes) names.push_back(attribute.name);
  return names;
}

std::optional<std::vector<std::int64_t>> InputFile::integers(const std::string& object,
                                                             const std::string& attribute) const {
  const auto* found = impl_->attribute(
      object, attribute, [](const StoredAttribute& stored) { return stored.is_integer; },
      [](const StoredAttribute& stored) {
        return Defect{"expected integers, found " + stored.type_name, "Store it as an array of integers."};
      });
  if (!found) return std::nullopt;
  return found->integers;
}

std::optional<double> InputFile::number(const std::string& object, const std::string& attribute) const {
  const auto* found = impl_->attribute(
      object, attribute, [](const StoredAttribute& stored) { return stored.is_number && stored.count == 1; },
      not_one_number);
  if (!found) return std::nullopt;
  return found->number;
}

std::optional<std::vector<std::string>> InputFile::strings(const std::string& object,
                                                           const std::string& attribute) const {
  const auto* found = impl_->attribute(
      object, attribute, [](const StoredAttribute& stored) { return stored.is_text; },
      [](const StoredAttribute& stored) {
        return Defect{"expected a string, found " + stored.type_name, "Store it as a string."};
      });
  if (!found) return std::nullopt;
  return found->texts;
}

std::optional<std::string> InputFile::string(const std::string& object, const std::string& attribute) const {
  auto values = strings(object, attribute);
  if (!values) return std::nullopt;
  if (values->size() != 1) {
    throw error(object + "@" + attribute, "expected one string, found " + std::to_string(values->size()),
                "Store one string.");
  }
  return std::move(values->front());
}

std::optional<std::variant<std::string, double>> InputFile::text_or_number(const std::string& object,
                                                                           const std::string& attribute) const {
  const std::lock_guard lock(impl_->mutex);
  const StoredObject* found = impl_->find(object);
  if (!found || found->attributes_defect) return {};
  const auto stored = std::ranges::find(found->attributes, attribute, &StoredAttribute::name);
  if (stored == found->attributes.end() || stored->defect) return {};
  if (stored->is_text && stored->texts.size() == 1) return stored->texts.front();
  if (stored->is_number && stored->count == 1 && stored->number) return *stored->number;
  return {};
}

void expect_shape(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape,
                  const std::string& why) {
  const DatasetInfo& info = file.dataset(dataset);
  if (info.shape != shape) {
    throw file.error(dataset, why + "expected shape " + shape_text(shape) + ", found " + shape_text(info.shape),
                     remedy_of_shape(info.shape, shape, "Store it in the expected shape."));
  }
}

std::string remedy_of_shape(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& expected,
                            const std::string& otherwise) {
  if (std::ranges::is_permutation(found, expected)) return "Are its axes in another order? Store its transpose.";
  const auto without_ones = [](std::vector<std::int64_t> shape) {
    std::erase(shape, 1);
    return shape;
  };
  if (without_ones(found) == without_ones(expected)) return "Store its reshape" + shape_text(expected) + ".";
  return otherwise;
}

std::string short_enough(const std::string& text) {
  constexpr std::string_view more = " ...";
  return text.size() <= largest_string ? text : text.substr(0, largest_string - more.size()).append(more);
}

void expect_range(std::int64_t first, std::int64_t count, std::int64_t batch, const std::string& set) {
  if (first >= 0 && count >= 0 && first <= batch && count <= batch - first) return;
  throw Error(ErrorKind::usage, "cannot read a range of set " + quoted(set),
              "asked for " + std::to_string(count) + " from index " + std::to_string(first) + ", there are " +
                  std::to_string(batch),
              "Ask for a range within it.");
}

bool is_hdf5(const std::string& path) {
  std::error_code unknown;  // opening a pipe would take its bytes, or end its writer
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  try {
    InputBytes file(path);
    return has_hdf5_signature(file);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace smallbatch
