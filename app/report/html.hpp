// Pieces of a page of HTML: words that are no markup, numbers, and charts as inline SVG.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/report/histogram.hpp"
#include "io/picture/axis_ticks.hpp"
#include "io/picture/picture.hpp"

namespace smallbatch {

/// As text, or as the value of an attribute in double quotes. What a browser would obey, and bytes that are no UTF-8,
/// become U+FFFD.
std::string html_text(std::string_view text);

/// "1234", "1 234 567": from five digits on with narrow spaces that do not break.
std::string grouped(std::int64_t number);
/// What is plain ASCII elsewhere as a page has it: "10 000 systems 32×32", "≤", "e²/Å", "V·e".
std::string typeset(const std::string& text);
/// "0.000123", "1.23 × 10⁻⁷": so many digits at most, a minus sign, "∞" and "not a number".
std::string shown_number(double value, int digits = 4);

/// "data:image/png;base64,..."
std::string data_uri(const Image& image);

std::string histogram_svg(const Histogram& histogram);

/// A picture of a plane between two axes, with a bar of its colours.
struct MapChart {
  const Image* image = nullptr;      ///< a pixel for each cell, its first row on top
  double width = 1, height = 1;      ///< of what is shown, in any unit: their proportion
  std::vector<Tick> right, up, bar;  ///< places of numbers
  std::string right_title, up_title, bar_title, title;
  std::vector<Colour> bar_colours;                ///< from below
  bool is_exceeded = false, is_undercut = false;  ///< values are beyond the bar's upper or lower end: an arrow there
  struct Dot {
    double right = 0, up = 0;  ///< places
    bool is_positive = false;
  };
  std::vector<Dot> dots;
};
std::string map_svg(const MapChart& chart);

/// Where along a batch some problems are: a mark for each bin that has any.
std::string strip_svg(std::span<const std::int64_t> counts, std::int64_t batch, std::string_view title);

}  // namespace smallbatch
