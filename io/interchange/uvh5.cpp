#include "io/interchange/uvh5.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "io/hdf5/output.hpp"
#include "io/interchange/uvh5_array.hpp"
#include "io/interchange/uvh5_rows.hpp"

namespace smallbatch {
namespace {

constexpr double j2000 = 2451545;
constexpr std::int64_t rows_bytes = std::int64_t{1} << 28;
/// Returns `times` copies of each of `values`, one after the other.
std::vector<double> spread(const std::vector<double>& values, std::int64_t times) {
  std::vector<double> all;
  for (const double value : values) all.insert(all.end(), static_cast<std::size_t>(times), value);
  return all;
}

class Uvh5Header {
 public:
  explicit Uvh5Header(Hdf5Output& file) : file_(file) { file.create_group("/Header"); }

  void write(const std::string& name, const std::string& text) { file_.write_text("/Header/" + name, text); }
  void write(const std::string& name, const std::vector<std::string>& texts) {
    file_.write_texts("/Header/" + name, texts);
  }
  template <class T>
  void write(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
    file_.create("/Header/" + name, element_type_of<T>, shape);
    file_.write("/Header/" + name, {}, values.data());
  }
  void write(const std::string& name, std::int64_t value) { write(name, {}, std::vector{value}); }
  void write(const std::string& name, double value) { write(name, {}, std::vector{value}); }

 private:
  Hdf5Output& file_;
};

void write_telescope(Uvh5Header& header, const CorrelationSet& set, const AntennaArray& array) {
  const ArrayLabels& labels = set.labels;
  const std::vector<double> location = labels.location.empty() ? std::vector<double>(3, 0) : labels.location;
  const double sin_lat = std::sin(degree * location[0]), cos_lat = std::cos(degree * location[0]);
  const double sin_lon = std::sin(degree * location[1]), cos_lon = std::cos(degree * location[1]);
  std::vector<std::string> names;
  std::vector<double> positions;  // along geocentric axes
  for (const Antenna& antenna : array.antennas) {
    names.push_back(labels.antenna_name.empty() ? std::to_string(antenna.number)
                                                : labels.antenna_name[static_cast<std::size_t>(antenna.first_input)]);
    const auto [east, north, up] = antenna.position;
    const double outwards = cos_lat * up - sin_lat * north;
    positions.insert(positions.end(), {cos_lon * outwards - sin_lon * east, sin_lon * outwards + cos_lon * east,
                                       sin_lat * up + cos_lat * north});
  }
  const auto antennas = static_cast<std::int64_t>(names.size());
  for (const char* name : {"telescope_name", "instrument"})
    header.write(name, labels.telescope.empty() ? std::string("unknown") : labels.telescope);
  header.write("telescope_frame", std::string("itrs"));
  header.write("latitude", location[0]);
  header.write("longitude", location[1]);
  header.write("altitude", location[2]);
  for (const char* name : {"Nants_telescope", "Nants_data"}) header.write(name, antennas);
  header.write("antenna_numbers", {antennas}, array.rows.antenna);
  header.write("antenna_names", names);
  header.write("antenna_positions", {antennas, 3}, positions);
  const auto polarisations = static_cast<std::int64_t>(array.rows.polarisations.size());
  header.write("Npols", polarisations);
  header.write("polarization_array", {polarisations}, array.rows.polarisations);
}

void write_channels(Uvh5Header& header, const CorrelationSet& set) {
  const std::int64_t channels = set.batch;
  std::vector<double> width(set.frequency.size(), 1 / set.sample_time);  // assumes critical sampling
  for (std::size_t c = 1; c < width.size(); ++c) width[c] = std::abs(set.frequency[c] - set.frequency[c - 1]);
  if (width.size() > 1) width[0] = width[1];
  header.write("Nfreqs", channels);
  header.write("Nspws", std::int64_t{1});
  header.write("spw_array", {1}, std::vector<std::int64_t>{0});
  header.write("flex_spw_id_array", {channels}, std::vector<std::int64_t>(set.frequency.size(), 0));
  header.write("freq_array", {channels}, set.frequency);
  header.write("channel_width", {channels}, width);
}

/// Returns the length of each integration in seconds.
std::vector<double> durations(const CorrelationSet& set) {
  std::vector<double> seconds;
  for (std::int64_t t = 0; t < set.integrations(); ++t) {
    seconds.push_back(static_cast<double>(std::min(set.integrate, set.times - t * set.integrate)) * set.sample_time);
  }
  return seconds;
}

/// Returns the Julian date of the middle of each integration.
std::vector<double> middles(const CorrelationSet& set) {
  const std::vector<double> duration = durations(set);
  std::vector<double> middle;
  for (std::size_t t = 0; t < duration.size(); ++t) {
    const double begin = static_cast<double>(t) * static_cast<double>(set.integrate) * set.sample_time;
    middle.push_back((set.start_time > 0 ? set.start_time : j2000) + (begin + duration[t] / 2) / seconds_per_day);
  }
  return middle;
}

void write_baseline_times(Uvh5Header& header, const CorrelationSet& set, const AntennaArray& array) {
  const Uvh5Rows& rows = array.rows;
  const std::int64_t integrations = set.integrations(), all = rows.count(), baselines = all / integrations;
  std::vector<std::int64_t> one, two;
  std::vector<double> uvw;
  for (std::size_t row = 0; row < rows.first.size(); ++row) {
    const Antenna& first = array.antennas[static_cast<std::size_t>(rows.first[row])];
    const Antenna& second = array.antennas[static_cast<std::size_t>(rows.second[row])];
    one.push_back(first.number);
    two.push_back(second.number);
    for (std::size_t axis = 0; axis < 3; ++axis) uvw.push_back(second.position[axis] - first.position[axis]);
  }
  header.write("Nbls", baselines);
  header.write("Nblts", all);
  header.write("Ntimes", integrations);
  header.write("blt_order", std::string("time, baseline"));
  header.write("ant_1_array", {all}, one);
  header.write("ant_2_array", {all}, two);
  header.write("uvw_array", {all, 3}, uvw);
  header.write("time_array", {all}, spread(middles(set), baselines));
  header.write("integration_time", {all}, spread(durations(set), baselines));
}

/// Values for some rows and channels, (row, channel, polarisation).
template <class Out>
struct UvBlock {
  std::vector<Out> visibility;  ///< real, imaginary
  std::vector<std::int8_t> flag;
  std::vector<float> samples;

  void resize(std::size_t count, bool has_visibilities) {
    visibility.assign(has_visibilities ? 2 * count : 0, 0);
    flag.assign(count, 0);
    samples.assign(count, 0);
  }
};

/// Parts of a UVH5 file that results keep.
struct KeptFile {
  const InputFile& file;
  std::string group;
  bool has_visibilities = false;

  void read(const Uvh5Rows& rows, const RowRange& some, const AxisRange& channels, UvBlock<float>& block) const {
    if (has_visibilities) read_some(file, group + "/visdata", rows, some, channels, block.visibility);
    read_some(file, group + "/flags", rows, some, channels, block.flag);
    read_some(file, group + "/nsamples", rows, some, channels, block.samples);
  }
};

template <class In, class Out>
class VisibilityWriter {
 public:
  VisibilityWriter(Hdf5Output& file, const ResultReader& results, const CorrelationSet& set, const Uvh5Rows& rows,
                   const KeptFile* kept)
      : file_(file), results_(results), set_(set), rows_(rows), kept_(kept) {}

  void write() {
    const std::vector<std::int64_t> shape = rows_.shape(set_.batch);
    file_.create("/Data/visdata", element_type_of<Out>, shape, NumberForm::complex);
    file_.create("/Data/flags", ElementType::int8, shape, NumberForm::boolean);
    file_.create("/Data/nsamples", ElementType::float32, shape);
    const auto products = static_cast<std::int64_t>(rows_.polarisations.size());
    const auto bytes = static_cast<std::int64_t>(2 * sizeof(In) + 4) * set_.baselines() +
                       static_cast<std::int64_t>(2 * (sizeof(Out) + sizeof(float)) + 10) * products *
                           std::max<std::int64_t>(1, rows_.count() / set_.integrations());
    const std::int64_t step = std::clamp<std::int64_t>(rows_bytes / bytes, 1, set_.batch);
    for (std::int64_t t = 0; t < set_.integrations(); ++t) {
      for (block_.first = 0; block_.first < set_.batch; block_.first += step) {
        block_.channels = std::min(step, set_.batch - block_.first);
        block_.first_time = t * set_.integrate;
        block_.times = std::min(set_.integrate, set_.times - block_.first_time);
        results_.read(set_, block_);
        const AxisRange channels{block_.first, block_.channels};
        for (const RowRange& some : rows_.of_time[static_cast<std::size_t>(t)]) {
          fill(some, channels);
          write_some(file_, "/Data/visdata", rows_, some, channels, out_.visibility);
          write_some(file_, "/Data/flags", rows_, some, channels, out_.flag);
          write_some(file_, "/Data/nsamples", rows_, some, channels, out_.samples);
        }
      }
    }
  }

 private:
  void fill(const RowRange& some, const AxisRange& channels) {
    const auto count = static_cast<std::size_t>(some.count * channels.count) * rows_.polarisations.size();
    out_.resize(count, true);
    if (kept_) {
      was_.resize(count, kept_->has_visibilities);
      kept_->read(rows_, some, channels, was_);
    }
    std::size_t to = 0;
    for (std::int64_t row = some.first; row < some.first + some.count; ++row)
      for (std::int64_t c = 0; c < channels.count; ++c)
        for (const std::int64_t polarisation : rows_.polarisations) fill(row, c, polarisation, to++);
  }

  void fill(std::int64_t row, std::int64_t channel, std::int64_t polarisation, std::size_t to) {
    const auto [i, j] = rows_.inputs_of(row, polarisation);
    if (kept_) out_.samples[to] = was_.samples[to];
    const bool is_auto = rows_.first[static_cast<std::size_t>(row)] == rows_.second[static_cast<std::size_t>(row)];
    // Results lack flagged visibilities. For an antenna with itself, they also have only one value for its products xy
    // and yx. These visibilities are therefore written as the imported file had them.
    if (kept_ && (was_.flag[to] != 0 || (kept_->has_visibilities && is_auto && i < j))) {
      out_.flag[to] = was_.flag[to];
      for (std::size_t part = 0; part < 2 && kept_->has_visibilities; ++part)
        out_.visibility[2 * to + part] = static_cast<Out>(was_.visibility[2 * to + part]);
      return;
    }
    out_.flag[to] = 1;
    if (i < 0 || j < 0) return;
    const auto from =
        static_cast<std::size_t>(channel * set_.baselines() + baseline_of(std::max(i, j), std::min(i, j)));
    if (!kept_) out_.samples[to] = static_cast<float>(block_.weight[from]) / static_cast<float>(block_.times);
    std::array<In, 2> value;
    std::memcpy(value.data(), block_.visibility.data() + from * sizeof(value), sizeof(value));
    const auto real = static_cast<Out>(value[0]), imaginary = static_cast<Out>(value[1]);
    if (block_.weight[from] <= 0 || !std::isfinite(real) || !std::isfinite(imaginary)) return;
    out_.flag[to] = 0;
    out_.visibility[2 * to] = real;
    // The imaginary part of an auto is 0. Readers refuse what rounding has left of it.
    if (i != j || kept_) out_.visibility[2 * to + 1] = i >= j ? imaginary : -imaginary;
  }

  Hdf5Output& file_;
  const ResultReader& results_;
  const CorrelationSet& set_;
  const Uvh5Rows& rows_;
  const KeptFile* kept_;
  SignalBlock block_;
  UvBlock<Out> out_;
  UvBlock<float> was_;
};

void write_data(Hdf5Output& file, const ResultReader& results, const CorrelationSet& set, const Uvh5Rows& rows,
                const KeptFile* kept) {
  switch (set.visibility()) {
    case SumType::complex_float32:
      return VisibilityWriter<float, float>(file, results, set, rows, kept).write();
    case SumType::complex_int32:
      return VisibilityWriter<std::int32_t, double>(file, results, set, rows, kept).write();
    case SumType::complex_int64:
      return VisibilityWriter<std::int64_t, double>(file, results, set, rows, kept).write();
  }
}

/// Writes the UVH5 file that the set was imported from, with the visibilities in the results.
void write_back(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                const std::string& history, bool overwrite) {
  KeptFile kept{results.file(), uvh5_group(set.name)};
  const std::string header = kept.group + "/Header";
  const std::vector<std::int64_t> shape = kept.file.dataset(kept.group + "/nsamples").shape;
  if (shape.size() != 3 && shape.size() != 4)
    throw kept.file.error(kept.group + "/nsamples", "it has " + std::to_string(shape.size()) + " axes, not 3 or 4",
                          "Import the file anew.");
  const Uvh5Rows rows = read_rows(kept.file, header, shape);
  if (rows.shape(set.batch) != shape || static_cast<std::int64_t>(rows.times.size()) != set.times ||
      rows.input_count() != set.inputs || set.integrate != 1)
    throw kept.file.error(kept.group, "it does not fit the visibilities in correlation/" + set.name,
                          "Import the file anew.");
  kept.has_visibilities = kept.file.kind(kept.group + "/visdata") == ObjectKind::dataset;
  Hdf5Output file(path, overwrite, "");
  std::vector<std::string> left_out;  // stays empty: the results hold nothing that cannot be copied
  copy_group(kept.file, header, file, "/Header", left_out);
  const auto fill = [&](const char* name, const std::string& text) {
    if (kept.file.kind(header + "/" + name) == ObjectKind::none) file.write_text(std::string("/Header/") + name, text);
  };
  const std::string& telescope = set.labels.telescope;
  for (const char* name : {"telescope_name", "instrument"}) fill(name, telescope.empty() ? "unknown" : telescope);
  fill("history", history);
  write_data(file, results, set, rows, &kept);
  file.commit();
}

}  // namespace

std::string write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                       const std::string& history, bool overwrite) {
  if (set.integrations() == 0 || set.batch == 0) refuse_uvh5(set, "it has no visibilities", "Export another set.");
  if (results.file().kind(uvh5_group(set.name)) == ObjectKind::group) {
    write_back(path, results, set, history, overwrite);
    return "";
  }
  if (set.frequency.empty()) {
    refuse_uvh5(set, "the frequencies of its channels are not known",
                "Add the dataset frequency to its group, and to that of the problems for other runs.");
  }
  if (!(set.sample_time > 0)) {
    refuse_uvh5(set, "the time of a sample is not known",
                "Add the attribute 'sample_time' to its group, and to that of the problems for other runs.");
  }
  if (!set.labels.phase_center.empty() || !set.labels.phase_center_ra_dec.empty()) {
    refuse_uvh5(set, "its visibilities are phased, and uvw of a phase center need tables of the Earth's rotation",
                "Remove the phase_center attributes from its group, and phase the file with pyuvdata.");
  }
  if (const std::vector<double> middle = middles(set); std::ranges::adjacent_find(middle) != middle.end()) {
    refuse_uvh5(set, "its integrations are too short for Julian dates, which tell 40 microseconds apart",
                "Integrate more samples.");
  }
  const AntennaArray array = array_of(set);
  Hdf5Output file(path, overwrite, "");
  Uvh5Header header(file);
  header.write("version", std::string("1.0"));
  header.write("history", history);
  header.write("vis_units", set.labels.visibility_unit.empty() ? std::string("uncalib") : set.labels.visibility_unit);
  header.write("phase_type", std::string("drift"));
  write_telescope(header, set, array);
  write_channels(header, set);
  write_baseline_times(header, set, array);
  write_data(file, results, set, array.rows, nullptr);
  file.commit();
  return array.assumed;
}

}  // namespace smallbatch
