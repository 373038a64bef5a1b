#include "io/interchange/uvh5_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace smallbatch {
namespace {

constexpr const char* see_memo = "See the memo of UVH5.";

void read_antennas(const InputFile& file, const std::string& header, std::int64_t count, Uvh5Rows& rows) {
  rows.first = read_header<std::int64_t>(file, header + "/ant_1_array", {count});
  rows.second = read_header<std::int64_t>(file, header + "/ant_2_array", {count});
  std::map<std::int64_t, std::int64_t> index_of;
  for (const auto* numbers : {&rows.first, &rows.second})
    for (const std::int64_t number : *numbers) index_of[number] = 0;
  for (auto& [number, index] : index_of) {
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
      throw file.error(header + "/ant_1_array",
                       "expected antennas from 0 to 2147483647, found " + std::to_string(number), see_memo);
    index = static_cast<std::int64_t>(rows.antenna.size());
    rows.antenna.push_back(number);
  }
  for (auto* numbers : {&rows.first, &rows.second})
    for (std::int64_t& number : *numbers) number = index_of[number];
}

/// Reads the polarisations. Every antenna has each feed that some polarisation names.
void read_polarisations(const InputFile& file, const std::string& header, std::int64_t count, Uvh5Rows& rows) {
  const std::string dataset = header + "/polarization_array";
  rows.polarisations = read_header<std::int64_t>(file, dataset, {count});
  std::array<bool, 2> has{};
  for (std::size_t p = 0; p < rows.polarisations.size(); ++p) {
    const std::int64_t polarisation = rows.polarisations[p];
    if (polarisation > first_polarisation || polarisation < last_polarisation)
      throw file.error(dataset, "expected polarisations -1 to -8, of two feeds, found " + std::to_string(polarisation),
                       "Convert Stokes parameters first.");
    if (feed_name(polarisation, 0) != feed_name(rows.polarisations[0], 0))
      throw file.error(dataset, "it has linear and circular polarisations", "Select those of one kind.");
    if (std::find(rows.polarisations.begin(), rows.polarisations.begin() + static_cast<std::ptrdiff_t>(p),
                  polarisation) != rows.polarisations.begin() + static_cast<std::ptrdiff_t>(p))
      throw file.error(dataset, "it has polarisation " + std::to_string(polarisation) + " twice",
                       "Select one of them.");
    const auto [one, two] = feeds_of(polarisation);
    has[static_cast<std::size_t>(one)] = has[static_cast<std::size_t>(two)] = true;
  }
  std::int64_t next = 0;
  for (std::size_t k = 0; k < rows.antenna.size(); ++k) {
    auto& of_antenna = rows.inputs.emplace_back();
    for (std::size_t feed = 0; feed < has.size(); ++feed) of_antenna[feed] = has[feed] ? next++ : -1;
  }
}

void read_times(const InputFile& file, const std::string& header, std::int64_t count, Uvh5Rows& rows) {
  const std::string dataset = header + "/time_array";
  const auto times = read_header<double>(file, dataset, {count});
  std::map<double, std::size_t> index_of;
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (!std::isfinite(times[row]))
      throw file.error(dataset + "[" + std::to_string(row) + "]", "it is not finite", "Write the file anew.");
    index_of[times[row]] = 0;
  }
  for (auto& [time, index] : index_of) {
    index = rows.times.size();
    rows.times.push_back(time);
  }
  rows.of_time.resize(index_of.size());
  for (std::size_t row = 0; row < times.size(); ++row) {
    std::vector<RowRange>& of = rows.of_time[index_of[times[row]]];
    const auto here = static_cast<std::int64_t>(row);
    if (!of.empty() && of.back().first + of.back().count == here)
      ++of.back().count;
    else
      of.push_back({here, 1});
  }
}

/// Throws if a baseline occurs twice at one time. The order of its antennas does not matter.
void refuse_baselines_that_come_twice(const InputFile& file, const std::string& header, const Uvh5Rows& rows) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;  // baseline and row
  for (const auto& of : rows.of_time) {
    found.clear();
    for (const RowRange& range : of) {
      for (std::int64_t row = range.first; row < range.first + range.count; ++row) {
        const auto [low, high] =
            std::minmax(rows.first[static_cast<std::size_t>(row)], rows.second[static_cast<std::size_t>(row)]);
        found.emplace_back(high * (high + 1) / 2 + low, row);
      }
    }
    std::ranges::sort(found);
    const auto twice = std::ranges::adjacent_find(found, {}, &std::pair<std::int64_t, std::int64_t>::first);
    if (twice == found.end()) continue;
    throw file.error(header + "/ant_1_array[" + std::to_string(std::next(twice)->second) + "]",
                     "row " + std::to_string(twice->second) + " has the same baseline at the same time",
                     "Select one of them.");
  }
}

template <class T>
void copy_numbers(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target,
                  const std::vector<std::int64_t>& shape, NumberForm form) {
  std::size_t count = form == NumberForm::complex ? 2 : 1;
  for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
  std::vector<T> values(count);
  if constexpr (std::is_same_v<T, std::int64_t>)
    from.read_integers(source, {}, values.data());
  else
    from.read(source, {}, values.data());
  to.create(target, element_type_of<T>, shape, form);
  to.write(target, {}, values.data());
}

void copy_texts(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target,
                const std::vector<std::int64_t>& shape, std::int64_t length) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  const auto bytes_of_one = static_cast<std::size_t>(length);
  std::vector<std::uint8_t> bytes(count * bytes_of_one);
  from.read(source, {}, bytes.data());
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < count; ++k) {
    const char* const text = reinterpret_cast<const char*>(bytes.data() + k * bytes_of_one);
    texts.emplace_back(text, ::strnlen(text, bytes_of_one));
  }
  to.write_texts(target, shape, texts);
}

/// Copies a dataset. Returns false if its type cannot be copied.
bool copy_dataset(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target) {
  const DatasetInfo& info = from.dataset(source);
  if (info.type_name == no_data) {
    to.write_nothing(target);
    return true;
  }
  if (info.type == ElementType::other) return false;
  from.check_proportion(source);
  std::vector<std::int64_t> shape = info.shape;
  if (info.form == NumberForm::text || info.form == NumberForm::complex) shape.pop_back();
  if (info.form == NumberForm::text)
    copy_texts(from, source, to, target, shape, info.shape.back());
  else if (info.form == NumberForm::boolean)
    copy_numbers<std::int8_t>(from, source, to, target, shape, info.form);
  else if (info.is_float() || info.form == NumberForm::complex)
    copy_numbers<double>(from, source, to, target, shape, info.form);
  else
    copy_numbers<std::int64_t>(from, source, to, target, shape, info.form);
  return true;
}

/// Returns the kind of an object; `other` if it cannot be read.
ObjectKind kind_if_readable(const InputFile& file, const std::string& object) {
  try {
    const ObjectKind kind = file.kind(object);
    if (kind == ObjectKind::dataset) (void)file.dataset(object);
    return kind;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return ObjectKind::other;
  }
}

void copy_group(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target,
                std::vector<std::string>& left_out, int depth) {
  to.create_group(target);
  for (const std::string& name : from.members(source)) {
    const std::string object = source + "/" + name;
    const ObjectKind kind = kind_if_readable(from, object);
    constexpr int deepest = 4;
    if (kind == ObjectKind::group && depth < deepest)
      copy_group(from, object, to, target + "/" + name, left_out, depth + 1);
    else if (kind != ObjectKind::dataset || !copy_dataset(from, object, to, target + "/" + name))
      left_out.push_back(object);
    if (kind != ObjectKind::group && kind != ObjectKind::dataset) continue;
    for (const std::string& attribute : from.attributes(object)) left_out.push_back(object + "@" + attribute);
  }
}

}  // namespace

FeedPair feeds_of(std::int64_t polarisation) {
  constexpr std::array<FeedPair, 4> feeds{{{0, 0}, {1, 1}, {0, 1}, {1, 0}}};
  return feeds.at(static_cast<std::size_t>((-polarisation - 1) % 4));
}

std::string feed_name(std::int64_t polarisation, std::int64_t feed) {
  constexpr std::int64_t xx = -5;
  return polarisation > xx ? (feed == 0 ? "r" : "l") : (feed == 0 ? "x" : "y");
}

std::int64_t Uvh5Rows::input_count() const {
  std::int64_t count = 0;
  for (const auto& of_antenna : inputs)
    for (const std::int64_t input : of_antenna) count += input >= 0 ? 1 : 0;
  return count;
}

FeedPair Uvh5Rows::inputs_of(std::int64_t row, std::int64_t polarisation) const {
  const auto [one, two] = feeds_of(polarisation);
  const auto of = [this](std::int64_t antenna, std::int64_t feed) {
    return inputs[static_cast<std::size_t>(antenna)][static_cast<std::size_t>(feed)];
  };
  return {of(first[static_cast<std::size_t>(row)], one), of(second[static_cast<std::size_t>(row)], two)};
}

std::vector<std::int64_t> Uvh5Rows::shape(std::int64_t channels) const {
  std::vector<std::int64_t> all{count(), channels, static_cast<std::int64_t>(polarisations.size())};
  if (has_windows_axis) all.insert(all.begin() + 1, 1);
  return all;
}

template <class T>
std::vector<T> read_header(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape) {
  const DatasetInfo& info = file.dataset(dataset);
  if (!info.is_integer() && (std::is_integral_v<T> || !info.is_float()))
    throw file.error(
        dataset,
        std::string("expected ") + (std::is_integral_v<T> ? "integers" : "numbers") + ", found " + info.type_name,
        see_memo);
  expect_shape(file, dataset, shape);
  file.check_proportion(dataset);
  std::size_t count = 1;
  for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
  std::vector<T> values(count);
  if constexpr (std::is_integral_v<T>)
    file.read_integers(dataset, {}, values.data());
  else
    file.read(dataset, {}, values.data());
  return values;
}

template std::vector<std::int64_t> read_header(const InputFile&, const std::string&, const std::vector<std::int64_t>&);
template std::vector<double> read_header(const InputFile&, const std::string&, const std::vector<std::int64_t>&);

Uvh5Rows read_rows(const InputFile& file, const std::string& header, std::vector<std::int64_t> shape) {
  Uvh5Rows rows;
  rows.has_windows_axis = shape.size() == 4;
  read_antennas(file, header, shape.front(), rows);
  read_polarisations(file, header, shape.back(), rows);
  read_times(file, header, shape.front(), rows);
  refuse_baselines_that_come_twice(file, header, rows);
  return rows;
}

void copy_group(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target,
                std::vector<std::string>& left_out) {
  copy_group(from, source, to, target, left_out, 0);
}

}  // namespace smallbatch
