// What pictures are made of: rectangles of colours, some words, and the PNG file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smallbatch {

struct Colour {
  std::uint8_t red = 255, green = 255, blue = 255;
};
inline constexpr Colour grey{128, 128, 128};  // NaN
inline constexpr Colour ink{64, 64, 64};      // frames, ticks and words

/// The colour at t, from 0 to 1, of a scale of equal steps.
Colour scale_colour(std::span<const Colour> scale, double t);

/// Words stand in a font of printable ASCII, whose letters are all as wide; another character is a space.
inline constexpr std::int64_t character_width = 10;
inline constexpr std::int64_t text_height = 20;
inline constexpr std::int64_t number_middle = 9;  ///< of a digit's height, from the text's top
constexpr std::int64_t text_width(std::string_view text) {
  return static_cast<std::int64_t>(text.size()) * character_width;
}

/// White at first. What is outside of it is not drawn.
class Image {
 public:
  Image(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height)) {}

  /// Pixels [left, right) x [top, bottom).
  void fill(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom, Colour colour);
  /// From (left, top) to the right.
  void write(std::int64_t left, std::int64_t top, std::string_view text);
  /// From (left, bottom) upwards, its tops to the left.
  void write_upwards(std::int64_t left, std::int64_t bottom, std::string_view text);

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] const std::uint8_t* row(std::int64_t index) const { return &pixels_[index * width_].red; }

 private:
  std::int64_t width_, height_;
  std::vector<Colour> pixels_;
};

/// The smallest value that is not below so many per cent of the values, of which there is at least one and no NaN.
/// Their order is lost.
double percentile(std::vector<double>& values, int percent);

/// Writes to a temporary file and renames it, with texts that are (key, value), the values printable ASCII. Throws
/// Error(output).
void write_png(const std::string& path, const Image& image, std::span<const std::pair<const char*, std::string>> texts,
               bool overwrite);

}  // namespace smallbatch
