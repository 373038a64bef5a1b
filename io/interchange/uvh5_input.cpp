#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "io/interchange/uvh5.hpp"
#include "io/interchange/uvh5_rows.hpp"

namespace smallbatch {
namespace {

constexpr std::int64_t bytes_of_step = std::int64_t{1} << 26;
const std::string header = "/Header", visdata = "/Data/visdata", flags = "/Data/flags", nsamples = "/Data/nsamples";

/// Returns geodetic latitude and longitude (degrees) and altitude (m) on WGS84 of a geocentric position, by Bowring's
/// iteration.
std::vector<double> geodetic(const std::vector<double>& position) {
  constexpr double radius = 6378137, flattening = 1 / 298.257223563, e2 = flattening * (2 - flattening);
  const double from_axis = std::hypot(position[0], position[1]);
  double latitude = std::atan2(position[2], from_axis * (1 - e2)), altitude = 0;
  for (int i = 0; i < 10; ++i) {
    const double sine = std::sin(latitude), normal = radius / std::sqrt(1 - e2 * sine * sine);
    altitude = from_axis * std::cos(latitude) + position[2] * sine - radius * radius / normal;
    latitude = std::atan2(position[2], from_axis * (1 - e2 * normal / (normal + altitude)));
  }
  return {latitude / degree, std::atan2(position[1], position[0]) / degree, altitude};
}

}  // namespace

struct Uvh5File::Impl {
  explicit Impl(const std::string& path) : file(path) {}

  InputFile file;
  CorrelationSet set;
  Uvh5Rows rows;

  [[nodiscard]] bool has(const std::string& name) const {
    return file.kind(header + "/" + name) == ObjectKind::dataset;
  }
  /// Reads a number. It may also be an array of one number.
  [[nodiscard]] double number(const std::string& name) const {
    const std::string dataset = header + "/" + name;
    const std::vector<std::int64_t> one{1};
    return read_header<double>(file, dataset,
                               file.dataset(dataset).shape == one ? one : std::vector<std::int64_t>{})[0];
  }
  /// Returns the texts of a dataset; empty if there is none that can be read.
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    const std::string dataset = header + "/" + name;
    try {
      if (file.kind(dataset) != ObjectKind::dataset) return {};
      const DatasetInfo& info = file.dataset(dataset);
      if (info.form != NumberForm::text || info.shape.size() > 2) return {};
      if (info.shape.size() == 2) return file.texts(dataset);
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(info.shape[0]));
      file.check_proportion(dataset);
      file.read(dataset, {}, bytes.data());
      const char* const text = reinterpret_cast<const char*>(bytes.data());
      return {std::string(text, ::strnlen(text, bytes.size()))};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      return {};  // copy_to() reports that it is left out
    }
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const std::vector<std::string> found = texts(name);
    return found.size() == 1 ? short_enough(found[0]) : "";
  }

  void open_location() {
    if (has("latitude") && has("longitude"))
      set.labels.location = {number("latitude"), number("longitude"), has("altitude") ? number("altitude") : 0};
    else if (has("telescope_location"))
      set.labels.location = geodetic(read_header<double>(file, header + "/telescope_location", {3}));
    for (const double value : set.labels.location)
      if (!std::isfinite(value))
        throw file.error(header, "the place of the telescope is not finite", "Correct latitude, longitude, altitude.");
  }

  /// Reads the antenna positions, and turns them from geocentric axes at the telescope to east, north and up.
  void open_positions() {
    const std::string positions = header + "/antenna_positions";
    if (file.kind(positions) == ObjectKind::none) return;
    if (set.labels.location.empty())
      throw file.error(positions, "the place of the telescope is not known: there is no latitude and longitude",
                       "Add them, in degrees.");
    const std::int64_t known = file.dataset(positions).shape.empty() ? 0 : file.dataset(positions).shape[0];
    const auto numbers = read_header<std::int64_t>(file, header + "/antenna_numbers", {known});
    const auto geocentric = read_header<double>(file, positions, {known, 3});
    const double latitude = degree * set.labels.location[0], longitude = degree * set.labels.location[1];
    const double sin_lat = std::sin(latitude), cos_lat = std::cos(latitude);
    const double sin_lon = std::sin(longitude), cos_lon = std::cos(longitude);
    set.input_position.assign(3 * static_cast<std::size_t>(set.inputs), 0);
    std::size_t found = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const auto antenna = std::ranges::lower_bound(rows.antenna, numbers[k]);
      if (antenna == rows.antenna.end() || *antenna != numbers[k]) continue;
      ++found;
      const double x = geocentric[3 * k], y = geocentric[3 * k + 1], z = geocentric[3 * k + 2];
      for (const std::int64_t input : rows.inputs[static_cast<std::size_t>(antenna - rows.antenna.begin())]) {
        if (input < 0) continue;
        double* const to = set.input_position.data() + 3 * input;
        to[0] = cos_lon * y - sin_lon * x;
        to[1] = cos_lat * z - sin_lat * (cos_lon * x + sin_lon * y);
        to[2] = sin_lat * z + cos_lat * (cos_lon * x + sin_lon * y);
      }
    }
    if (found != rows.antenna.size() ||
        !std::ranges::all_of(set.input_position, [](double v) { return std::isfinite(v); })) {
      throw file.error(positions, "expected a place of every antenna that has data", "See the memo of UVH5.");
    }
  }

  void open_labels() {
    ArrayLabels& labels = set.labels;
    std::map<std::int64_t, std::string> name_of;
    if (const auto names = texts("antenna_names"); !names.empty() && has("antenna_numbers")) {
      const auto count = static_cast<std::int64_t>(names.size());
      const auto numbers = read_header<std::int64_t>(file, header + "/antenna_numbers", {count});
      for (std::size_t k = 0; k < names.size(); ++k) name_of[numbers[k]] = names[k];
    }
    for (std::size_t k = 0; k < rows.antenna.size(); ++k) {
      for (std::size_t feed = 0; feed < 2; ++feed) {
        if (rows.inputs[k][feed] < 0) continue;
        labels.antenna.push_back(rows.antenna[k]);
        labels.antenna_name.push_back(name_of[rows.antenna[k]]);
        labels.feed.push_back(feed_name(rows.polarisations.front(), static_cast<std::int64_t>(feed)));
      }
    }
    if (name_of.empty()) labels.antenna_name.clear();
    labels.telescope = text("telescope_name");
    labels.visibility_unit = text("vis_units");
    if (labels.visibility_unit == "UNCALIB") labels.visibility_unit = "uncalib";
    if (labels.visibility_unit != "Jy" && labels.visibility_unit != "K str" && labels.visibility_unit != "uncalib")
      labels.visibility_unit.clear();
    open_phase_center(labels);
  }

  /// Reads the phase center, if the file has a single one that does not move. The results keep the header, which has
  /// all phase centers.
  void open_phase_center(ArrayLabels& labels) const {
    const std::string catalog = "phase_center_catalog";
    const auto take = [&](const std::string& name, const std::string& frame, const std::string& lon,
                          const std::string& lat) {
      labels.phase_center = text(name);
      if (text(frame) == "icrs" && has(lon) && has(lat) && file.dataset(header + "/" + lon).is_float())
        labels.phase_center_ra_dec = {number(lon) / degree, number(lat) / degree};
    };
    if (text("phase_type") == "phased")
      take("object_name", "phase_center_frame", "phase_center_ra", "phase_center_dec");
    if (file.kind(header + "/" + catalog) != ObjectKind::group) return;
    const std::vector<std::string> centers = file.members(header + "/" + catalog);
    if (centers.size() != 1) return;
    const std::string center = catalog + "/" + centers[0];
    if (file.kind(header + "/" + center) != ObjectKind::group || text(center + "/cat_type") != "sidereal") return;
    take(center + "/cat_name", center + "/cat_frame", center + "/cat_lon", center + "/cat_lat");
  }

  void open_lengths() {
    const std::string name = header + "/integration_time";
    const bool is_one = file.dataset(name).shape.empty();
    const auto seconds =
        read_header<double>(file, name, is_one ? std::vector<std::int64_t>{} : std::vector{rows.count()});
    if (seconds.empty() || !(seconds[0] > 0) || !std::isfinite(seconds[0])) return;
    // A set has one length for all integrations. The length stays unknown if lengths, or the times between
    // integrations, differ.
    const auto is_length = [&](double length) { return std::abs(length - seconds[0]) <= 1e-3 * seconds[0] + 1e-4; };
    if (!std::ranges::all_of(seconds, is_length)) return;
    for (std::size_t t = 1; t < rows.times.size(); ++t)
      if (!is_length((rows.times[t] - rows.times[t - 1]) * seconds_per_day)) return;
    set.sample_time = seconds[0];
    set.start_time = std::max(0.0, rows.times.front() - seconds[0] / 2 / seconds_per_day);
  }

  void open_frequencies() {
    const std::string name = header + "/freq_array";
    const bool is_older = file.dataset(name).shape.size() == 2;
    set.frequency = read_header<double>(
        file, name, is_older ? std::vector<std::int64_t>{1, set.batch} : std::vector<std::int64_t>{set.batch});
    for (std::size_t c = 0; c < set.frequency.size(); ++c)
      if (!std::isfinite(set.frequency[c]))
        throw file.error(name + "[" + std::to_string(c) + "]", "it is not finite", "Write the file anew.");
  }

  void open() {
    file.describe(header, 3);
    file.describe("/Data", 1);
    const DatasetInfo& data = file.dataset(visdata);
    std::vector<std::int64_t> shape = data.shape;
    if (data.form == NumberForm::complex) shape.pop_back();
    const bool is_older = shape.size() == 4 && shape[1] == 1;
    if (data.form != NumberForm::complex || (shape.size() != 3 && !is_older)) {
      throw file.error(
          visdata,
          "expected compounds {r, i} of shape (Nblts, Nfreqs, Npols) or (Nblts, 1, Nfreqs, Npols), found " +
              data.type_name + " of shape " + shape_text(shape),
          "Write it with a current pyuvdata.");
    }
    for (const std::string& name : {flags, nsamples}) expect_shape(file, name, shape);
    if (file.dataset(flags).form != NumberForm::boolean)
      throw file.error(flags, "expected Boolean, found " + file.dataset(flags).type_name, "See the memo of UVH5.");
    const DatasetInfo& samples = file.dataset(nsamples);
    if (!samples.is_float() && !samples.is_integer())
      throw file.error(nsamples, "expected numbers, found " + samples.type_name, "See the memo of UVH5.");
    set.batch = shape[shape.size() - 2];
    open_frequencies();
    set.is_mean = true;
    rows = read_rows(file, header, shape);
    set.times = static_cast<std::int64_t>(rows.times.size());
    set.inputs = rows.input_count();
    if (set.inputs < 1 || set.inputs > max_inputs) {
      throw file.error(header + "/ant_1_array",
                       "expected 1 to " + std::to_string(max_inputs) + " inputs, found " + std::to_string(set.inputs),
                       "Select fewer antennas.");
    }
    open_location();
    open_positions();
    open_labels();
    open_lengths();
  }

  /// Calls visit(rows, number of values) for one group of consecutive rows after the other. A group takes about 64 MiB,
  /// or is a single row.
  template <class Visit>
  void for_some_rows(Visit&& visit) const {
    const auto of_row = static_cast<std::int64_t>(8 * rows.polarisations.size()) * std::max<std::int64_t>(1, set.batch);
    const std::int64_t step = std::max<std::int64_t>(1, bytes_of_step / of_row);
    for (RowRange some{0, 0}; some.first < rows.count(); some.first += step) {
      some.count = std::min(step, rows.count() - some.first);
      visit(some, static_cast<std::size_t>(some.count * of_row / 8));
    }
  }

  /// Copies a dataset. Returns true if visit(values) was true for any part of it.
  template <class T, class Visit>
  bool copy(const std::string& from, Hdf5Output& to, const std::string& target, NumberForm form, Visit&& visit) const {
    to.create(target, element_type_of<T>, rows.shape(set.batch), form);
    std::vector<T> values;
    bool found = false;
    for_some_rows([&](const RowRange& some, std::size_t count) {
      values.resize(form == NumberForm::complex ? 2 * count : count);
      read_some(file, from, rows, some, {0, set.batch}, values);
      write_some(to, target, rows, some, {0, set.batch}, values);
      found = visit(values) || found;
    });
    return found;
  }

  /// Returns true if the products xy and yx (or rl and lr) of an antenna with itself are not always conjugates of each
  /// other. The set's visibilities have a place for only one of the two products.
  [[nodiscard]] bool have_autos_two_values() const {
    const auto& all = rows.polarisations;
    const auto find = [&](std::int64_t one, std::int64_t two) {
      return std::ranges::find_if(
                 all, [&](std::int64_t p) { return feeds_of(p).first == one && feeds_of(p).second == two; }) -
             all.begin();
    };
    const auto xy = static_cast<std::size_t>(find(0, 1)), yx = static_cast<std::size_t>(find(1, 0));
    if (xy == all.size() || yx == all.size()) return false;
    bool differ = false;
    std::vector<float> values;
    for_some_rows([&](const RowRange& some, std::size_t count) {
      const auto of_row = count / static_cast<std::size_t>(some.count);
      values.resize(2 * of_row);
      for (std::int64_t row = some.first; row < some.first + some.count && !differ; ++row) {
        if (rows.first[static_cast<std::size_t>(row)] != rows.second[static_cast<std::size_t>(row)]) continue;
        read_some(file, visdata, rows, {row, 1}, {0, set.batch}, values);
        for (std::size_t of_channel = 0; of_channel < of_row; of_channel += all.size()) {
          const float* const one = values.data() + 2 * (of_channel + xy);
          const float* const two = values.data() + 2 * (of_channel + yx);
          differ = differ || one[0] != two[0] || one[1] != -two[1];
        }
      }
    });
    return differ;
  }

  /// Stores the values of some rows, (row, channel, polarisation), at their baselines.
  void store(const RowRange& some, const std::vector<float>& values, const std::vector<std::int8_t>& flag,
             const std::vector<double>& samples, SignalBlock& block, Uvh5Counts& counts) const {
    auto* const visibility = reinterpret_cast<float*>(block.visibility.data());
    std::size_t from = 0;
    for (std::int64_t row = some.first; row < some.first + some.count; ++row) {
      for (std::int64_t c = 0; c < block.channels; ++c) {
        for (const std::int64_t polarisation : rows.polarisations) {
          const std::size_t value = from++;
          ++counts.visibilities;
          if (flag[value] != 0) {
            ++counts.flagged;
            continue;
          }
          if (!std::isfinite(values[2 * value]) || !std::isfinite(values[2 * value + 1])) {
            ++counts.not_finite;
            continue;
          }
          const bool are_counted = samples[value] > 0 && std::isfinite(samples[value]);
          if (!are_counted) ++counts.uncounted;
          const auto [i, j] = rows.inputs_of(row, polarisation);
          const auto to = static_cast<std::size_t>(c * set.baselines() + baseline_of(std::max(i, j), std::min(i, j)));
          // The products xy and yx of one antenna share a place. The product with i > j is kept.
          if (block.weight[to] != 0 && i < j) continue;
          visibility[2 * to] = values[2 * value];
          visibility[2 * to + 1] = i >= j ? values[2 * value + 1] : -values[2 * value + 1];
          constexpr double most = 1 << 30;
          block.weight[to] =
              are_counted ? static_cast<std::int32_t>(std::lround(std::clamp(samples[value], 1.0, most))) : 1;
        }
      }
    }
  }
};

Uvh5File::Uvh5File(const std::string& path) : impl_(std::make_unique<Impl>(path)) { impl_->open(); }
Uvh5File::~Uvh5File() = default;

const CorrelationSet& Uvh5File::set() const { return impl_->set; }

std::vector<std::string> Uvh5File::copy_to(Hdf5Output& to, const std::string& group) const {
  const InputFile& file = impl_->file;
  std::vector<std::string> left_out;
  for (const std::string& name : file.members("/"))
    if (name != "Header" && name != "Data") left_out.push_back("/" + name);
  for (const std::string& name : file.members("/Data"))
    if (name != "visdata" && name != "flags" && name != "nsamples") left_out.push_back("/Data/" + name);
  copy_group(file, header, to, group + "/Header", left_out);
  const auto is_set = [](const auto& values) { return std::ranges::any_of(values, [](auto v) { return v != 0; }); };
  const auto nothing = [](const auto&) { return false; };
  const bool has_flagged = impl_->copy<std::int8_t>(flags, to, group + "/flags", NumberForm::boolean, is_set);
  impl_->copy<float>(nsamples, to, group + "/nsamples", NumberForm::plain, nothing);
  if (has_flagged || impl_->have_autos_two_values())
    impl_->copy<float>(visdata, to, group + "/visdata", NumberForm::complex, nothing);
  file.end_describing();
  return left_out;
}

std::string Uvh5File::type_name() const { return impl_->file.dataset(visdata).type_name; }

Uvh5Counts Uvh5File::read(SignalBlock& block) const {
  const CorrelationSet& set = impl_->set;
  expect_range(block.first, block.channels, set.batch, set.name);
  expect_range(block.first_time, 1, set.times, set.name);
  block.times = 1;
  block.inputs = set.inputs;
  block.integrate = 1;
  block.sum = SumType::complex_float32;
  block.resize_sums();
  auto* const visibility = reinterpret_cast<float*>(block.visibility.data());
  std::fill_n(visibility, 2 * block.weight.size(), std::numeric_limits<float>::quiet_NaN());
  std::ranges::fill(block.weight, 0);
  const AxisRange channels{block.first, block.channels};
  const Uvh5Rows& rows = impl_->rows;
  Uvh5Counts counts;
  for (const RowRange& some : rows.of_time[static_cast<std::size_t>(block.first_time)]) {
    const auto count = static_cast<std::size_t>(some.count * block.channels) * rows.polarisations.size();
    std::vector<float> values(2 * count);
    std::vector<double> samples(count);
    std::vector<std::int8_t> flag(count);
    read_some(impl_->file, visdata, rows, some, channels, values);
    read_some(impl_->file, flags, rows, some, channels, flag);
    read_some(impl_->file, nsamples, rows, some, channels, samples);
    impl_->store(some, values, flag, samples, block, counts);
  }
  return counts;
}

bool is_uvh5(const std::string& path) {
  if (!is_hdf5(path)) return false;
  const InputFile file(path);
  return file.kind("/Header") == ObjectKind::group && file.kind("/Data") == ObjectKind::group;
}

}  // namespace smallbatch
