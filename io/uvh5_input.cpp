#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "io/h5md.hpp"
#include "io/hdf5_format.hpp"
#include "io/hdf5_input.hpp"
#include "io/uvh5.hpp"

namespace smallbatch {
namespace {

/// Feeds of antennas 1 and 2.
struct Feeds {
  std::int64_t first = 0, second = 0;
};

/// xx, yy, xy, yx are -5 to -8 (AIPS Memo 117), and those of circular feeds -1 to -4.
std::optional<Feeds> feeds_of(std::int64_t polarisation) {
  constexpr std::array<Feeds, 4> feeds{{{0, 0}, {1, 1}, {0, 1}, {1, 0}}};
  if (polarisation > -1 || polarisation < -8) return std::nullopt;
  return feeds.at(static_cast<std::size_t>((-polarisation - 1) % 4));
}

/// Rows [first, first + count) of the data, of one time.
struct Rows {
  std::int64_t first = 0, count = 0;
};

}  // namespace

struct Uvh5File::Impl {
  explicit Impl(const std::string& path) : file(path) {}

  InputFile file;
  CorrelationSet set;
  std::vector<Feeds> feeds;  ///< of the polarisations
  std::int64_t feeds_per_antenna = 1;
  std::vector<std::int64_t> first, second;  ///< of each row: antennas, from 0
  std::vector<std::vector<Rows>> of_time;

  /// All numbers of a dataset of this shape; of any, where there is none.
  template <class T>
  std::vector<T> read(const std::string& name, const std::vector<std::int64_t>& shape) const {
    const std::string dataset = "/Header/" + name;
    const DatasetInfo& info = file.dataset(dataset);
    const bool is_integer = info.is(ElementType::int32) || info.is(ElementType::int64);
    if (std::is_integral_v<T> ? !is_integer : !info.is_float() && !is_integer) {
      throw file.error(dataset,
                       std::string("expected ") + (std::is_integral_v<T> ? "" : "float32, float64, ") +
                           "int32 or int64, found " + info.type_name,
                       "See the memo of UVH5.");
    }
    expect_shape(file, dataset, shape);
    file.check_proportion(dataset);
    std::size_t count = 1;
    for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
    std::vector<T> values(count);
    file.read(dataset, {}, values.data());
    return values;
  }

  /// Places of the numbers of antennas, in their order, and how many antennas there are.
  std::int64_t open_antennas(std::int64_t rows) {
    first = read<std::int64_t>("ant_1_array", {rows});
    second = read<std::int64_t>("ant_2_array", {rows});
    std::map<std::int64_t, std::int64_t> place;
    for (const auto* numbers : {&first, &second}) {
      for (const std::int64_t number : *numbers) place[number] = 0;
    }
    std::int64_t antennas = 0;
    for (auto& [number, at] : place) at = antennas++;
    open_positions(place);
    for (auto* numbers : {&first, &second}) {
      for (std::int64_t& number : *numbers) number = place[number];
    }
    return antennas;
  }

  /// From geocentric axes at the telescope to east, north and up.
  void open_positions(const std::map<std::int64_t, std::int64_t>& place) {
    const std::string positions = "/Header/antenna_positions";
    if (file.kind(positions) == ObjectKind::none) return;
    const std::int64_t known = file.dataset(positions).shape.empty() ? 0 : file.dataset(positions).shape[0];
    const auto numbers = read<std::int64_t>("antenna_numbers", {known});
    const auto geocentric = read<double>("antenna_positions", {known, 3});
    const double degree = std::numbers::pi / 180;
    const double latitude = degree * read<double>("latitude", {})[0],
                 longitude = degree * read<double>("longitude", {})[0];
    const double sin_lat = std::sin(latitude), cos_lat = std::cos(latitude);
    const double sin_lon = std::sin(longitude), cos_lon = std::cos(longitude);
    set.input_position.assign(3 * place.size(), 0);
    std::size_t found = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const auto antenna = place.find(numbers[k]);
      if (antenna == place.end()) continue;
      ++found;
      const double x = geocentric[3 * k], y = geocentric[3 * k + 1], z = geocentric[3 * k + 2];
      double* const to = set.input_position.data() + 3 * antenna->second;
      to[0] = cos_lon * y - sin_lon * x;
      to[1] = cos_lat * z - sin_lat * (cos_lon * x + sin_lon * y);
      to[2] = sin_lat * z + cos_lat * (cos_lon * x + sin_lon * y);
    }
    if (found != place.size() || !std::ranges::all_of(set.input_position, [](double v) { return std::isfinite(v); })) {
      throw file.error(positions, "expected a place of every antenna that has data", "See the memo of UVH5.");
    }
  }

  void open_polarisations(std::int64_t count) {
    for (const std::int64_t polarisation : read<std::int64_t>("polarization_array", {count})) {
      const auto found = feeds_of(polarisation);
      if (!found) {
        throw file.error("/Header/polarization_array",
                         "expected polarisations -1 to -8, of two feeds, found " + std::to_string(polarisation),
                         "Convert Stokes parameters before.");
      }
      feeds.push_back(*found);
    }
    if (feeds.size() > 1 || (feeds.size() == 1 && feeds[0].first != feeds[0].second)) feeds_per_antenna = 2;
    if (feeds.size() == 1 && feeds_per_antenna == 1) feeds[0] = {};
  }

  void open_times(std::int64_t rows) {
    const auto times = read<double>("time_array", {rows});
    std::map<double, std::size_t> place;
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (!std::isfinite(times[row])) {
        throw file.error("/Header/time_array[" + std::to_string(row) + "]", "it is not finite", "Write the file anew.");
      }
      place[times[row]] = 0;
    }
    for (std::size_t next = 0; auto& [time, at] : place) at = next++;
    of_time.resize(place.size());
    for (std::size_t row = 0; row < times.size(); ++row) {
      std::vector<Rows>& of = of_time[place[times[row]]];
      const auto here = static_cast<std::int64_t>(row);
      if (!of.empty() && of.back().first + of.back().count == here) {
        ++of.back().count;
      } else {
        of.push_back({here, 1});
      }
    }
    set.times = static_cast<std::int64_t>(of_time.size());
    const DatasetInfo& info = file.dataset("/Header/integration_time");
    const auto seconds = read<double>(
        "integration_time", info.shape.empty() ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{rows});
    if (seconds.empty() || !(seconds[0] > 0) || !std::isfinite(seconds[0])) return;
    // Of times that do not follow each other by integrations of one length a set of one length says nothing.
    const auto is_length = [&](double length) { return std::abs(length - seconds[0]) <= 1e-3 * seconds[0] + 1e-4; };
    if (!std::ranges::all_of(seconds, is_length)) return;
    for (auto next = place.begin(), before = next++; next != place.end(); before = next++)
      if (!is_length((next->first - before->first) * seconds_per_day)) return;
    set.sample_time = seconds[0];
    set.start_time = std::max(0.0, place.begin()->first - seconds[0] / 2 / seconds_per_day);
  }

  void open() {
    file.describe("/Header", 1);
    file.describe("/Data", 1);
    const DatasetInfo& data = file.dataset("/Data/visdata");
    if (data.form != NumberForm::complex || data.shape.size() != 4) {
      throw file.error("/Data/visdata",
                       "expected compounds {r, i} of shape (Nblts, Nfreqs, Npols), found " + data.type_name +
                           " of shape " + shape_text(data.shape),
                       "Write it with a current pyuvdata.");
    }
    const std::vector<std::int64_t> shape{data.shape[0], data.shape[1], data.shape[2]};
    for (const char* name : {"/Data/flags", "/Data/nsamples"}) expect_shape(file, name, shape);
    if (file.dataset("/Data/flags").form != NumberForm::boolean) {
      throw file.error("/Data/flags", "expected Boolean, found " + file.dataset("/Data/flags").type_name,
                       "See the memo of UVH5.");
    }
    (void)file.float_dataset("/Data/nsamples");
    set.batch = shape[1];
    set.frequency = read<double>("freq_array", {set.batch});
    for (std::size_t c = 0; c < set.frequency.size(); ++c)
      if (!std::isfinite(set.frequency[c]))
        throw file.error("/Header/freq_array[" + std::to_string(c) + "]", "it is not finite", "Write the file anew.");
    set.is_mean = true;
    open_polarisations(shape[2]);
    const std::int64_t antennas = open_antennas(shape[0]);
    set.inputs = antennas * feeds_per_antenna;
    if (set.inputs < 1 || set.inputs > max_inputs) {
      throw file.error("/Header/ant_1_array",
                       "expected 1 to " + std::to_string(max_inputs) + " inputs, found " + std::to_string(set.inputs),
                       "Select fewer antennas.");
    }
    open_times(shape[0]);
    if (feeds_per_antenna == 2) place_both_feeds();
    file.end_describing();
  }

  void place_both_feeds() {
    const std::vector<double> of_antennas = std::exchange(set.input_position, {});
    for (std::size_t k = 0; k < of_antennas.size(); k += 3) {
      for (int feed = 0; feed < 2; ++feed) {
        set.input_position.insert(set.input_position.end(), of_antennas.begin() + static_cast<std::ptrdiff_t>(k),
                                  of_antennas.begin() + static_cast<std::ptrdiff_t>(k) + 3);
      }
    }
  }

  /// The values of some rows, (row, channel, polarisation), to their baselines.
  void place(const Rows& rows, const std::vector<float>& values, const std::vector<std::int8_t>& flags,
             const std::vector<float>& samples, SignalBlock& block) const {
    auto* const visibility = reinterpret_cast<float*>(block.visibility.data());
    std::size_t from = 0;
    for (std::int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      const std::int64_t one = first[static_cast<std::size_t>(row)] * feeds_per_antenna;
      const std::int64_t two = second[static_cast<std::size_t>(row)] * feeds_per_antenna;
      for (std::int64_t c = 0; c < block.channels; ++c) {
        for (const Feeds& feed : feeds) {
          const std::size_t value = from++;
          const bool is_number = std::isfinite(values[2 * value]) && std::isfinite(values[2 * value + 1]);
          if (flags[value] != 0 || !(samples[value] > 0) || !is_number) continue;
          const std::int64_t i = one + feed.first, j = two + feed.second;
          const auto to = static_cast<std::size_t>(c * set.baselines() + baseline_of(std::max(i, j), std::min(i, j)));
          // Of an auto, the product of its feeds comes both ways.
          if (block.weight[to] != 0 && !(one == two && feed.first != feed.second))
            throw file.error("/Data/visdata[" + std::to_string(row) + "]",
                             "it is of a baseline that another row has at the same time", "Select one of them.");
          visibility[2 * to] = values[2 * value];
          visibility[2 * to + 1] = i >= j ? values[2 * value + 1] : -values[2 * value + 1];
          constexpr float most = 1 << 30;
          block.weight[to] = static_cast<std::int32_t>(std::lround(std::clamp(samples[value], 1.0F, most)));
        }
      }
    }
  }
};

Uvh5File::Uvh5File(const std::string& path) : impl_(std::make_unique<Impl>(path)) { impl_->open(); }
Uvh5File::~Uvh5File() = default;

const CorrelationSet& Uvh5File::set() const { return impl_->set; }

void Uvh5File::read(SignalBlock& block) const {
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
  for (const Rows& rows : impl_->of_time[static_cast<std::size_t>(block.first_time)]) {
    const auto count = static_cast<std::size_t>(rows.count * block.channels) * impl_->feeds.size();
    std::vector<float> values(2 * count), samples(count);
    std::vector<std::int8_t> flags(count);
    const AxisRange of_rows{rows.first, rows.count};
    impl_->file.read("/Data/visdata", {of_rows, channels}, values.data());
    impl_->file.read("/Data/flags", {of_rows, channels}, flags.data());
    impl_->file.read("/Data/nsamples", {of_rows, channels}, samples.data());
    impl_->place(rows, values, flags, samples, block);
  }
}

bool is_uvh5(const std::string& path) {
  if (!is_hdf5(path)) return false;
  const InputFile file(path);
  return file.kind("/Header") == ObjectKind::group && file.kind("/Data") == ObjectKind::group;
}

}  // namespace smallbatch
