// The only file that uses libpng.
#include "io/picture/picture.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>

#include "io/interchange/export_file.hpp"
#include "io/picture/picture_font.hpp"

namespace smallbatch {
namespace {

/// Calls dot(x, y) for each dot of the text, x from its left, y from its top.
template <class Dot>
void for_each_dot(std::string_view text, Dot&& dot) {
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto character = static_cast<std::size_t>(static_cast<unsigned char>(text[k])) - ' ';
    if (character >= picture_font.size()) continue;
    for (std::int64_t y = 0; y < text_height; ++y)
      for (std::int64_t x = 0; x < character_width; ++x)
        if (picture_font[character][static_cast<std::size_t>(y)] >> (character_width - 1 - x) & 1)
          dot(static_cast<std::int64_t>(k) * character_width + x, y);
  }
}

/// Writes the image, and returns whether this succeeded. libpng reports errors by longjmp, so nothing here has a
/// destructor.
bool encode(std::FILE* stream, const Image& image, std::span<png_text> texts) {
  const png_error_ptr fail = [](png_structp png, png_const_charp) { png_longjmp(png, 1); };
  const png_error_ptr stay_silent = [](png_structp, png_const_charp) {};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, stay_silent);
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_init_io(png, stream);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width()), static_cast<png_uint_32>(image.height()), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_text(png, info, texts.data(), static_cast<int>(texts.size()));
  png_write_info(png, info);
  for (std::int64_t row = 0; row < image.height(); ++row) png_write_row(png, image.row(row));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

}  // namespace

Colour scale_colour(std::span<const Colour> scale, double t) {
  const double step = t * static_cast<double>(scale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(step), scale.size() - 2);
  const double above = step - static_cast<double>(below);
  const auto mix = [&](std::uint8_t Colour::*channel) {
    return static_cast<std::uint8_t>(
        std::lround((1 - above) * scale[below].*channel + above * scale[below + 1].*channel));
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

void Image::fill(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom, Colour colour) {
  left = std::clamp<std::int64_t>(left, 0, width_);
  right = std::clamp<std::int64_t>(right, left, width_);
  for (std::int64_t row = std::max<std::int64_t>(top, 0); row < std::min(bottom, height_); ++row)
    std::fill(pixels_.begin() + row * width_ + left, pixels_.begin() + row * width_ + right, colour);
}

void Image::write(std::int64_t left, std::int64_t top, std::string_view text) {
  for_each_dot(text, [&](std::int64_t x, std::int64_t y) { fill(left + x, left + x + 1, top + y, top + y + 1, ink); });
}

void Image::write_upwards(std::int64_t left, std::int64_t bottom, std::string_view text) {
  for_each_dot(text,
               [&](std::int64_t x, std::int64_t y) { fill(left + y, left + y + 1, bottom - 1 - x, bottom - x, ink); });
}

double percentile(std::vector<double>& values, int percent) {
  const auto rank = (static_cast<std::size_t>(percent) * values.size() + 99) / 100;  // nearest rank, rounded up
  const auto of_rank = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), of_rank, values.end());
  return *of_rank;
}

void write_png(const std::string& path, const Image& image, std::span<const std::pair<const char*, std::string>> texts,
               bool overwrite) {
  std::vector<png_text> entries;
  for (const auto& [key, value] : texts) {
    png_text text{};
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    text.key = const_cast<png_charp>(key);  // both are read only
    text.text = const_cast<png_charp>(value.data());
    text.text_length = value.size();
    entries.push_back(text);
  }
  ExportFile file(path, overwrite);
  if (!encode(file.stream(), image, entries)) file.fail();
  file.commit();
}

}  // namespace smallbatch
