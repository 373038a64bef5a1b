// Pictures of |V|: their cells, colours, words and numbers, as they are read from the file.
#include "io/picture/visibility_picture.hpp"
#include "core/not_finite.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "tests/io/picture_reader.hpp"

namespace smallbatch::testing {
namespace {

constexpr Pixel grey_pixel{128, 128, 128};

/// OKLab's lightness (Ottosson 2020) of an sRGB colour.
double lightness(const Pixel& pixel) {
  std::array<double, 3> linear{};
  for (std::size_t k = 0; k < 3; ++k) {
    const double c = pixel[k] / 255.0;
    linear[k] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  const auto& [r, g, b] = linear;
  return 0.2104542553 * std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) +
         0.7936177850 * std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) -
         0.0040720468 * std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
}

class VisibilityPicture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("smallbatch_picture_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return (folder_ / "a.png").string(); }

  /// Draws value(baseline, channel) and reads the picture.
  Reading draw(std::int64_t baselines, std::int64_t channels,
               const std::function<double(std::int64_t, std::int64_t)>& value,
               const std::vector<double>& frequency = {}) {
    MagnitudeMap map(baselines, channels);
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t b = 0; b < baselines; ++b) map.add(b, c, value(b, c));
    colours_ = write_visibility_picture(file(), map, frequency, "a title", true);
    return read(file());
  }

  std::filesystem::path folder_;
  VisibilityColours colours_;
};

/// Expects numbers in equal steps, each in the middle of its cell. The cells of values `first` to `last` divide the
/// axis from pixel `begin` to pixel `end`.
void expect_cells(const std::vector<Reading::Number>& numbers, double first, double last, double begin, double end) {
  const double cells = last - first + 1;
  for (const auto& [value, place] : numbers) {
    EXPECT_NEAR(static_cast<double>(place), begin + (value - first + 0.5) / cells * (end - begin), 1.6) << value;
    EXPECT_GE(value, first);
    EXPECT_LE(value, last);
  }
  for (std::size_t k = 2; k < numbers.size(); ++k)
    EXPECT_NEAR(numbers[k].value - numbers[k - 1].value, numbers[1].value - numbers[0].value, 1e-9 * numbers[k].value);
}

TEST_F(VisibilityPicture, cells_have_their_colours_with_channels_upwards) {
  const Reading reading = draw(6, 4, [](std::int64_t b, std::int64_t c) {
    return b == 0 ? nan : b == 1 && c == 3 ? infinity : static_cast<double>(b + 6 * c);
  });
  EXPECT_FALSE(colours_.is_logarithmic);
  EXPECT_EQ(colours_.lowest, 0);
  EXPECT_EQ(colours_.highest, 23);
  EXPECT_GE(reading.map.width(), 768);
  EXPECT_GE(reading.map.height(), 512);
  for (std::int64_t c = 0; c < 4; ++c) {
    EXPECT_EQ(reading.cell(0, 6, c, 4), grey_pixel);
    for (std::int64_t b = 1; b < 6; ++b) {
      if (b == 1 && c == 3) continue;
      EXPECT_NEAR(lightness(reading.cell(b, 6, c, 4)), 0.97 - 0.72 * static_cast<double>(b + 6 * c) / 23, 0.01);
    }
  }
  EXPECT_EQ(reading.cell(1, 6, 3, 4), reading.cell(5, 6, 3, 4));
  // All pixels of a cell are equal, up to its borders.
  for (std::int64_t y = reading.map.top; y < reading.map.bottom; ++y) {
    for (std::int64_t x = reading.map.left; x < reading.map.right; ++x) {
      const std::int64_t b = (x - reading.map.left) / 128, c = (reading.map.bottom - 1 - y) / 128;
      ASSERT_EQ(reading.picture.at(x, y), reading.cell(b, 6, c, 4)) << x << " " << y;
    }
  }
}

TEST_F(VisibilityPicture, lightness_falls_in_equal_steps) {
  const Reading reading = draw(4, 4, [](std::int64_t b, std::int64_t) { return static_cast<double>(b); });
  const Box& bar = reading.bar;
  for (std::int64_t y = bar.top; y < bar.bottom; ++y) {
    const double place = static_cast<double>(bar.bottom - 1 - y) / static_cast<double>(bar.height() - 1);
    EXPECT_NEAR(lightness(reading.picture.at(bar.left + 5, y)), 0.97 - 0.72 * place, 0.01);
  }
}

TEST_F(VisibilityPicture, axes_have_round_numbers_where_they_belong) {
  for (const auto& [baselines, channels] : {std::pair{528, 64}, {1, 1}, {3, 2}, {2561, 1}, {1, 5000}, {136, 101}}) {
    SCOPED_TRACE(baselines);
    const Reading reading =
        draw(baselines, channels, [](auto b, auto c) { return 1.0 + static_cast<double>((b + c) % 7); });
    const Box& map = reading.map;
    expect_cells(reading.baselines, 0, baselines - 1, static_cast<double>(map.left), static_cast<double>(map.right));
    expect_cells(reading.channels, 0, channels - 1, static_cast<double>(map.bottom), static_cast<double>(map.top));
    EXPECT_GE(reading.baselines.size(), std::min<std::size_t>(3, static_cast<std::size_t>(baselines)));
    EXPECT_EQ(reading.title, "a title");
    EXPECT_EQ(reading.baseline_title, "baseline");
    EXPECT_EQ(reading.titles, "channel |V|");
  }
}

TEST_F(VisibilityPicture, eight_million_baselines_have_numbers_that_do_not_overlap) {
  const Reading reading = draw(4096 * 4097 / 2, 1, [](auto, auto) { return 1.0; });
  EXPECT_GE(reading.baselines.size(), 4U);
  EXPECT_EQ(reading.baselines.back().value, 8000000);
}

TEST_F(VisibilityPicture, frequencies_in_equal_steps_are_shown_in_megahertz) {
  const auto value = [](auto b, auto c) { return 1.0 + static_cast<double>((b + c) % 7); };
  for (const double step : {1e5, -1e5, 24.0}) {
    SCOPED_TRACE(step);
    std::vector<double> frequency;
    for (int c = 0; c < 50; ++c) frequency.push_back(1420405751.768 + c * step);
    const Reading reading = draw(10, 50, value, frequency);
    EXPECT_EQ(reading.titles, "frequency (MHz) |V|");
    EXPECT_GE(reading.channels.size(), 4U);
    for (const auto& [megahertz, place] : reading.channels) {
      const double channel = (megahertz * 1e6 - frequency[0]) / step;
      const auto height = static_cast<double>(reading.map.height());
      EXPECT_NEAR(static_cast<double>(place), static_cast<double>(reading.map.bottom) - (channel + 0.5) / 50 * height,
                  2.6);
    }
  }
  const Reading one = draw(10, 1, value, {1.5e8});
  ASSERT_EQ(one.channels.size(), 1U);
  EXPECT_EQ(one.channels[0].value, 150);
  EXPECT_NEAR(static_cast<double>(one.channels[0].place), static_cast<double>(one.map.top + one.map.bottom) / 2, 2);
  for (const std::vector<double>& uneven : {std::vector<double>{1e8, 2e8, 8e8}, {1e8, 1e8, 1e8}, {1e8, nan, 3e8}}) {
    const Reading reading = draw(10, 3, value, uneven);
    EXPECT_EQ(reading.titles, "channel |V|");
    EXPECT_EQ(reading.channels.size(), 3U);
  }
}

TEST_F(VisibilityPicture, many_cells_are_averaged) {
  // Two baselines share a column of pixels. 5000 channels share 2560 rows.
  const Reading reading = draw(5120, 5000, [](std::int64_t b, std::int64_t) {
    return b >= 5118 ? 4.0 : b >= 5116 ? nan : b == 5114 ? nan : b == 5115 ? 3.0 : b % 2 == 0 ? 0.0 : 2.0;
  });
  EXPECT_EQ(colours_.highest, 4);
  ASSERT_EQ(reading.map.width(), 2560);
  ASSERT_EQ(reading.map.height(), 2560);
  for (const std::int64_t row : {0, 1000, 2559}) {
    for (const std::int64_t column : {0, 1, 1024, 2556})
      EXPECT_NEAR(lightness(reading.cell(column, 2560, row, 2560)), 0.97 - 0.72 / 4, 0.01);
    EXPECT_NEAR(lightness(reading.cell(2557, 2560, row, 2560)), 0.97 - 0.72 * 3 / 4, 0.01);
    EXPECT_EQ(reading.cell(2558, 2560, row, 2560), grey_pixel);
    EXPECT_NEAR(lightness(reading.cell(2559, 2560, row, 2560)), 0.25, 0.01);
  }
}

TEST_F(VisibilityPicture, bar_has_the_numbers_of_its_colours) {
  for (const double unit : {1e-30, 0.003, 1.0, 7.7, 1e9}) {
    SCOPED_TRACE(unit);
    const Reading reading = draw(10, 10, [&](auto b, auto c) { return unit * static_cast<double>(b + c); });
    EXPECT_EQ(text_chunks(file())["Scale"], "linear");
    EXPECT_EQ(std::stod(text_chunks(file())["Highest colour"]), 18 * unit);
    EXPECT_GE(reading.bar_numbers.size(), 4U);
    for (const auto& [value, place] : reading.bar_numbers) {
      const double expected = 0.97 - 0.72 * value / (18 * unit);
      EXPECT_NEAR(lightness(reading.picture.at(reading.bar.left + 5, std::min(place, reading.bar.bottom - 1))),
                  expected, 0.012);
    }
  }
}

TEST_F(VisibilityPicture, scale_is_logarithmic_where_most_is_small) {
  // One value in ten is 1; the others are up to `range` times smaller.
  for (const double range : {30.0, 1e4, 1e12}) {
    SCOPED_TRACE(range);
    const auto value = [&](std::int64_t b, std::int64_t c) {
      return b == 0 ? 1 : 1 / range * (1 + static_cast<double>(c) / 20);
    };
    const Reading reading = draw(10, 10, value);
    EXPECT_TRUE(colours_.is_logarithmic);
    EXPECT_EQ(reading.titles, "channel |V|, logarithmic");
    EXPECT_EQ(text_chunks(file())["Scale"], "logarithmic");
    EXPECT_EQ(colours_.highest, 1);
    EXPECT_EQ(colours_.lowest, std::max(1 / range, 1e-6));
    const auto expected = [&](double v) {
      return 0.97 - 0.72 * std::clamp(1 - std::log(v) / std::log(colours_.lowest), 0.0, 1.0);
    };
    for (std::int64_t c = 0; c < 10; ++c)
      for (const std::int64_t b : {0, 1, 9})
        EXPECT_NEAR(lightness(reading.cell(b, 10, c, 10)), expected(value(b, c)), 0.012);
    EXPECT_GE(reading.bar_numbers.size(), 4U);
    for (const auto& [v, place] : reading.bar_numbers)
      EXPECT_NEAR(lightness(reading.picture.at(reading.bar.left + 5, std::min(place, reading.bar.bottom - 1))),
                  expected(v), 0.012);
  }
  draw(10, 10, [](std::int64_t b, std::int64_t) { return b == 0 ? 1 : 1 / 19.0; });
  EXPECT_FALSE(colours_.is_logarithmic);
  draw(10, 10, [](std::int64_t b, std::int64_t) { return b == 0 ? 1 : 0; });
  EXPECT_TRUE(colours_.is_logarithmic);
  EXPECT_EQ(colours_.lowest, 1e-6);
}

TEST_F(VisibilityPicture, nothing_and_zeros_are_drawn_too) {
  const Reading none = draw(3, 3, [](auto, auto) { return nan; });
  EXPECT_EQ(none.cell(1, 3, 1, 3), grey_pixel);
  const Reading zeros = draw(3, 3, [](auto, auto) { return 0.0; });
  EXPECT_NEAR(lightness(zeros.cell(1, 3, 1, 3)), 0.97, 0.01);
  ASSERT_EQ(zeros.bar_numbers.size(), 1U);
  EXPECT_EQ(zeros.bar_numbers[0].value, 0);
  const Reading infinite = draw(3, 3, [](auto, auto) { return infinity; });
  EXPECT_NEAR(lightness(infinite.cell(1, 3, 1, 3)), 0.25, 0.01);
}

}  // namespace
}  // namespace smallbatch::testing
