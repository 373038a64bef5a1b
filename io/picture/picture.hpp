// Pictures of coloured rectangles and words, and their output as PNG files.
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

/// Returns the colour at t, from 0 to 1, of a scale with equal steps.
Colour scale_colour(std::span<const Colour> scale, double t);

/// The font has printable ASCII, and all letters have one width. Any other character becomes a space.
inline constexpr std::int64_t character_width = 10;
inline constexpr std::int64_t text_height = 20;
inline constexpr std::int64_t number_middle = 9;  ///< middle of a digit, from the top of the text
constexpr std::int64_t text_width(std::string_view text) {
  return static_cast<std::int64_t>(text.size()) * character_width;
}

/// An array of pixels, white at first. Drawing outside of it has no effect.
class Image {
 public:
  Image(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height)) {}

  /// Fills the pixels [left, right) x [top, bottom).
  void fill(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom, Colour colour);
  /// Writes from (left, top) to the right.
  void write(std::int64_t left, std::int64_t top, std::string_view text);
  /// Writes from (left, bottom) upwards. The tops of letters are at the left.
  void write_upwards(std::int64_t left, std::int64_t bottom, std::string_view text);

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] const std::uint8_t* row(std::int64_t index) const { return &pixels_[index * width_].red; }

 private:
  std::int64_t width_, height_;
  std::vector<Colour> pixels_;
};

/// Returns the smallest value that is not below `percent` per cent of the values. There must be a value, and no NaN.
/// Reorders the values.
double percentile(std::vector<double>& values, int percent);

/// Writes a PNG file with text chunks (key, value). Values are printable ASCII. The file is written under a temporary
/// name and then renamed. Throws Error(output).
void write_png(const std::string& path, const Image& image, std::span<const std::pair<const char*, std::string>> texts,
               bool overwrite);

}  // namespace smallbatch
