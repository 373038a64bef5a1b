// A plane of V as a PNG: one rectangle of pixels per lattice point, beside it the scale of colours. libpng is used here
// alone.
//
// The scale diverges from white: a value and its negative are equally dark, and lightness falls in equal steps of OKLab
// (Ottosson 2020) along the hues 262 (blue) and 27 (red), so equal differences of V look alike and the picture survives
// printing in grey. Blue and red, and not red and green, for the eyes that see those alike.
#include <png.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csetjmp>
#include <vector>

#include "core/error.hpp"
#include "io/export_file.hpp"
#include "io/lattice_export.hpp"

namespace smallbatch {
namespace {

struct Colour {
  png_byte red = 255, green = 255, blue = 255;
};
constexpr Colour grey{128, 128, 128};  // NaN
constexpr Colour ink{64, 64, 64};      // frames and ticks

constexpr std::int64_t greatest_side = 32768;  // points of a plane, either way

// |V| / limit = 0, 0.2, ... 1: OKLab lightness 1, 0.876, 0.752, 0.628, 0.504, 0.38; chroma at most 0.19.
constexpr std::array<Colour, 6> positive_scale{
    {{255, 255, 255}, {255, 198, 191}, {251, 137, 125}, {229, 76, 68}, {184, 27, 30}, {124, 18, 19}}};
constexpr std::array<Colour, 6> negative_scale{
    {{255, 255, 255}, {193, 215, 255}, {130, 174, 254}, {68, 130, 249}, {31, 90, 206}, {19, 60, 139}}};

/// t from -1 to 1.
Colour scale_colour(double t) {
  const auto& scale = t < 0 ? negative_scale : positive_scale;
  const double step = std::abs(t) * static_cast<double>(scale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(step), scale.size() - 2);
  const double above = step - static_cast<double>(below);
  const auto mix = [&](png_byte Colour::*channel) {
    return static_cast<png_byte>(std::lround((1 - above) * scale[below].*channel + above * scale[below + 1].*channel));
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

/// The plane's values, `columns` to the right (fastest) and `rows` upwards.
struct Plane {
  std::int64_t columns = 0, rows = 0;
  double column_spacing = 1, row_spacing = 1;
  std::vector<double> values;
};

Plane take_plane(const LatticeMap& map, int axis, std::int64_t index) {
  const std::array<std::int64_t, 3> counts{map.shape.nx, map.shape.ny, map.shape.nz};
  const std::array<std::int64_t, 3> strides{1, map.shape.nx, map.shape.plane_points()};
  const std::size_t right = axis == 0 ? 1 : 0;
  const std::size_t up = axis == 2 ? 1 : 2;
  Plane plane{counts[right], counts[up], map.spacing[right], map.spacing[up], {}};
  plane.values.reserve(static_cast<std::size_t>(plane.columns * plane.rows));
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      plane.values.push_back(
          map.values[index * strides[static_cast<std::size_t>(axis)] + row * strides[up] + column * strides[right]]);
    }
  }
  return plane;
}

SlicePicture measure(const std::vector<double>& values) {
  SlicePicture result;
  std::vector<double> magnitude;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    result.lowest = magnitude.empty() ? value : std::min(result.lowest, value);
    result.highest = magnitude.empty() ? value : std::max(result.highest, value);
    magnitude.push_back(std::abs(value));
  }
  if (magnitude.empty()) return result;
  const auto rank = (98 * magnitude.size() + 99) / 100 - 1;  // nearest rank, rounded up
  std::nth_element(magnitude.begin(), magnitude.begin() + static_cast<std::ptrdiff_t>(rank), magnitude.end());
  result.colour_limit =
      magnitude[rank] > 0 ? magnitude[rank] : std::max(std::abs(result.lowest), std::abs(result.highest));
  return result;
}

Colour value_colour(double value, double limit) {
  if (std::isnan(value)) return grey;
  return scale_colour(limit > 0 ? std::clamp(value / limit, -1.0, 1.0) : (value > 0) - (value < 0));
}

class Image {
 public:
  Image(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height)) {}

  /// Pixels [left, right) x [top, bottom).
  void fill(std::int64_t left, std::int64_t right, std::int64_t top, std::int64_t bottom, Colour colour) {
    for (std::int64_t row = std::max<std::int64_t>(top, 0); row < std::min(bottom, height_); ++row) {
      std::fill(pixels_.begin() + row * width_ + left, pixels_.begin() + row * width_ + right, colour);
    }
  }

  [[nodiscard]] png_uint_32 width() const { return static_cast<png_uint_32>(width_); }
  [[nodiscard]] png_uint_32 height() const { return static_cast<png_uint_32>(height_); }
  [[nodiscard]] png_const_bytep row(std::int64_t index) const { return &pixels_[index * width_].red; }

 private:
  std::int64_t width_, height_;
  std::vector<Colour> pixels_;
};

Image draw(const Plane& plane, double limit) {
  constexpr std::int64_t least_width = 512, greatest_height = 4096;
  constexpr std::int64_t gap = 14, bar_width = 26, tick = 6, margin = 8;
  const std::int64_t cell_width = (least_width + plane.columns - 1) / plane.columns;
  const double wanted_height = static_cast<double>(cell_width) * plane.row_spacing / plane.column_spacing;
  const std::int64_t greatest_cell_height = std::max<std::int64_t>(greatest_height / plane.rows, 1);
  const std::int64_t cell_height =
      std::llround(std::clamp(wanted_height, 1.0, static_cast<double>(greatest_cell_height)));
  const std::int64_t map_width = plane.columns * cell_width, height = plane.rows * cell_height;
  const std::int64_t bar_left = map_width + gap, bar_right = bar_left + bar_width;

  Image image(bar_right + margin, height);
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    const std::int64_t top = (plane.rows - 1 - row) * cell_height;
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      const Colour colour = value_colour(plane.values[row * plane.columns + column], limit);
      image.fill(column * cell_width, (column + 1) * cell_width, top, top + cell_height, colour);
    }
  }
  image.fill(map_width, map_width + 1, 0, height, ink);
  image.fill(bar_left - 1, bar_right + 1, 0, height, ink);
  const double last_row = static_cast<double>(std::max<std::int64_t>(height - 1, 1));
  for (std::int64_t row = 0; row < height; ++row) {
    image.fill(bar_left, bar_right, row, row + 1, scale_colour(1 - 2 * static_cast<double>(row) / last_row));
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const std::int64_t row = quarter * (height - 1) / 4;
    image.fill(bar_left - tick, bar_left, row - 1, row + 1, ink);
  }
  return image;
}

/// libpng reports errors by longjmp: nothing in this function has a destructor. False where writing failed.
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
  png_set_IHDR(png, info, image.width(), image.height(), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_text(png, info, texts.data(), static_cast<int>(texts.size()));
  png_write_info(png, info);
  for (png_uint_32 row = 0; row < image.height(); ++row) png_write_row(png, image.row(row));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

png_text text_of(const char* key, std::string& value) {
  png_text text{};
  text.compression = PNG_TEXT_COMPRESSION_NONE;
  text.key = const_cast<png_charp>(key);  // read only
  text.text = value.data();
  text.text_length = value.size();
  return text;
}

}  // namespace

SlicePicture write_png_slice(const std::string& path, const LatticeMap& map, int axis, std::int64_t index,
                             bool overwrite) {
  check_shape(path, map);
  if (axis < 0 || axis > 2) {
    throw Error(ErrorKind::usage, "cannot write " + path, "a lattice has no axis " + std::to_string(axis),
                "Choose 0 (x), 1 (y) or 2 (z).");
  }
  const std::string axis_name(1, "xyz"[axis]);
  const std::int64_t planes = std::array{map.shape.nx, map.shape.ny, map.shape.nz}[static_cast<std::size_t>(axis)];
  if (index < 0 || index >= planes) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                "the lattice has " + std::to_string(planes) + " planes across " + axis_name +
                    ", and there is no plane " + std::to_string(index),
                "Choose one from 0 to " + std::to_string(planes - 1) + ".");
  }
  const Plane plane = take_plane(map, axis, index);
  if (std::max(plane.columns, plane.rows) > greatest_side) {
    throw Error(ErrorKind::usage, "cannot write " + path,
                "a plane of " + std::to_string(plane.columns) + " x " + std::to_string(plane.rows) +
                    " points is too large for a picture",
                "Export OpenDX.");
  }
  const SlicePicture result = measure(plane.values);
  const Image image = draw(plane, result.colour_limit);

  std::array<char, 32> digits;
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), result.colour_limit);
  std::string title = plain_line(map.title), axis_text = axis_name, index_text = std::to_string(index);
  std::string limit_text(digits.data(), end), software = "smallbatch";
  std::array texts{text_of("Title", title), text_of("Axis", axis_text), text_of("Index", index_text),
                   text_of("Colour limit", limit_text), text_of("Software", software)};

  ExportFile file(path, overwrite);
  if (!encode(file.stream(), image, texts)) file.fail();
  file.commit();
  return result;
}

}  // namespace smallbatch
