// Exported maps are read back. Small parsers here follow the formats' descriptions, and libpng reads the pictures. One
// file, because all formats export the same maps.
#include "io/interchange/lattice_export.hpp"
#include "core/not_finite.hpp"
#include "io/interchange/export_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <locale>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "tests/io/picture_reader.hpp"

namespace smallbatch::testing {
namespace {

/// A map with the value 100 x + 10 y + z + 1/3 at point (x, y, z), so each value shows its place.
struct Example {
  explicit Example(LatticeShape shape = {2, 3, 5}) {
    for (std::int64_t z = 0; z < shape.nz; ++z)
      for (std::int64_t y = 0; y < shape.ny; ++y)
        for (std::int64_t x = 0; x < shape.nx; ++x)
          values.push_back(100.0 * static_cast<double>(x) + 10.0 * static_cast<double>(y) + static_cast<double>(z) +
                           1.0 / 3);
    map.shape = shape;
    map.origin = {-1.5, 2.25, 1000.125};
    map.spacing = {0.5, 0.25, 0.125};
    map.title = "V of set 'water', problem 0, in volt";
    map.values = values;
  }
  double& at(std::int64_t x, std::int64_t y, std::int64_t z) {
    return values[static_cast<std::size_t>((z * map.shape.ny + y) * map.shape.nx + x)];
  }
  std::vector<double> values;
  LatticeMap map;
};

class LatticeExport : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("smallbatch_export_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] bool folder_is_empty() const { return std::filesystem::is_empty(folder_); }

  std::filesystem::path folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<double> numbers_in(const std::string& line) {
  std::istringstream stream(line);
  stream.imbue(std::locale::classic());
  std::vector<double> numbers;
  for (double value; stream >> value;) numbers.push_back(value);
  return numbers;
}

void expect_error(ErrorKind kind, const std::string& words, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

// OpenDX

TEST_F(LatticeExport, opendx_is_what_apbs_writes) {
  const Example example;
  EXPECT_EQ(write_opendx(file("a.dx"), example.map, false), 0);
  const auto lines = lines_of(contents(file("a.dx")));
  std::size_t i = 0;
  bool title = false;
  while (lines.at(i).starts_with("#")) title |= lines[i++].find(example.map.title) != std::string::npos;
  EXPECT_TRUE(title);
  EXPECT_EQ(lines.at(i++), "object 1 class gridpositions counts 2 3 5");
  const auto expect_triple = [&](const std::string& word, const std::vector<double>& numbers) {
    const std::string& line = lines.at(i++);
    EXPECT_TRUE(line.starts_with(word + " ")) << line;
    EXPECT_EQ(numbers_in(line.substr(word.size())), numbers) << line;
  };
  expect_triple("origin", {-1.5, 2.25, 1000.125});
  expect_triple("delta", {0.5, 0, 0});
  expect_triple("delta", {0, 0.25, 0});
  expect_triple("delta", {0, 0, 0.125});
  EXPECT_EQ(lines.at(i++), "object 2 class gridconnections counts 2 3 5");
  EXPECT_EQ(lines.at(i++), "object 3 class array type double rank 0 items 30 data follows");
  std::vector<double> values;
  for (int line = 0; line < 10; ++line) {
    const auto three = numbers_in(lines.at(i++));
    EXPECT_EQ(three.size(), 3U);
    values.insert(values.end(), three.begin(), three.end());
  }
  ASSERT_EQ(values.size(), 30U);
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 3; ++y)
      for (int z = 0; z < 5; ++z)
        EXPECT_NEAR(values[static_cast<std::size_t>((x * 3 + y) * 5 + z)], 100 * x + 10 * y + z + 1.0 / 3, 1e-6);
  EXPECT_EQ(lines.at(i++), "attribute \"dep\" string \"positions\"");
  EXPECT_EQ(lines.at(i++), "object \"regular positions regular connections\" class field");
  EXPECT_EQ(lines.at(i++), "component \"positions\" value 1");
  EXPECT_EQ(lines.at(i++), "component \"connections\" value 2");
  EXPECT_EQ(lines.at(i++), "component \"data\" value 3");
  EXPECT_EQ(i, lines.size());
}

TEST_F(LatticeExport, opendx_ends_a_line_that_is_not_full) {
  const Example example(LatticeShape{2, 1, 2});
  write_opendx(file("a.dx"), example.map, false);
  const std::string text = contents(file("a.dx"));
  const auto lines = lines_of(text.substr(text.find("follows\n") + 8));
  EXPECT_EQ(numbers_in(lines.at(0)).size(), 3U);
  EXPECT_EQ(numbers_in(lines.at(1)).size(), 1U);
  EXPECT_EQ(lines.at(2), "attribute \"dep\" string \"positions\"");
}

TEST_F(LatticeExport, opendx_gives_single_precision_back_exactly) {
  Example example(LatticeShape{1, 1, 400});
  float value = 1.0F / 3;
  for (double& v : example.values) v = value = std::nextafter(-1.07F * value, 0.0F);
  write_opendx(file("a.dx"), example.map, false);
  const std::string text = contents(file("a.dx"));
  const auto values = numbers_in(text.substr(text.find("follows\n") + 8));
  ASSERT_EQ(values.size(), 400U);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_EQ(static_cast<float>(values[i]), static_cast<float>(example.values[i]));
}

TEST_F(LatticeExport, opendx_comments_fit_the_84_characters_of_old_readers) {
  Example example;
  example.map.title = std::string(300, 'x') + "\nobject 1\r\tfake \xc3\x85 in volt";
  write_opendx(file("a.dx"), example.map, false);
  std::string joined;
  for (const std::string& line : lines_of(contents(file("a.dx")))) {
    EXPECT_LE(line.size(), 84U);
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~');
    if (line.starts_with("# ")) joined += line.substr(2);
  }
  EXPECT_NE(joined.find(std::string(300, 'x') + " object 1  fake A in volt"), std::string::npos) << joined;
}

TEST_F(LatticeExport, values_that_readers_cannot_take_are_limited_and_counted) {
  Example example(LatticeShape{1, 2, 5});
  example.values = {infinity, -infinity, 1e200, -1e31, 1e30, 1e-120, -5e-324, 1e-98, -0.0, 7};
  example.map.values = example.values;
  // The map alternates between its two values of y, and both files have all z of one y first.
  const std::vector<double> expected{1e30, 1e30, 1e30, 0, 0, -1e30, -1e30, 0, 1e-98, 7};
  EXPECT_EQ(write_opendx(file("a.dx"), example.map, false), 4);
  EXPECT_EQ(write_cube(file("a.cube"), example.map, {}, {}, {}, false), 4);
  std::string text = contents(file("a.dx"));
  EXPECT_EQ(numbers_in(text.substr(text.find("follows\n") + 8)), expected);
  text = contents(file("a.cube"));
  std::size_t begin = 0;
  for (int line = 0; line < 6; ++line) begin = text.find('\n', begin) + 1;
  EXPECT_EQ(numbers_in(text.substr(begin)), expected);
  EXPECT_EQ(text.find("e-1"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST_F(LatticeExport, a_nan_is_refused_by_the_text_formats_with_its_place) {
  Example example;
  example.at(1, 2, 4) = nan;
  expect_error(ErrorKind::bad_input, "V is NaN at point (1, 2, 4)",
               [&] { write_opendx(file("a.dx"), example.map, false); });
  expect_error(ErrorKind::bad_input, "V is NaN at point (1, 2, 4)",
               [&] { write_cube(file("a.cube"), example.map, {}, {}, {}, false); });
  EXPECT_TRUE(folder_is_empty());
}

struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST_F(LatticeExport, numbers_do_not_depend_on_the_locale) {
  const Example example;
  write_opendx(file("a.dx"), example.map, false);
  write_cube(file("a.cube"), example.map, {}, {}, {}, false);
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimals));
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
  }
  write_opendx(file("b.dx"), example.map, false);
  write_cube(file("b.cube"), example.map, {}, {}, {}, false);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(contents(file("a.dx")), contents(file("b.dx")));
  EXPECT_EQ(contents(file("a.cube")), contents(file("b.cube")));
}

// cube

TEST_F(LatticeExport, cube_is_in_bohr_with_the_charges_as_atoms) {
  Example example(LatticeShape{2, 3, 8});
  const double bohr = 0.529177210903;  // CODATA 2018
  const std::vector<double> position{-0.5, 1.25, 100.0, 0, 0, -2000.75}, charge{-0.834, 0.417};
  const std::vector<std::int8_t> atomic_number{8, 0};
  EXPECT_EQ(write_cube(file("a.cube"), example.map, position, charge, atomic_number, false), 0);
  const auto lines = lines_of(contents(file("a.cube")));
  EXPECT_EQ(lines.at(0), example.map.title);
  EXPECT_NE(lines.at(1).find("bohr"), std::string::npos);
  const auto expect_numbers = [&](std::size_t line, const std::vector<double>& expected) {
    const auto found = numbers_in(lines.at(line));
    ASSERT_EQ(found.size(), expected.size()) << lines[line];
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 6e-7) << lines[line];
  };
  expect_numbers(2, {2, -1.5 / bohr, 2.25 / bohr, 1000.125 / bohr});
  expect_numbers(3, {2, 0.5 / bohr, 0, 0});
  expect_numbers(4, {3, 0, 0.25 / bohr, 0});
  expect_numbers(5, {8, 0, 0, 0.125 / bohr});
  expect_numbers(6, {8, -0.834, -0.5 / bohr, 1.25 / bohr, 100 / bohr});
  expect_numbers(7, {0, 0.417, 0, 0, -2000.75 / bohr});
  ASSERT_EQ(lines.size(), 8U + 2 * 6);  // eight values along z give a line of six and a line of two for each (x,y)
  for (std::size_t row = 0; row < 6; ++row) {
    const auto six = numbers_in(lines[8 + 2 * row]), two = numbers_in(lines[9 + 2 * row]);
    ASSERT_EQ(six.size(), 6U);
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(lines[8 + 2 * row].size(), 6U * 13);
    for (std::size_t z = 0; z < 8; ++z) {
      const double expected =
          100.0 * static_cast<double>(row / 3) + 10.0 * static_cast<double>(row % 3) + static_cast<double>(z) + 1.0 / 3;
      EXPECT_NEAR(z < 6 ? six[z] : two[z - 6], expected, 5e-6 * expected);
    }
  }
}

TEST_F(LatticeExport, cube_rows_of_six_leave_no_empty_lines) {
  const Example example(LatticeShape{2, 2, 6});
  write_cube(file("a.cube"), example.map, {}, {}, {}, false);
  EXPECT_EQ(lines_of(contents(file("a.cube"))).size(), 6U + 4);
}

TEST_F(LatticeExport, cube_title_is_one_line) {
  Example example;
  example.map.title = "two\nlines";
  write_cube(file("a.cube"), example.map, {}, {}, {}, false);
  EXPECT_EQ(lines_of(contents(file("a.cube"))).at(0), "two lines");
  EXPECT_EQ(numbers_in(lines_of(contents(file("a.cube"))).at(2)).at(0), 0);  // no atoms
}

// pictures

constexpr Pixel white{255, 255, 255};

bool is_grey(const Pixel& p) { return p[0] == p[1] && p[1] == p[2] && p[0] > 64 && p[0] < 192; }
bool is_red(const Pixel& p) { return p[0] > p[1] + 50 && p[0] > p[2] + 50; }
bool is_blue(const Pixel& p) { return p[2] > p[0] + 50 && p[2] > p[1] + 25; }
int lightness(const Pixel& p) { return 2 * p[0] + 5 * p[1] + p[2]; }

/// Map of 8 x 4 points in z = 0. All values are zero except those that a test sets.
struct Sheet : Example {
  Sheet() : Example(LatticeShape{8, 4, 1}) {
    std::fill(values.begin(), values.end(), 0.0);
    map.spacing = {1, 1, 1};
  }
  /// Returns the pixel in the middle of a point's block of 64 x 64.
  static Pixel pixel(const Picture& picture, std::int64_t x, std::int64_t y) {
    return picture.at(64 * x + 32, 64 * (3 - y) + 32);
  }
};

TEST_F(LatticeExport, slice_shows_every_point_as_a_block_with_y_upwards) {
  Sheet sheet;
  sheet.at(0, 0, 0) = 2;   // lower left
  sheet.at(7, 3, 0) = -2;  // upper right
  sheet.at(7, 0, 0) = nan;
  sheet.at(0, 3, 0) = infinity;
  sheet.at(1, 3, 0) = -infinity;
  const SlicePicture result = write_png_slice(file("a.png"), sheet.map, 2, 0, false);
  EXPECT_EQ(result.lowest, -2);
  EXPECT_EQ(result.highest, 2);
  EXPECT_EQ(result.colour_limit, 2);
  const Picture picture = read_map(file("a.png"));
  EXPECT_EQ(picture.width, 512);
  EXPECT_EQ(picture.height, 4 * 64);
  EXPECT_TRUE(is_blue(Sheet::pixel(picture, 0, 0)));
  EXPECT_TRUE(is_red(Sheet::pixel(picture, 7, 3)));
  EXPECT_TRUE(is_grey(Sheet::pixel(picture, 7, 0)));
  EXPECT_EQ(Sheet::pixel(picture, 0, 3), Sheet::pixel(picture, 0, 0));
  EXPECT_EQ(Sheet::pixel(picture, 1, 3), Sheet::pixel(picture, 7, 3));
  EXPECT_EQ(Sheet::pixel(picture, 3, 2), white);
  // All pixels of a block are equal, up to its borders.
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < 512; ++x) {
      ASSERT_EQ(picture.at(x, y), Sheet::pixel(picture, x / 64, 3 - y / 64)) << x << " " << y;
    }
  }
}

TEST_F(LatticeExport, slice_colours_deepen_evenly_and_alike_for_both_signs) {
  Sheet sheet;
  for (int x = 0; x < 8; ++x) {
    sheet.at(x, 0, 0) = x / 7.0;
    sheet.at(x, 1, 0) = -x / 7.0;
  }
  write_png_slice(file("a.png"), sheet.map, 2, 0, false);
  const Picture picture = read_map(file("a.png"));
  EXPECT_EQ(Sheet::pixel(picture, 0, 0), white);
  EXPECT_EQ(Sheet::pixel(picture, 0, 1), white);
  for (int x = 1; x < 8; ++x) {
    EXPECT_LT(lightness(Sheet::pixel(picture, x, 0)), lightness(Sheet::pixel(picture, x - 1, 0)) - 50);
    EXPECT_LT(lightness(Sheet::pixel(picture, x, 1)), lightness(Sheet::pixel(picture, x - 1, 1)) - 50);
  }
  for (int x = 3; x < 8; ++x) {
    EXPECT_TRUE(is_blue(Sheet::pixel(picture, x, 0))) << x;
    EXPECT_TRUE(is_red(Sheet::pixel(picture, x, 1))) << x;
  }
}

/// Map of 16 x 16 x 4 points. Its slices across z are 512 pixels high.
struct Block : Example {
  Block() : Example(LatticeShape{16, 16, 4}) {
    std::fill(values.begin(), values.end(), 0.0);
    map.spacing = {0.5, 0.5, 0.125};
    map.title = "problem 3";
    map.unit = "kT/e";
  }
};

/// True if a text is written upwards between these columns, pixel for pixel.
bool stands_upwards(const Picture& picture, const std::string& text, std::int64_t left, std::int64_t right) {
  Image expected(text_height, text_width(text));
  expected.write_upwards(0, expected.height(), text);
  const auto stands_at = [&](std::int64_t x, std::int64_t y) {
    for (std::int64_t row = 0; row < expected.height(); ++row)
      for (std::int64_t column = 0; column < expected.width(); ++column)
        if ((expected.row(row)[3 * column] == ink.red) != is_ink(picture, x + column, y + row)) return false;
    return true;
  };
  for (std::int64_t y = 0; y + expected.height() <= picture.height; ++y)
    for (std::int64_t x = left; x + expected.width() <= right; ++x)
      if (stands_at(x, y)) return true;
  return false;
}

TEST_F(LatticeExport, slice_has_a_colour_bar_from_red_to_blue) {
  Block block;
  block.at(0, 0, 0) = 5;
  block.at(1, 0, 0) = -5;
  write_png_slice(file("a.png"), block.map, 2, 0, false);
  const Reading reading = read(file("a.png"));
  const Picture map = read_map(file("a.png"));
  const std::int64_t bar = reading.bar.left + 13;
  EXPECT_EQ(reading.bar.top, reading.map.top);
  EXPECT_EQ(reading.bar.bottom, reading.map.bottom);
  EXPECT_EQ(reading.picture.at(bar, reading.bar.top), map.at(5, 507));
  EXPECT_EQ(reading.picture.at(bar, reading.bar.bottom - 1), map.at(40, 507));
  int whitest = 0;
  std::int64_t middle = 0;
  for (std::int64_t y = reading.bar.top; y < reading.bar.bottom; ++y) {
    if (lightness(reading.picture.at(bar, y)) > whitest) {
      whitest = lightness(reading.picture.at(bar, y));
      middle = y;
    }
  }
  EXPECT_NEAR(static_cast<double>(middle), static_cast<double>(reading.bar.top + reading.bar.bottom) / 2, 2);
  EXPECT_GT(whitest, 8 * 250);
}

TEST_F(LatticeExport, slice_has_numbers_beside_its_colour_bar) {
  Block block;
  for (const double value : {-5.0, 1.23456789, 4e-7, 123456.0}) {
    SCOPED_TRACE(value);
    block.at(0, 0, 0) = value;
    write_png_slice(file("a.png"), block.map, 2, 0, true);
    const Reading reading = read(file("a.png"));
    EXPECT_GE(reading.bar_numbers.size(), 4U);
    for (const auto& [number, place] : reading.bar_numbers) {
      const double from_below =
          static_cast<double>(reading.bar.bottom - place) / static_cast<double>(reading.bar.height());
      EXPECT_NEAR(number, std::abs(value) * (2 * from_below - 1), 0.01 * std::abs(value));
    }
  }
  block.at(0, 0, 0) = 0;
  write_png_slice(file("a.png"), block.map, 2, 0, true);
  const Reading reading = read(file("a.png"));
  ASSERT_EQ(reading.bar_numbers.size(), 1U);
  EXPECT_EQ(reading.bar_numbers[0].value, 0);
  EXPECT_NEAR(static_cast<double>(reading.bar_numbers[0].place),
              static_cast<double>(reading.bar.top + reading.bar.bottom) / 2, 2);
}

TEST_F(LatticeExport, slice_axes_are_in_angstrom_and_say_so) {
  Block block;
  block.map.origin = {-1.5, 2.25, 100.125};
  block.at(3, 3, 2) = 1;
  write_png_slice(file("a.png"), block.map, 2, 2, false);
  const Reading reading = read(file("a.png"));
  EXPECT_EQ(reading.title, "problem 3, z = 100.375 angstrom");
  EXPECT_EQ(reading.baseline_title, "x (angstrom)");
  EXPECT_TRUE(stands_upwards(read_png(file("a.png")), "y (angstrom)", 0, reading.map.left));
  EXPECT_TRUE(stands_upwards(read_png(file("a.png")), "V (kT/e)", reading.bar.right, reading.picture.width));
  EXPECT_GE(reading.baselines.size(), 3U);
  EXPECT_GE(reading.channels.size(), 3U);
  // A point lies in the middle of its block of 32 x 32 pixels.
  for (const auto& [x, place] : reading.baselines)
    EXPECT_NEAR(static_cast<double>(place - reading.map.left), ((x + 1.5) / 0.5 + 0.5) * 32, 2) << x;
  for (const auto& [y, place] : reading.channels)
    EXPECT_NEAR(static_cast<double>(reading.map.bottom - place), ((y - 2.25) / 0.5 + 0.5) * 32, 2) << y;
  EXPECT_TRUE(is_blue(read_map(file("a.png")).at(3 * 32 + 16, 512 - 3 * 32 - 16)));
}

/// Planes of any form have equal pixels per angstrom along both axes.
TEST_F(LatticeExport, slice_has_as_many_pixels_for_an_angstrom_along_both_axes) {
  for (const LatticeShape& shape : {LatticeShape{8, 4, 1}, LatticeShape{1, 1, 1}, LatticeShape{1, 300, 1},
                                    LatticeShape{300, 1, 1}, LatticeShape{7, 1000, 1}, LatticeShape{61, 64, 1}}) {
    Example sheet(shape);
    for (const double ratio : {1.0, 1.13, 0.9, 2.0 / 3, 0.1, 7.7, 31.0}) {
      sheet.map.spacing = {0.35, 0.35 * ratio, 1};
      const double width = 0.35 * static_cast<double>(shape.nx), height = 0.35 * ratio * static_cast<double>(shape.ny);
      write_png_slice(file("a.png"), sheet.map, 2, 0, true);
      const Picture map = read_map(file("a.png")), picture = read_png(file("a.png"));
      SCOPED_TRACE(std::to_string(shape.nx) + " x " + std::to_string(shape.ny) + ", " + std::to_string(ratio));
      EXPECT_GE(map.width, shape.nx);
      EXPECT_GE(map.height, shape.ny);
      EXPECT_LT(picture.width, map.width + 500);
      // A side of n points has a whole number of pixels, from n to max(4096, 8 n).
      if (std::max(map.width, map.height) >= 4096) continue;
      EXPECT_NEAR(static_cast<double>(map.width) / width * height, static_cast<double>(map.height),
                  0.5 + 0.5 * height / width);
    }
  }
}

/// A title ends before the colour bar. A title that is too long loses its middle.
TEST_F(LatticeExport, slice_titles_have_an_ellipsis_where_they_are_too_long) {
  Block block;
  block.at(0, 0, 0) = 1;
  for (const std::size_t length : {3U, 30U, 50U, 200U}) {
    block.map.title = "set " + std::string(length, 'a') + " problem 3";
    const std::string whole = block.map.title + ", z = 1000.12 angstrom";
    write_png_slice(file("a.png"), block.map, 2, 0, true);
    const Reading reading = read(file("a.png"));
    EXPECT_LE(reading.map.left + text_width(reading.title), reading.bar.left);
    if (whole.size() <= 50) {
      EXPECT_EQ(reading.title, whole);
    } else {
      EXPECT_TRUE(reading.title.starts_with("set aaa")) << reading.title;
      EXPECT_NE(reading.title.find("aaa..."), std::string::npos) << reading.title;
      EXPECT_TRUE(reading.title.ends_with(" problem 3, z = 1000.12 angstrom")) << reading.title;
    }
    EXPECT_EQ(text_chunks(file("a.png"))["Title"], block.map.title);
  }
}

TEST_F(LatticeExport, titles_are_in_ascii) {
  const std::vector<std::pair<std::string, std::string>> all{
      {"Ångström", "Angstrom"},
      {"A\u030angstro\u0308m", "Angstrom"},
      {"\u212B", "A"},
      {"5 µm, 20 °C", "5 um, 20 degC"},
      {"αΩβ-Δ", "alphaOmegabeta-Delta"},
      {"Łódź, Žižek, naïve, Strauß", "Lodz, Zizek, naive, Straus"},
      {"x² ± 1 – “y”", "x2 +- 1 - \"y\""},
      {"水 😀", "? ?"},
      {"a\xff\xc3z", "a??z"},
      {"H₂O\t1", "H2O 1"}};
  for (const auto& [text, plain] : all) EXPECT_EQ(plain_line(text), plain) << text;
}

TEST_F(LatticeExport, slice_without_room_has_no_numbers_that_touch) {
  Sheet sheet;
  sheet.at(0, 0, 0) = 5;
  sheet.map.spacing = {10, 1, 1};
  sheet.map.title = "";
  write_png_slice(file("a.png"), sheet.map, 2, 0, true);
  EXPECT_EQ(read_map(file("a.png")).height, 4 * 6);
  int beside = 0, below = 0;
  for (const Word& word : words_of(read_png(file("a.png")), 1)) {
    if (std::isdigit(static_cast<unsigned char>(word.text[0])) == 0 || word.y < 32) continue;
    ++(word.y < 42 + 24 ? beside : below);
  }
  EXPECT_LE(beside, 1);
  EXPECT_GE(below, 3);
}

TEST_F(LatticeExport, slice_limit_is_the_98th_percentile_of_the_magnitudes) {
  Example example(LatticeShape{10, 10, 1});
  for (int i = 0; i < 100; ++i) example.values[static_cast<std::size_t>(i)] = (i % 2 ? 1 : -1) * (i + 1);
  example.values[99] = 1e9;
  const SlicePicture result = write_png_slice(file("a.png"), example.map, 2, 0, false);
  EXPECT_EQ(result.lowest, -99);
  EXPECT_EQ(result.highest, 1e9);
  EXPECT_EQ(result.colour_limit, 98);
}

TEST_F(LatticeExport, slice_of_few_values_or_none_still_has_a_limit) {
  Example example(LatticeShape{100, 100, 1});
  std::fill(example.values.begin(), example.values.end(), 0.0);
  example.at(3, 4, 0) = -7;
  EXPECT_EQ(write_png_slice(file("a.png"), example.map, 2, 0, false).colour_limit, 7);
  std::fill(example.values.begin(), example.values.end(), infinity);
  example.at(0, 0, 0) = 0;
  EXPECT_EQ(write_png_slice(file("b.png"), example.map, 2, 0, false).colour_limit, 0);
  const Picture picture = read_map(file("b.png"));
  EXPECT_EQ(picture.at(1, picture.height - 2), white);
  std::fill(example.values.begin(), example.values.end(), nan);
  EXPECT_EQ(write_png_slice(file("c.png"), example.map, 2, 0, false).colour_limit, 0);
  EXPECT_TRUE(is_grey(read_map(file("c.png")).at(300, 100)));
  EXPECT_TRUE(is_blue(picture.at(300, 100)));
}

TEST_F(LatticeExport, slice_axes_run_right_and_up) {
  // One point has a large value. Its place in the picture shows the axes.
  const LatticeShape shape{3, 4, 5};
  Example example(shape);
  std::fill(example.values.begin(), example.values.end(), 0.0);
  example.map.spacing = {1, 1, 1};
  example.at(2, 1, 3) = 1;
  struct Case {
    int axis;
    std::int64_t index, columns, rows, column, row;
  };
  for (const Case& c : {Case{0, 2, 4, 5, 1, 3}, Case{1, 1, 3, 5, 2, 3}, Case{2, 3, 3, 4, 2, 1}}) {
    SCOPED_TRACE(c.axis);
    write_png_slice(file("a.png"), example.map, c.axis, c.index, true);
    const Picture picture = read_map(file("a.png"));
    const std::int64_t cell = (511 + c.columns) / c.columns;
    ASSERT_EQ(picture.height, c.rows * cell);
    for (std::int64_t column = 0; column < c.columns; ++column) {
      for (std::int64_t row = 0; row < c.rows; ++row) {
        const Pixel pixel = picture.at(column * cell + cell / 2, (c.rows - 1 - row) * cell + cell / 2);
        const bool hot = column == c.column && row == c.row;
        EXPECT_EQ(is_blue(pixel), hot) << column << " " << row;
        EXPECT_EQ(pixel == white, !hot) << column << " " << row;
      }
    }
  }
}

TEST_F(LatticeExport, slice_keeps_the_proportions_of_the_spacings_within_reason) {
  Sheet sheet;
  sheet.map.spacing = {1, 2, 1};
  write_png_slice(file("a.png"), sheet.map, 2, 0, false);
  EXPECT_EQ(read_map(file("a.png")).height, 4 * 128);
  sheet.map.spacing = {1, 1e6, 1};
  write_png_slice(file("b.png"), sheet.map, 2, 0, false);
  EXPECT_EQ(read_map(file("b.png")).height, 4096);
  sheet.map.spacing = {1e6, 1, 1};
  write_png_slice(file("c.png"), sheet.map, 2, 0, false);
  EXPECT_EQ(read_map(file("c.png")).height, 4);
  const Example wide(LatticeShape{700, 3, 1});
  write_png_slice(file("d.png"), wide.map, 2, 0, false);
  EXPECT_GE(read_map(file("d.png")).width, 700);
}

TEST_F(LatticeExport, slice_says_in_text_chunks_what_it_is) {
  Sheet sheet;
  sheet.at(0, 0, 0) = -0.125;
  sheet.map.title = "V of set 'a\nb \xc3\x85 c', problem 3, in volt";
  write_png_slice(file("a.png"), sheet.map, 1, 3, false);
  auto texts = text_chunks(file("a.png"));
  EXPECT_EQ(texts["Title"], "V of set 'a b A c', problem 3, in volt");
  EXPECT_EQ(texts["Axis"], "y");
  EXPECT_EQ(texts["Index"], "3");
  EXPECT_EQ(texts["Colour limit"], "0");
  write_png_slice(file("b.png"), sheet.map, 2, 0, false);
  EXPECT_EQ(text_chunks(file("b.png"))["Colour limit"], "0.125");
}

// refusals of all formats

TEST_F(LatticeExport, calls_without_sense_are_refused_and_leave_nothing) {
  Example example;
  const auto png = [&](int axis, std::int64_t index) {
    write_png_slice(file("a.png"), example.map, axis, index, false);
  };
  expect_error(ErrorKind::usage, "no axis 3", [&] { png(3, 0); });
  expect_error(ErrorKind::usage, "no axis -1", [&] { png(-1, 0); });
  expect_error(ErrorKind::usage, "5 planes across z", [&] { png(2, 5); });
  expect_error(ErrorKind::usage, "Choose one from 0 to 2.", [&] { png(1, 3); });
  expect_error(ErrorKind::usage, "no plane -1", [&] { png(0, -1); });
  expect_error(ErrorKind::usage, "2 charges with 5 coordinates", [&] {
    write_cube(file("a.cube"), example.map, std::vector<double>(5), std::vector<double>(2), {}, false);
  });
  example.map.values = example.map.values.first(29);
  expect_error(ErrorKind::usage, "29 values for 2 x 3 x 5 points", [&] { png(2, 0); });
  expect_error(ErrorKind::usage, "29 values", [&] { write_opendx(file("a.dx"), example.map, false); });
  expect_error(ErrorKind::usage, "29 values", [&] { write_cube(file("a.cube"), example.map, {}, {}, {}, false); });
  example.map.shape = {0, 3, 5};
  example.map.values = {};
  expect_error(ErrorKind::usage, "0 x 3 x 5", [&] { write_opendx(file("a.dx"), example.map, false); });
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(LatticeExport, a_plane_too_large_for_a_picture_is_refused) {
  const Example example(LatticeShape{40000, 1, 1});
  expect_error(ErrorKind::usage, "40000 x 1 points is too large",
               [&] { write_png_slice(file("a.png"), example.map, 2, 0, false); });
  EXPECT_TRUE(folder_is_empty());
}

TEST_F(LatticeExport, an_existing_file_stays_unless_overwritten) {
  const Example example;
  const std::vector<std::pair<std::string, std::function<void(const std::string&, bool)>>> writers{
      {"a.dx", [&](const auto& path, bool overwrite) { write_opendx(path, example.map, overwrite); }},
      {"a.cube", [&](const auto& path, bool overwrite) { write_cube(path, example.map, {}, {}, {}, overwrite); }},
      {"a.png", [&](const auto& path, bool overwrite) { write_png_slice(path, example.map, 2, 0, overwrite); }}};
  for (const auto& [name, write] : writers) {
    SCOPED_TRACE(name);
    std::ofstream(file(name)) << "mine";
    expect_error(ErrorKind::output_exists, file(name), [&] { write(file(name), false); });
    EXPECT_EQ(contents(file(name)), "mine");
    write(file(name), true);
    EXPECT_GT(contents(file(name)).size(), 100U);
    expect_error(ErrorKind::output, "no/such/", [&] { write("no/such/" + name, false); });
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 3);
}

TEST_F(LatticeExport, a_disk_that_fills_is_told_and_leaves_nothing) {
  // A limit on the size of files stands for a full disk, because write() fails beyond the limit.
  const Example example(LatticeShape{40, 40, 40});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {100000, 1000}) {
    const rlimit limit{bytes, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_error(ErrorKind::output, "disk full", [&] { write_opendx(file("a.dx"), example.map, false); });
    expect_error(ErrorKind::output, "disk full", [&] { write_cube(file("a.cube"), example.map, {}, {}, {}, false); });
    if (bytes == 1000) {
      expect_error(ErrorKind::output, "disk full", [&] { write_png_slice(file("a.png"), example.map, 2, 0, false); });
    }
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(folder_is_empty());
}

}  // namespace
}  // namespace smallbatch::testing
