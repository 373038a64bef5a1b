#include "io/picture/framed_picture.hpp"

#include <algorithm>
#include <cmath>

namespace smallbatch {

namespace {

std::int64_t widest(const std::vector<Tick>& ticks) {
  std::int64_t width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text));
  return width;
}

/// Returns the ticks of an axis of `length` pixels, or none if their texts would touch. A text takes `each` pixels
/// along the axis.
std::vector<Tick> fitting(const std::vector<Tick>& ticks, std::int64_t length, std::int64_t each) {
  double nearest = 1;
  for (std::size_t k = 1; k < ticks.size(); ++k)
    nearest = std::min(nearest, std::abs(ticks[k].place - ticks[k - 1].place));
  return nearest * static_cast<double>(length) < static_cast<double>(each) ? std::vector<Tick>{} : ticks;
}

/// Fits a title into `width` pixels. A title that is too long loses its middle, because its end is more specific.
std::string fitting_title(const std::string& title, std::int64_t width) {
  const std::string ellipsis = "...";
  const auto room = static_cast<std::size_t>(width / character_width), head = room / 4;
  if (title.size() <= room) return title;
  return title.substr(0, head) + ellipsis + title.substr(title.size() - (room - head - ellipsis.size()));
}

}  // namespace

std::string MapPlace::text() const {
  return std::to_string(left) + "," + std::to_string(top) + "," + std::to_string(width) + "," + std::to_string(height);
}

FramedPicture draw_framed(std::int64_t width, std::int64_t height, const PictureWords& words,
                          const std::function<void(Image&, const MapPlace&)>& draw_map,
                          const std::function<Colour(double)>& bar_colour) {
  constexpr std::int64_t gap = 50, bar_width = 26, tick_length = 8, space = 6, margin = 10, frame = 2;
  constexpr std::int64_t beside = tick_length + space;  // distance from an axis to its numbers
  constexpr std::int64_t arrow_rows = 9, least_title = 32 * character_width;
  const std::vector<Tick> up_ticks = fitting(words.up, height, text_height),
                          bar_ticks = fitting(words.bar, height, text_height),
                          right_ticks = fitting(words.right, width, widest(words.right) + character_width);
  const std::int64_t left = margin + text_height + space + widest(up_ticks) + beside, right = left + width;
  const std::int64_t top = margin + text_height + 2 * space + (words.is_exceeded ? arrow_rows : 0);
  const std::int64_t bottom = top + height, bar_left = right + gap, bar_right = bar_left + bar_width;
  const std::string title = fitting_title(words.title, std::max(bar_left - space - left, least_title));
  const std::int64_t bar_numbers = bar_right + beside, bar_words = bar_numbers + widest(bar_ticks) + 2 * space;
  const std::int64_t numbers_top = bottom + beside, words_top = numbers_top + text_height + space;
  const std::int64_t upwards_bottom = top + std::max({height, text_width(words.up_title), text_width(words.bar_title)});
  FramedPicture picture{Image(std::max(bar_words + text_height, left + text_width(title)) + margin,
                              std::max(words_top + text_height, upwards_bottom) + margin),
                        {left, top, width, height}};
  Image& image = picture.image;

  image.fill(left - frame, right + frame, top - frame, bottom + frame, ink);
  draw_map(image, picture.map);
  image.fill(bar_left - frame, bar_right + frame, top - frame, bottom + frame, ink);
  const double last_row = static_cast<double>(std::max<std::int64_t>(height - 1, 1));
  for (std::int64_t row = 0; row < height; ++row)
    image.fill(bar_left, bar_right, top + row, top + row + 1, bar_colour(1 - static_cast<double>(row) / last_row));

  // Draws an arrow from row `begin`, upwards (-1) or downwards (1).
  const auto draw_arrow = [&](std::int64_t begin, std::int64_t step, Colour colour) {
    constexpr std::int64_t half = bar_width / 2;
    for (std::int64_t k = 0; k < arrow_rows; ++k) {
      const std::int64_t y = begin + step * k, out = half * (arrow_rows - k) / arrow_rows,
                         in = k == 0 ? 0 : out - frame;
      image.fill(bar_left + half - out, bar_left + half + out, y, y + 1, ink);
      image.fill(bar_left + half - in, bar_left + half + in, y, y + 1, colour);
    }
  };
  if (words.is_exceeded) draw_arrow(top - 2 * frame - 1, -1, bar_colour(1));
  if (words.is_undercut) draw_arrow(bottom + 2 * frame, 1, bar_colour(0));

  const auto upwards = [&](double place) { return bottom - 1 - std::llround(place * static_cast<double>(height - 1)); };
  for (const Tick& tick : up_ticks) {
    const std::int64_t y = upwards(tick.place);
    image.fill(left - tick_length, left, y, y + 2, ink);
    image.write(left - beside - text_width(tick.text), y - number_middle, tick.text);
  }
  for (const Tick& tick : bar_ticks) {
    const std::int64_t y = upwards(tick.place);
    image.fill(bar_right, bar_right + tick_length, y, y + 2, ink);
    image.write(bar_numbers, y - number_middle, tick.text);
  }
  for (const Tick& tick : right_ticks) {
    const std::int64_t x = left + std::llround(tick.place * static_cast<double>(width - 1));
    image.fill(x, x + 2, bottom, bottom + tick_length, ink);
    image.write(x - text_width(tick.text) / 2, numbers_top, tick.text);
  }
  const auto from_middle = [&](const std::string& text) {
    return std::max((top + bottom + text_width(text)) / 2, top + text_width(text));
  };
  image.write(left, margin, title);
  image.write(std::max((left + right - text_width(words.right_title)) / 2, margin + text_height + space), words_top,
              words.right_title);
  image.write_upwards(margin, from_middle(words.up_title), words.up_title);
  image.write_upwards(bar_words, from_middle(words.bar_title), words.bar_title);
  return picture;
}

}  // namespace smallbatch
