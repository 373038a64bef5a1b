// A map in a frame with a title, numbers on its axes and a colour bar.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/picture/axis_ticks.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {

struct PictureWords {
  std::string title;  ///< above the map, with an ellipsis if it is too long; all words are ASCII
  /// Titles below the map, at its left, and beside the bar. The last two run upwards.
  std::string right_title, up_title, bar_title;
  std::vector<Tick> right, up, bar;
  bool is_exceeded = false,
       is_undercut = false;  ///< values lie beyond the upper or lower end of the bar, which gets an arrow
};

/// Place of the map in the picture: all pixels [left, left + width) x [top, top + height).
struct MapPlace {
  std::int64_t left = 0, top = 0, width = 0, height = 0;

  /// Returns "left,top,width,height", which the PNG file stores as a text chunk.
  [[nodiscard]] std::string text() const;
};

struct FramedPicture {
  Image image;
  MapPlace map;
};

/// Draws the picture. `bar_colour` returns the colour at a place of the bar, from 0 (lower end) to 1. An axis gets no
/// numbers if they do not all fit.
FramedPicture draw_framed(std::int64_t width, std::int64_t height, const PictureWords& words,
                          const std::function<void(Image&, const MapPlace&)>& draw_map,
                          const std::function<Colour(double)>& bar_colour);

}  // namespace smallbatch
