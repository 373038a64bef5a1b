// Reader of pictures with axes. It looks for the frames, and reads words and numbers by comparing pixels with the font.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/picture/picture.hpp"
#include "tests/io/png_file.hpp"

namespace smallbatch::testing {

inline constexpr Pixel ink_pixel{64, 64, 64};
inline const std::string characters = "0123456789.,-+()|/=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

inline bool is_ink(const Picture& picture, std::int64_t x, std::int64_t y) {
  return x >= 0 && y >= 0 && x < picture.width && y < picture.height && picture.at(x, y) == ink_pixel;
}

/// Pixels [left, right) x [top, bottom) inside a frame of ink.
struct Box {
  std::int64_t left = 0, right = 0, top = 0, bottom = 0;
  [[nodiscard]] std::int64_t width() const { return right - left; }
  [[nodiscard]] std::int64_t height() const { return bottom - top; }
};

/// Returns the boxes of the map and the colour bar. Their frames are columns of at least 400 pixels of ink.
inline std::pair<Box, Box> boxes_of(const Picture& picture) {
  const std::int64_t middle = picture.height / 2;
  std::vector<std::int64_t> inside;  // columns at which a frame begins or has ended
  const auto is_frame = [&](std::int64_t x) {
    for (std::int64_t y = middle - 200; y < middle + 200; ++y)
      if (!is_ink(picture, x, y)) return false;
    return true;
  };
  for (std::int64_t x = 0; x < picture.width; ++x)
    if (is_frame(x) != is_frame(x + 1)) inside.push_back(x + 1);
  EXPECT_EQ(inside.size(), 8U);
  inside.resize(8);
  const auto box = [&](std::int64_t left, std::int64_t right) {
    Box found{left, right, middle, middle};
    while (!is_ink(picture, left, found.top - 1)) --found.top;
    while (!is_ink(picture, left, found.bottom)) ++found.bottom;
    return found;
  };
  return {box(inside[1], inside[2]), box(inside[5], inside[6])};
}

struct Word {
  std::int64_t x = 0, y = 0, right = 0;
  std::string text;
};

using Glyph = std::array<unsigned, text_height>;  ///< for each row, one bit per pixel of a character

/// Returns the character of each glyph. Expects that no two characters have the same glyph.
inline std::map<Glyph, char> font() {
  std::map<Glyph, char> glyphs;
  for (const char c : characters) {
    Image image(character_width, text_height);
    image.write(0, 0, std::string(1, c));
    Glyph glyph{};
    for (std::int64_t y = 0; y < text_height; ++y)
      for (std::int64_t x = 0; x < character_width; ++x)
        glyph[y] = 2 * glyph[y] + (image.row(y)[3 * x] == ink.red ? 1 : 0);
    glyphs[glyph] = c;
  }
  EXPECT_EQ(glyphs.size(), characters.size());
  return glyphs;
}

/// Returns the words of at least `least` characters.
inline std::vector<Word> words_of(const Picture& picture, std::size_t least) {
  static const std::map<Glyph, char> glyphs = font();
  // For each pixel, the glyph row that ends there.
  std::vector<unsigned> rows(static_cast<std::size_t>(picture.width * picture.height));
  for (std::int64_t y = 0; y < picture.height; ++y) {
    unsigned row = 0;
    for (std::int64_t x = 0; x < picture.width; ++x) {
      row = (2 * row + (is_ink(picture, x, y) ? 1 : 0)) % (1U << character_width);
      rows[y * picture.width + x] = row;
    }
  }
  /// Returns the character that begins at a pixel, or 0.
  const auto character = [&](std::int64_t x, std::int64_t y) {
    if (x + character_width > picture.width || y + text_height > picture.height) return '\0';
    Glyph glyph;
    for (std::int64_t row = 0; row < text_height; ++row)
      glyph[row] = rows[(y + row) * picture.width + x + character_width - 1];
    const auto found = glyphs.find(glyph);
    return found == glyphs.end() ? '\0' : found->second;
  };
  std::vector<Word> words;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      Word word{x, y, x, ""};
      for (char c = character(x, y); c != '\0'; c = character(word.right, y)) {
        word.text += c;
        word.right += character_width;
      }
      const bool is_rest = std::any_of(words.begin(), words.end(), [&](const Word& other) {
        return other.y == y && other.x < x && other.right == word.right;
      });
      if (word.text.size() >= least && !is_rest) words.push_back(word);
    }
  }
  return words;
}

/// Returns the picture turned to the right, so that text that ran upwards runs to the right.
inline Picture turned(const Picture& picture) {
  Picture result{picture.height, picture.width, {}};
  for (std::int64_t y = 0; y < result.height; ++y)
    for (std::int64_t x = 0; x < result.width; ++x)
      for (const int channel : picture.at(y, picture.height - 1 - x))
        result.bytes.push_back(static_cast<png_byte>(channel));
  return result;
}

/// Reads the text that runs upwards, and paints it white, because turned letters look like other characters.
inline std::string take_titles(Picture& picture) {
  std::string text;
  for (const Word& word : words_of(turned(picture), 3)) {
    text += (text.empty() ? "" : " ") + word.text;
    for (std::int64_t x = word.y; x < word.y + text_height; ++x)
      for (std::int64_t y = picture.height - word.right; y < picture.height - word.x; ++y)
        std::fill_n(picture.bytes.begin() + 3 * (y * picture.width + x), 3, png_byte{255});
  }
  return text;
}

/// Returns the map of a picture. The PNG's text says where it is, and it must have a frame of ink.
inline Picture read_map(const std::string& path) {
  const Picture picture = read_png(path);
  std::istringstream text(text_chunks(path)["Map"]);
  Box box;
  std::int64_t width = 0, height = 0;
  char comma = 0;
  text >> box.left >> comma >> box.top >> comma >> width >> comma >> height;
  EXPECT_FALSE(text.fail());
  box.right = box.left + width;
  box.bottom = box.top + height;
  Picture map{width, height, {}};
  for (std::int64_t y = box.top - 1; y <= box.bottom; ++y) {
    for (std::int64_t x = box.left - 1; x <= box.right; ++x) {
      const bool is_inside = x >= box.left && x < box.right && y >= box.top && y < box.bottom;
      if (is_inside) {
        for (const int channel : picture.at(x, y)) map.bytes.push_back(static_cast<png_byte>(channel));
      } else {
        EXPECT_TRUE(is_ink(picture, x, y)) << x << " " << y;
      }
    }
  }
  return map;
}

/// Contents of a picture.
struct Reading {
  struct Number {
    double value = 0;
    std::int64_t place = 0;  ///< x or y of the middle of its tick, in pixels
  };
  Picture picture;
  Box map, bar;
  std::vector<Number> baselines, channels, bar_numbers;
  std::string title, baseline_title, titles;  ///< titles: those that run upwards, at the channels and at the bar

  [[nodiscard]] Pixel cell(std::int64_t column, std::int64_t columns, std::int64_t row, std::int64_t rows) const {
    return picture.at(map.left + (2 * column + 1) * map.width() / (2 * columns),
                      map.bottom - 1 - (2 * row + 1) * map.height() / (2 * rows));
  }
};

inline Reading read(const std::string& path) {
  Reading reading{read_png(path), {}, {}, {}, {}, {}, "", "", ""};
  Picture& picture = reading.picture;
  std::tie(reading.map, reading.bar) = boxes_of(picture);
  const auto [map, bar] = std::pair{reading.map, reading.bar};
  reading.titles = take_titles(picture);
  std::int64_t ticks = 0;
  const auto is_tick = [&](std::int64_t x, std::int64_t y) { return is_ink(picture, x, y); };
  for (const Word& word : words_of(picture, 1)) {
    const std::int64_t x = (word.x + word.right) / 2, y = word.y + text_height / 2;
    if (y < map.top) {
      reading.title += (reading.title.empty() ? "" : " ") + word.text;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(word.text[0])) && word.text[0] != '-') {
      EXPECT_GT(y, map.bottom);
      reading.baseline_title += (reading.baseline_title.empty() ? "" : " ") + word.text;
      continue;
    }
    EXPECT_NE(word.text, "-0");
    const double value = std::stod(word.text);
    std::int64_t place = -1;
    if (y > map.bottom + 5) {  // the number stands below its tick
      for (std::int64_t k = x - 3; k <= x + 3; ++k)
        if (is_tick(k, map.bottom + 4) && is_tick(k + 1, map.bottom + 4)) place = k + 1;
      reading.baselines.push_back({value, place});
    } else {
      const bool is_bar = x > bar.left;
      const std::int64_t beside = is_bar ? bar.right + 4 : map.left - 5;
      for (std::int64_t k = y - 5; k <= y + 5; ++k)
        if (is_tick(beside, k) && is_tick(beside, k + 1)) place = k + 1;
      (is_bar ? reading.bar_numbers : reading.channels).push_back({value, place});
    }
    EXPECT_GE(place, 0) << word.text << " stands beside no tick";
    ++ticks;
  }
  // There are as many numbers as ticks, so no number hides another, and none is cut off.
  std::int64_t expected = 0;
  for (std::int64_t x = map.left - 2; x < map.right + 2; ++x)
    expected += is_tick(x, map.bottom + 4) && !is_tick(x - 1, map.bottom + 4);
  for (const std::int64_t x : {map.left - 5, bar.right + 4})
    for (std::int64_t y = map.top - 2; y < map.bottom + 4; ++y) expected += is_tick(x, y) && !is_tick(x, y - 1);
  EXPECT_EQ(ticks, expected);
  for (auto* numbers : {&reading.baselines, &reading.channels, &reading.bar_numbers}) {
    std::sort(numbers->begin(), numbers->end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    EXPECT_GE(numbers->size(), 1U);
    EXPECT_LE(numbers->size(), 12U);
  }
  return reading;
}

}  // namespace smallbatch::testing
