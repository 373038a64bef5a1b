// Signals and visibilities are read from files that plain HDF5 calls wrote. They are written to files that plain HDF5
// calls read. One file, because both directions use the same sets.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "io/problem_reader.hpp"
#include "io/problem_writer.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::expect_error;
using testing::RawHdf5;
using testing::Shape;
using Complex = std::complex<float>;

using CorrelationProblem = testing::FileTest;
using CorrelationResults = testing::FileTest;

constexpr std::int64_t channels = 3, times = 7, inputs = 5;
const Shape samples{channels, times, inputs}, samples_of_two{channels, times, inputs, 2};

template <class T, class Bytes>
std::vector<T> as(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Returns the value of sample (c, t, i).
Complex sample(std::int64_t c, std::int64_t t, std::int64_t i) {
  return {static_cast<float>(100 * c + 10 * t + i) + 0.5F, -static_cast<float>(c + t + i)};
}

std::vector<Complex> all_samples() {
  std::vector<Complex> values;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < times; ++t)
      for (std::int64_t i = 0; i < inputs; ++i) values.push_back(sample(c, t, i));
  return values;
}

void write_problems(const std::string& path, const std::function<void(RawHdf5&)>& fill) {
  RawHdf5 file(path);
  file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 4});
  fill(file);
}

SignalBlock read_block(const ProblemReader& reader, std::int64_t first, std::int64_t channel_count,
                       std::int64_t first_time, std::int64_t time_count) {
  SignalBlock block;
  block.first = first;
  block.channels = channel_count;
  block.first_time = first_time;
  block.times = time_count;
  reader.read(reader.correlation_sets().at(0), block);
  return block;
}

TEST_F(CorrelationProblem, compounds_in_either_byte_order_and_in_chunks_are_samples) {
  const auto values = all_samples();
  for (const bool is_big_endian : {false, true}) {
    for (const bool is_chunked : {false, true}) {
      SCOPED_TRACE(std::to_string(is_big_endian) + std::to_string(is_chunked));
      write_problems(path("p.h5"), [&](RawHdf5& file) {
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        if (is_chunked) {
          const std::vector<hsize_t> chunk{2, 3, 4};
          H5Pset_chunk(creation, 3, chunk.data());
          H5Pset_shuffle(creation);
          H5Pset_deflate(creation, 4);
        }
        file.dataset("/correlation/c/signal", samples, values,
                     testing::compound_of(is_big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE), creation);
        H5Pclose(creation);
      });
      const ProblemReader reader(path("p.h5"));
      const CorrelationSet& set = reader.correlation_sets().at(0);
      EXPECT_EQ(set.type, SampleType::complex_float32);
      EXPECT_EQ(set.batch, channels);
      EXPECT_EQ(set.times, times);
      EXPECT_EQ(set.inputs, inputs);
      EXPECT_EQ(set.integrate, times);
      EXPECT_EQ(set.integrations(), 1);
      EXPECT_FALSE(set.is_mean || set.has_flags);
      EXPECT_EQ(set.chunk_bytes, is_chunked ? 2 * 3 * 4 * 8 : 0);
      EXPECT_TRUE(set.frequency.empty());
      EXPECT_EQ(as<Complex>(read_block(reader, 0, channels, 0, times).signal), values);
      const SignalBlock part = read_block(reader, 1, 2, 2, 3);
      EXPECT_EQ(part.inputs, inputs);
      EXPECT_EQ(part.batch().flag, nullptr);
      std::vector<Complex> expected;
      for (const std::int64_t c : {1, 2})
        for (const std::int64_t t : {2, 3, 4})
          for (std::int64_t i = 0; i < inputs; ++i) expected.push_back(sample(c, t, i));
      EXPECT_EQ(as<Complex>(part.signal), expected);
      SignalBlock beyond;
      beyond.channels = 1;
      beyond.first_time = 5;
      beyond.times = 3;
      expect_error(ErrorKind::usage, {"\"c\"", "7"}, [&] { reader.read(set, beyond); });
    }
  }
}

TEST_F(CorrelationProblem, integers_come_bit_by_bit) {
  write_problems(path("p.h5"), [](RawHdf5& file) {
    file.dataset("/correlation/c/signal", samples_of_two, counted<std::int8_t>(210, -128));
    file.attribute("/correlation/c", "output", "mean");
    file.attribute("/correlation/c", "integrate", std::vector<std::int32_t>{3});
  });
  {
    const ProblemReader reader(path("p.h5"));
    const CorrelationSet& set = reader.correlation_sets().at(0);
    EXPECT_EQ(set.type, SampleType::complex_int8);
    EXPECT_EQ(set.integrations(), 3);
    EXPECT_TRUE(set.is_mean);
    EXPECT_EQ(set.sum(), SumType::complex_int32);
    EXPECT_EQ(set.visibility(), SumType::complex_float32);
    const SignalBlock block = read_block(reader, 1, 1, 3, 4);
    EXPECT_EQ(block.integrate, 3);
    EXPECT_EQ(block.sum, SumType::complex_int32);
    EXPECT_EQ(as<std::int8_t>(block.signal), counted<std::int8_t>(40, -128 + 70 + 30));
  }
  write_problems(path("p.h5"), [](RawHdf5& file) {
    file.dataset("/correlation/c/signal", samples, counted<std::uint8_t>(105, 150));
    file.attribute("/correlation/c", "packing", "int4", RawHdf5::Text::variable_utf8);
    file.attribute("/correlation/c", "integrate", std::vector<std::int64_t>{1000});
  });
  const ProblemReader reader(path("p.h5"));
  EXPECT_EQ(reader.correlation_sets().at(0).type, SampleType::complex_int4);
  EXPECT_EQ(reader.correlation_sets().at(0).integrate, times);
  EXPECT_EQ(as<std::uint8_t>(read_block(reader, 0, channels, 0, times).signal), counted<std::uint8_t>(105, 150));
}

TEST_F(CorrelationProblem, flags_are_bytes_or_booleans_and_minus_one_is_one) {
  std::vector<std::int8_t> flags(105, 0);
  flags[7] = flags[104] = 1;
  flags[50] = -1;
  const auto expect_flags = [&](hid_t stored, bool is_boolean) {
    write_problems(path("p.h5"), [&](RawHdf5& file) {
      file.dataset("/correlation/c/signal", samples_of_two, std::vector<std::int8_t>(210));
      const hid_t dataset = file.declare("/correlation/c/flag", samples, stored);
      H5Dwrite(dataset, is_boolean ? stored : H5T_NATIVE_INT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags.data());
    });
    const ProblemReader reader(path("p.h5"));
    EXPECT_TRUE(reader.correlation_sets().at(0).has_flags);
    const SignalBlock block = read_block(reader, 0, channels, 0, times);
    ASSERT_EQ(block.flag.size(), flags.size());
    for (std::size_t i = 0; i < flags.size(); ++i) EXPECT_EQ(block.flag[i] != 0, flags[i] != 0) << i;
    EXPECT_EQ(read_block(reader, 2, 1, 6, 1).flag[4], 1);
  };
  expect_flags(H5T_STD_I8LE, false);
  flags[50] = 1;
  expect_flags(testing::boolean_type(), true);
  expect_flags(H5T_STD_U8LE, false);
}

TEST_F(CorrelationProblem, what_is_known_of_channels_and_times_is_read) {
  write_problems(path("p.h5"), [](RawHdf5& file) {
    file.dataset("/correlation/c/signal", samples, all_samples());
    file.dataset("/correlation/c/frequency", {3}, std::vector<float>{1e8F, 2e8F, 4e8F});
    file.attribute("/correlation/c/frequency", "unit", "Hz");
    file.attribute("/correlation/c", "sample_time", std::vector<double>{1e-6});
    file.attribute("/correlation/c", "start_time", std::vector<double>{2460000.5});
  });
  const ProblemReader reader(path("p.h5"));
  EXPECT_TRUE(reader.warnings().empty());
  const CorrelationSet& set = reader.correlation_sets().at(0);
  EXPECT_EQ(set.frequency, (std::vector<double>{1e8, 2e8, 4e8}));
  EXPECT_EQ(set.sample_time, 1e-6);
  EXPECT_EQ(set.start_time, 2460000.5);
}

TEST_F(CorrelationProblem, nothing_to_correlate_is_no_mistake) {
  for (const Shape& shape : {Shape{0, 4, 2}, Shape{3, 0, 2}}) {
    write_problems(path("p.h5"),
                   [&](RawHdf5& file) { file.dataset("/correlation/c/signal", shape, std::vector<Complex>{}); });
    const ProblemReader reader(path("p.h5"));
    const CorrelationSet& set = reader.correlation_sets().at(0);
    EXPECT_EQ(set.batch, static_cast<std::int64_t>(shape[0]));
    EXPECT_EQ(set.integrations(), shape[1] == 0 ? 0 : 1);
    EXPECT_GE(set.integrate, 1);
    {
      ResultWriter writer(path("r.h5"), true);
      writer.add(set);
      writer.commit();
    }
    const ResultReader results(path("r.h5"));
    EXPECT_EQ(results.correlation_sets().at(0).integrations(), set.integrations());
    EXPECT_EQ(results.correlation_sets().at(0).batch, set.batch);
  }
}

CorrelationSet set_of(SampleType type) {
  CorrelationSet set;
  set.name = "c";
  set.type = type;
  set.batch = channels;
  set.times = times;
  set.inputs = inputs;
  set.integrate = 3;
  set.frequency = {1e9, 2e9, 3e9};
  set.sample_time = 0.25;
  set.start_time = 2451545;
  return set;
}

TEST_F(CorrelationProblem, what_the_writer_writes_is_what_was_given) {
  for (const SampleType type : {SampleType::complex_float32, SampleType::complex_int8, SampleType::complex_int4}) {
    CorrelationSet set = set_of(type);
    set.has_flags = set.is_mean = type != SampleType::complex_int8;
    std::vector<unsigned char> bytes;
    {
      ProblemWriter writer(path("p.h5"), true);
      writer.add(set);
      for (std::int64_t t = 0; t < times; t += 4) {
        SignalBlock block;
        block.type = type;
        block.channels = channels;
        block.first_time = t;
        block.times = std::min<std::int64_t>(4, times - t);
        block.inputs = inputs;
        block.resize_signal(set.has_flags);
        for (std::size_t i = 0; i < block.signal.size(); ++i) block.signal[i] = static_cast<std::byte>(t + i % 61);
        for (std::size_t i = 0; i < block.flag.size(); ++i) block.flag[i] = i % 3 == 0;
        writer.write(set, block);
      }
      writer.commit();
    }
    {
      const RawHdf5 raw(path("p.h5"), RawHdf5::Mode::read);
      EXPECT_EQ(raw.shape("/correlation/c/signal"), type == SampleType::complex_int8 ? samples_of_two : samples);
      if (type == SampleType::complex_float32) {
        EXPECT_EQ(raw.read<Complex>("/correlation/c/signal").size(), 105U);
      }
      EXPECT_EQ(raw.has("/correlation/c/flag"), set.has_flags);
    }
    const ProblemReader reader(path("p.h5"));
    const CorrelationSet& found = reader.correlation_sets().at(0);
    EXPECT_EQ(found.type, type);
    EXPECT_EQ(found.integrate, 3);
    EXPECT_EQ(found.is_mean, set.is_mean);
    EXPECT_EQ(found.has_flags, set.has_flags);
    EXPECT_EQ(found.frequency, set.frequency);
    EXPECT_EQ(found.sample_time, 0.25);
    EXPECT_EQ(found.start_time, 2451545);
    const SignalBlock last = read_block(reader, 0, channels, 4, 3);
    ASSERT_EQ(last.signal.size(), static_cast<std::size_t>(channels * 3 * inputs * bytes_of(type)));
    for (std::size_t i = 0; i < last.signal.size(); ++i) EXPECT_EQ(last.signal[i], static_cast<std::byte>(4 + i % 61));
    for (std::size_t i = 0; i < last.flag.size(); ++i) EXPECT_EQ(last.flag[i], i % 3 == 0);
  }
}

/// Writes visibilities and weights that count up through the set. Writes integrations 0 and 1 of all channels first,
/// then integration 2 of each channel.
template <class T>
void write_results(const std::string& path, const CorrelationSet& set) {
  ResultWriter writer(path, true);
  writer.add(set);
  const auto write = [&](std::int64_t first, std::int64_t count, std::int64_t first_time, std::int64_t time_count) {
    SignalBlock block;
    block.type = set.type;
    block.first = first;
    block.channels = count;
    block.first_time = first_time;
    block.times = time_count;
    block.inputs = set.inputs;
    block.integrate = set.integrate;
    block.sum = set.visibility();
    block.resize_sums();
    const std::int64_t before = first_time / set.integrate * set.batch + first;
    const auto values = counted<T>(2 * block.weight.size(), static_cast<double>(2 * before * set.baselines()));
    std::memcpy(block.visibility.data(), values.data(), block.visibility.size());
    for (std::size_t i = 0; i < block.weight.size(); ++i) {
      block.weight[i] = static_cast<std::int32_t>(before * set.baselines() + static_cast<std::int64_t>(i));
    }
    writer.write(set, block);
  };
  write(0, set.batch, 0, 6);
  for (std::int64_t c = 0; c < set.batch; ++c) write(c, 1, 6, 1);
  writer.write_info(set, 1, std::vector<std::int32_t>{-1});
  writer.write_summary("correlation", "c", {});
  writer.commit();
}

template <class T>
void expect_results(const std::string& path, const CorrelationSet& set, const char* type) {
  SCOPED_TRACE(type);
  write_results<T>(path, set);
  constexpr std::size_t sums = 3 * 3 * 15;
  const std::string group = "/correlation/c";
  {
    const RawHdf5 raw(path, RawHdf5::Mode::read);
    if constexpr (std::is_same_v<T, float>) {
      EXPECT_EQ(raw.shape(group + "/visibility"), (Shape{3, 3, 15}));
      const auto found = raw.read<Complex>(group + "/visibility");
      for (std::size_t i = 0; i < sums; ++i) {
        EXPECT_EQ(found[i], Complex(static_cast<float>(2 * i), static_cast<float>(2 * i + 1)));
      }
    } else {
      EXPECT_EQ(raw.shape(group + "/visibility"), (Shape{3, 3, 15, 2}));
      EXPECT_EQ(raw.read<T>(group + "/visibility"), counted<T>(2 * sums));
    }
    EXPECT_EQ(raw.shape(group + "/weight"), (Shape{3, 3, 15}));
    EXPECT_EQ(raw.read<std::int32_t>(group + "/weight"), counted<std::int32_t>(sums));
    EXPECT_EQ(raw.read<std::int32_t>(group + "/info"), (std::vector<std::int32_t>{0, -1, 0}));
    EXPECT_EQ(raw.read<double>(group + "/frequency"), set.frequency);
    EXPECT_EQ(raw.read_text(group + "/frequency", "unit"), "Hz");
    EXPECT_EQ(raw.read_text(group, "output"), set.is_mean ? "mean" : "sum");
    EXPECT_EQ(raw.read_text(group, "signal"), type);
    EXPECT_EQ(raw.read_attribute<std::int64_t>(group, "integrate"), (std::vector<std::int64_t>{set.integrate}));
    EXPECT_EQ(raw.read_attribute<std::int64_t>(group, "times"), (std::vector<std::int64_t>{set.times}));
    EXPECT_EQ(raw.read_attribute<std::int64_t>(group, "inputs"), (std::vector<std::int64_t>{5}));
  }
  const ResultReader reader(path);
  const CorrelationSet& found = reader.correlation_sets().at(0);
  EXPECT_EQ(found.type, set.type);
  EXPECT_EQ(found.batch, set.batch);
  EXPECT_EQ(found.times, set.times);
  EXPECT_EQ(found.is_mean, set.is_mean);
  EXPECT_EQ(found.visibility(), set.visibility());
  EXPECT_EQ(found.start_time, 2451545);
  EXPECT_EQ(found.sample_time, 0.25);
  SignalBlock block;
  block.first = 1;
  block.channels = 2;
  block.first_time = set.integrate;
  block.times = set.times - set.integrate;
  reader.read(found, block);
  EXPECT_EQ(block.sum, set.visibility());
  EXPECT_EQ(block.info, (std::vector<std::int32_t>{-1, 0}));
  std::vector<T> expected = counted<T>(2 * 30, 2 * 60);  // integration 1, channels 1 and 2
  const auto more = counted<T>(2 * 30, 2 * 105);         // integration 2
  expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_EQ(as<T>(block.visibility), expected);
  EXPECT_EQ(block.weight.at(30), 105);
  reader.check_verification("correlation", "c", channels);
}

TEST_F(CorrelationResults, come_back_in_the_type_that_holds_them) {
  expect_results<float>(path("r.h5"), set_of(SampleType::complex_float32), "float32");
  expect_results<std::int32_t>(path("r.h5"), set_of(SampleType::complex_int8), "int8");
  expect_results<std::int32_t>(path("r.h5"), set_of(SampleType::complex_int4), "int4");
  CorrelationSet mean = set_of(SampleType::complex_int8);
  mean.is_mean = true;
  expect_results<float>(path("r.h5"), mean, "int8");
}

TEST_F(CorrelationResults, long_integrations_of_integers_are_wide) {
  CorrelationSet set = set_of(SampleType::complex_int8);
  set.batch = set.inputs = 1;
  set.frequency.clear();
  set.times = set.integrate = 65'536;
  {
    ResultWriter writer(path("r.h5"), false);
    writer.add(set);
    SignalBlock block;
    block.type = set.type;
    block.channels = block.inputs = 1;
    block.times = block.integrate = set.times;
    block.sum = SumType::complex_int32;
    expect_error(ErrorKind::usage, {"\"c\"", "int64", "int32"}, [&] { writer.write(set, block); });
    block.sum = set.visibility();
    block.resize_sums();
    const std::vector<std::int64_t> sum{std::int64_t{1} << 31, -5};
    std::memcpy(block.visibility.data(), sum.data(), 16);
    writer.write(set, block);
    writer.commit();
  }
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read<std::int64_t>("/correlation/c/visibility"),
            (std::vector<std::int64_t>{std::int64_t{1} << 31, -5}));
}

TEST_F(CorrelationResults, shares_are_channels_in_their_places) {
  CorrelationSet set = set_of(SampleType::complex_float32);
  write_problems(path("p.h5"), [](RawHdf5& file) {
    file.dataset("/correlation/c/signal", samples, all_samples());
    file.dataset("/correlation/c/frequency", {3}, std::vector<double>{1e9, 2e9, 3e9});
    file.attribute("/correlation/c", "integrate", std::vector<std::int32_t>{7});
  });
  set.integrate = 7;
  ResultWriter writer(path("r.h5"), false);
  writer.add(set);
  for (int index = 0; index < 2; ++index) {
    ProblemReader reader(path("p.h5"));
    reader.take({index, 2});
    const CorrelationSet& part = reader.correlation_sets().at(0);
    ASSERT_EQ(part.batch, index == 0 ? 1 : 2);
    EXPECT_EQ(part.frequency.back(), index == 0 ? 1e9 : 3e9);
    SignalBlock block = read_block(reader, 0, part.batch, 0, times);
    EXPECT_EQ(as<Complex>(block.signal).front(), sample(index, 0, 0));
    writer.begin_at(part, reader.start(part));
    block.resize_sums();
    for (std::size_t i = 0; i < block.weight.size(); ++i) block.weight[i] = index;
    writer.write(part, block);
    writer.write_info(part, 0, std::vector<std::int32_t>(static_cast<std::size_t>(part.batch), -index));
    writer.write_verdicts("correlation", "c", 0, std::vector(block.info.size(), Verdict::agreed),
                          std::vector(block.info.size(), 0.5F));
  }
  writer.commit();
  const RawHdf5 raw(path("r.h5"), RawHdf5::Mode::read);
  EXPECT_EQ(raw.read<std::int32_t>("/correlation/c/info"), (std::vector<std::int32_t>{0, -1, -1}));
  EXPECT_EQ(raw.read<std::int8_t>("/verification/correlation/c/verdict"), (std::vector<std::int8_t>{1, 1, 1}));
  const auto weights = raw.read<std::int32_t>("/correlation/c/weight");
  EXPECT_EQ(weights.at(14), 0);
  EXPECT_EQ(weights.at(15), 1);
}

TEST_F(CorrelationResults, damaged_ones_name_the_dataset) {
  const std::string group = "/correlation/c";
  const auto expect = [&](const std::function<void(RawHdf5&)>& change, const std::vector<std::string>& says) {
    write_results<std::int32_t>(path("r.h5"), set_of(SampleType::complex_int8));
    {
      RawHdf5 file(path("r.h5"), RawHdf5::Mode::change);
      change(file);
    }
    expect_error(ErrorKind::bad_input, says, [&] { ResultReader{path("r.h5")}; });
  };
  const auto other = [&](const std::string& name, const Shape& shape, const auto& values) {
    return [=](RawHdf5& file) {
      file.remove(group + name);
      file.dataset(group + name, shape, values);
    };
  };
  const auto count = [&](const char* name, std::int64_t value) {
    return [=](RawHdf5& file) { file.attribute(group, name, std::vector<std::int64_t>{value}); };
  };
  expect([&](RawHdf5& file) { file.remove(group + "/visibility"); }, {"r.h5", group, "\"visibility\""});
  expect(other("/visibility", {3, 3, 15, 2}, counted<std::int64_t>(270)), {group + "/visibility", "int32", "int64"});
  expect(other("/visibility", {3, 3, 15}, std::vector<Complex>(135)), {group + "/visibility", "int32", "compound"});
  expect(other("/visibility", {3, 3, 14, 2}, counted<std::int32_t>(252)), {group + "/visibility", "(3, 3, 15, 2)"});
  expect(other("/weight", {3, 3, 14}, counted<std::int32_t>(126)), {group + "/weight", "(3, 3, 15)", "(3, 3, 14)"});
  expect(other("/weight", {9, 15}, counted<std::int32_t>(135)), {group + "/weight", "(9, 15)"});
  expect(other("/info", {4}, counted<std::int32_t>(4)), {group + "/frequency", "(4)", "(3)"});
  expect(other("/frequency", {4}, counted<double>(4)), {group + "/frequency", "(3)", "(4)"});
  expect(count("inputs", 4), {group + "/weight", "(3, 3, 10)"});
  expect(count("inputs", 4097), {group + "@inputs", "1 to 4096", "4097"});
  expect(count("times", -1), {group + "@times", "-1"});
  expect(count("integrate", 8), {group + "@integrate", "1 to 7", "8"});
  expect(count("integrate", 4), {group + "/weight", "(2, 3, 15)"});
  expect([&](RawHdf5& file) { file.attribute(group, "signal", "int16"); }, {group + "@signal", "\"int16\""});
  expect([&](RawHdf5& file) { file.attribute(group, "output", "mean"); }, {group + "/visibility", "compound", "int32"});
}

}  // namespace
}  // namespace smallbatch
