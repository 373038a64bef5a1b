// A bitmap font for pictures. Libraries that write into pictures (cairo, FreeType) need a font file at run time. libgd
// has a font, but needs thirty more libraries.
#pragma once

#include <array>
#include <cstdint>

namespace smallbatch {

/// A glyph of 20 rows, from the top. A row has 10 dots, and its leftmost dot is the bit 512.
using GlyphRows = std::array<std::uint16_t, 20>;

/// Glyphs of the characters from ' ' to '~'.
extern const std::array<GlyphRows, 95> picture_font;

}  // namespace smallbatch
