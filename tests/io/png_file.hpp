// Readers of PNG files, with libpng, and of the bytes of files.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace smallbatch::testing {

inline std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

using Pixel = std::array<int, 3>;

struct Picture {
  std::int64_t width = 0, height = 0;
  std::vector<png_byte> bytes;
  [[nodiscard]] Pixel at(std::int64_t x, std::int64_t y) const {
    const auto i = static_cast<std::size_t>(3 * (y * width + x));
    return {bytes.at(i), bytes.at(i + 1), bytes.at(i + 2)};
  }
};

inline Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  Picture picture{image.width, image.height, std::vector<png_byte>(PNG_IMAGE_SIZE(image))};
  EXPECT_NE(png_image_finish_read(&image, nullptr, picture.bytes.data(), 0, nullptr), 0) << image.message;
  return picture;
}

/// Returns the tEXt chunks by keyword. A chunk is length (4 bytes, big-endian), type, keyword, 0, text, checksum.
inline std::map<std::string, std::string> text_chunks(const std::string& path) {
  const std::string bytes = contents(path);
  std::map<std::string, std::string> texts;
  for (std::size_t i = 8; i + 12 <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t k = 0; k < 4; ++k) length = 256 * length + static_cast<unsigned char>(bytes[i + k]);
    if (bytes.compare(i + 4, 4, "tEXt") == 0) {
      const std::string chunk = bytes.substr(i + 8, length);
      texts[chunk.substr(0, chunk.find('\0'))] = chunk.substr(chunk.find('\0') + 1);
    }
    i += length + 12;
  }
  return texts;
}

}  // namespace smallbatch::testing
