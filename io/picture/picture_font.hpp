// The letters of pictures: a bitmap font in the program, because libraries that write into pictures (cairo, FreeType)
// want a font file at run time, and libgd, which has one of its own, brings some thirty libraries.
#pragma once

#include <array>
#include <cstdint>

namespace smallbatch {

/// 20 rows from above, of 10 dots; the leftmost dot is the bit 512.
using GlyphRows = std::array<std::uint16_t, 20>;

/// Of the characters from ' ' to '~'.
extern const std::array<GlyphRows, 95> picture_font;

}  // namespace smallbatch
