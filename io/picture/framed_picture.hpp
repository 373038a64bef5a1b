// A map in a frame, with a title, numbers on its axes and a bar of its colours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/picture/axis_ticks.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {

struct PictureWords {
  std::string title;  ///< above the map, with an ellipsis where it is too long; ASCII, as all
  std::string right_title, up_title, bar_title;  ///< below, at the left, upwards, and at the right, upwards
  std::vector<Tick> right, up, bar;
  bool is_exceeded = false,
       is_undercut = false;  ///< some values are beyond the bar's upper or lower end: an arrow there
};

/// Where the map is: pixels [left, left + width) x [top, top + height), of which it fills each.
struct MapPlace {
  std::int64_t left = 0, top = 0, width = 0, height = 0;

  /// "left,top,width,height", as the texts of PNG files say it.
  [[nodiscard]] std::string text() const;
};

struct FramedPicture {
  Image image;
  MapPlace map;
};

/// `bar_colour` is asked from 0, below, to 1. Numbers of which an axis would have no place for all are left out.
FramedPicture draw_framed(std::int64_t width, std::int64_t height, const PictureWords& words,
                          const std::function<void(Image&, const MapPlace&)>& draw_map,
                          const std::function<Colour(double)>& bar_colour);

}  // namespace smallbatch
