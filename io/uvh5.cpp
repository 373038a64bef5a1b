#include "io/uvh5.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "io/hdf5_output.hpp"

namespace smallbatch {
namespace {

constexpr double j2000 = 2451545;
constexpr std::int64_t rows_bytes = std::int64_t{1} << 28;

/// Antennas 1 and 2 of all baselines.
struct Baselines {
  explicit Baselines(std::int64_t inputs) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        first.push_back(i);
        second.push_back(j);
      }
    }
  }
  std::vector<std::int64_t> first, second;
};

/// `values` once for each integration.
template <class T>
std::vector<T> repeated(const std::vector<T>& values, std::int64_t times) {
  std::vector<T> all;
  all.reserve(values.size() * static_cast<std::size_t>(times));
  for (std::int64_t t = 0; t < times; ++t) all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// Each of `values` `times` times, one after the other.
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

void write_telescope(Uvh5Header& header, const CorrelationSet& set) {
  const std::int64_t antennas = set.inputs;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
  std::vector<double> positions;  // at 0 N 0 E: up, east, north
  for (std::int64_t k = 0; k < antennas; ++k) {
    const auto place = static_cast<std::size_t>(3 * k);
    numbers.push_back(k);
    names.push_back(std::to_string(k));
    for (const std::size_t axis : {2, 0, 1}) positions.push_back(set.input_position[place + axis]);
  }
  for (const char* name : {"telescope_name", "instrument"}) header.write(name, std::string("unknown"));
  header.write("telescope_frame", std::string("itrs"));
  for (const char* name : {"latitude", "longitude", "altitude"}) header.write(name, 0.0);
  for (const char* name : {"Nants_telescope", "Nants_data"}) header.write(name, antennas);
  header.write("antenna_numbers", {antennas}, numbers);
  header.write("antenna_names", names);
  header.write("antenna_positions", {antennas, 3}, positions);
  header.write("polarization_array", {1}, std::vector<std::int64_t>{-5});  // xx
}

void write_channels(Uvh5Header& header, const CorrelationSet& set) {
  const std::int64_t channels = set.batch;
  std::vector<double> width(set.frequency.size(), 1 / set.sample_time);  // of critically sampled channels
  for (std::size_t c = 1; c < width.size(); ++c) width[c] = std::abs(set.frequency[c] - set.frequency[c - 1]);
  if (width.size() > 1) width[0] = width[1];
  header.write("Nfreqs", channels);
  header.write("Npols", std::int64_t{1});
  header.write("Nspws", std::int64_t{1});
  header.write("spw_array", {1}, std::vector<std::int64_t>{0});
  header.write("flex_spw_id_array", {channels}, std::vector<std::int64_t>(set.frequency.size(), 0));
  header.write("freq_array", {channels}, set.frequency);
  header.write("channel_width", {channels}, width);
}

/// Seconds of each integration.
std::vector<double> durations(const CorrelationSet& set) {
  std::vector<double> seconds;
  for (std::int64_t t = 0; t < set.integrations(); ++t) {
    seconds.push_back(static_cast<double>(std::min(set.integrate, set.times - t * set.integrate)) * set.sample_time);
  }
  return seconds;
}

/// Julian dates of the middle of each integration.
std::vector<double> middles(const CorrelationSet& set) {
  const std::vector<double> duration = durations(set);
  std::vector<double> middle;
  for (std::size_t t = 0; t < duration.size(); ++t) {
    const double begin = static_cast<double>(t) * static_cast<double>(set.integrate) * set.sample_time;
    middle.push_back((set.start_time > 0 ? set.start_time : j2000) + (begin + duration[t] / 2) / seconds_per_day);
  }
  return middle;
}

void write_baseline_times(Uvh5Header& header, const CorrelationSet& set, const Baselines& baselines) {
  const std::int64_t integrations = set.integrations(), all = integrations * set.baselines();
  std::vector<double> uvw;
  for (std::size_t b = 0; b < baselines.first.size(); ++b) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto position = [&](std::int64_t input) {
        return set.input_position[3 * static_cast<std::size_t>(input) + axis];
      };
      uvw.push_back(position(baselines.second[b]) - position(baselines.first[b]));
    }
  }
  header.write("Nbls", set.baselines());
  header.write("Nblts", all);
  header.write("Ntimes", integrations);
  header.write("blt_order", std::string("time, baseline"));
  header.write("ant_1_array", {all}, repeated(baselines.first, integrations));
  header.write("ant_2_array", {all}, repeated(baselines.second, integrations));
  header.write("uvw_array", {all, 3}, repeated(uvw, integrations));
  header.write("time_array", {all}, spread(middles(set), set.baselines()));
  header.write("integration_time", {all}, spread(durations(set), set.baselines()));
}

/// One integration of some channels, (baseline, channel).
template <class Out>
struct UvBlock {
  std::vector<Out> visibility;  ///< real, imaginary
  std::vector<std::int8_t> flag;
  std::vector<float> samples;
};

template <class In, class Out>
void transpose(const SignalBlock& block, const Baselines& baselines, std::int64_t samples, UvBlock<Out>& out) {
  const auto count = baselines.first.size(), channels = static_cast<std::size_t>(block.channels);
  out.visibility.assign(2 * count * channels, 0);
  out.flag.assign(count * channels, 0);
  out.samples.assign(count * channels, 0);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t b = 0; b < count; ++b) {
      const std::size_t from = c * count + b, to = b * channels + c;
      std::array<In, 2> value;
      std::memcpy(value.data(), block.visibility.data() + from * sizeof(value), sizeof(value));
      const auto real = static_cast<Out>(value[0]), imaginary = static_cast<Out>(value[1]);
      const bool is_good = block.weight[from] > 0 && std::isfinite(real) && std::isfinite(imaginary);
      out.flag[to] = is_good ? 0 : 1;
      out.samples[to] = static_cast<float>(block.weight[from]) / static_cast<float>(samples);
      if (!is_good) continue;
      out.visibility[2 * to] = real;
      // Of an auto there is none; what rounding has left, readers refuse.
      if (baselines.first[b] != baselines.second[b]) out.visibility[2 * to + 1] = imaginary;
    }
  }
}

template <class In, class Out>
void write_data(Hdf5Output& file, const ResultReader& results, const CorrelationSet& set, const Baselines& baselines) {
  const std::int64_t count = set.baselines();
  const std::vector<std::int64_t> shape{set.integrations() * count, set.batch, 1};
  file.create("/Data/visdata", element_type_of<Out>, shape, NumberForm::complex);
  file.create("/Data/flags", ElementType::int8, shape, NumberForm::boolean);
  file.create("/Data/nsamples", ElementType::float32, shape);
  const auto bytes = static_cast<std::int64_t>(2 * (sizeof(In) + sizeof(Out)) + 9);
  const std::int64_t step = std::clamp<std::int64_t>(rows_bytes / (bytes * count), 1, set.batch);
  SignalBlock block;
  UvBlock<Out> out;
  for (std::int64_t t = 0; t < set.integrations(); ++t) {
    for (block.first = 0; block.first < set.batch; block.first += step) {
      block.channels = std::min(step, set.batch - block.first);
      block.first_time = t * set.integrate;
      block.times = std::min(set.integrate, set.times - block.first_time);
      results.read(set, block);
      transpose<In>(block, baselines, block.times, out);
      const AxisRange rows{t * count, count}, channels{block.first, block.channels};
      file.write("/Data/visdata", {rows, channels}, out.visibility.data());
      file.write("/Data/flags", {rows, channels}, out.flag.data());
      file.write("/Data/nsamples", {rows, channels}, out.samples.data());
    }
  }
}

}  // namespace

void write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                const std::string& history, bool overwrite) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    throw Error(ErrorKind::bad_input, "cannot write correlation/" + set.name + " as UVH5", why, remedy);
  };
  if (set.integrations() == 0 || set.batch == 0) refuse("it has no visibilities", "Export another set.");
  if (set.frequency.empty()) {
    refuse("the frequencies of its channels are not known",
           "Add the dataset frequency to its group, and to that of the problems for other runs.");
  }
  if (!(set.sample_time > 0)) {
    refuse("the time of a sample is not known",
           "Add the attribute sample_time to its group, and to that of the problems for other runs.");
  }
  if (const std::vector<double> middle = middles(set); std::ranges::adjacent_find(middle) != middle.end()) {
    refuse("its integrations are too short for Julian dates, which tell 40 microseconds apart",
           "Integrate more samples.");
  }
  CorrelationSet placed = set;
  for (std::int64_t k = 0; set.input_position.empty() && k < set.inputs; ++k) {
    placed.input_position.insert(placed.input_position.end(), {static_cast<double>(k), 0, 0});
  }
  const Baselines baselines(set.inputs);
  Hdf5Output file(path, overwrite, "");
  Uvh5Header header(file);
  header.write("version", std::string("1.0"));
  header.write("history", history);
  header.write("vis_units", std::string("uncalib"));
  header.write("phase_type", std::string("drift"));
  write_telescope(header, placed);
  write_channels(header, placed);
  write_baseline_times(header, placed, baselines);
  switch (set.visibility()) {
    case SumType::complex_float32:
      write_data<float, float>(file, results, set, baselines);
      break;
    case SumType::complex_int32:
      write_data<std::int32_t, double>(file, results, set, baselines);
      break;
    case SumType::complex_int64:
      write_data<std::int64_t, double>(file, results, set, baselines);
      break;
  }
  file.commit();
}

}  // namespace smallbatch
