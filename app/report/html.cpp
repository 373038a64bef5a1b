#include "app/report/html.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "core/number_text.hpp"
#include "core/visible_text.hpp"

namespace smallbatch {

namespace {

/// Of a coordinate: a tenth of a pixel is enough.
std::string at(double value) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.1f", value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string superscript(int number) {
  constexpr std::array<const char*, 10> digits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = number < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(number))) text += digits[static_cast<std::size_t>(digit - '0')];
  return text;
}

/// A number as an axis has it, with a minus sign.
std::string axis_text(const std::string& number) {
  const std::size_t exponent = number.find('e');
  std::string text = number.substr(0, exponent);
  if (text.starts_with('-')) text = "−" + text.substr(1);
  if (exponent == std::string::npos) return text;
  const std::string power = "10" + superscript(std::stoi(number.substr(exponent + 1)));
  return text == "1" ? power : text + "×" + power;
}

/// "-24" of "^-24 ..."; empty where no short number follows.
std::string_view number_after(std::string_view text, char sign) {
  if (!text.starts_with(sign)) return {};
  const std::size_t begin = text.substr(1).starts_with('-') ? 2 : 1;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  return end == begin || end > 6 ? std::string_view{} : text.substr(1, end - 1);
}

/// "ij" of "_ij ..."; empty where what follows is no index.
std::string_view index_after(std::string_view text) {
  if (!text.starts_with('_')) return {};
  const std::size_t end = std::min(text.find_first_not_of("ijk1", 1), text.size());
  const bool is_word = end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0);
  return is_word ? std::string_view{} : text.substr(1, end - 1);
}

std::string text_element(double x, double y, const char* anchor, const std::string& text, const char* kind = "tick") {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor +
         "\">" + html_text(text) + "</text>";
}

std::string line_element(double x1, double y1, double x2, double y2, const char* kind = "axis") {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) +
         "\" y2=\"" + at(y2) + "\"/>";
}

std::string begin_svg(double width, double height, const std::string& title) {
  return "<svg viewBox=\"0 0 " + at(width) + " " + at(height) + "\" width=\"" + at(width) + "\" height=\"" +
         at(height) + "\" role=\"img\" aria-label=\"" + html_text(title) + "\">";
}

std::string middle_upwards(double x, double y, const std::string& text) {
  return "<text class=\"label\" transform=\"translate(" + at(x) + " " + at(y) +
         ") rotate(-90)\" text-anchor=\"middle\">" + html_text(text) + "</text>";
}

std::string with_unit(const std::string& title, const std::string& unit) {
  return unit.empty() ? title : title + " (" + unit + ")";
}

/// About how wide the numbers are.
double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) {
    const std::string text = axis_text(tick.text);
    const auto characters = std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
    width = std::max(width, 7.0 * static_cast<double>(characters));
  }
  return width;
}

/// Of an axis upwards, as many of its numbers as stand clear of each other, with 0 where it is one of them.
std::vector<Tick> fitting(const std::vector<Tick>& ticks, double height) {
  constexpr double least_distance = 13;
  if (ticks.size() < 2) return ticks;
  double distance = height;
  for (std::size_t k = 1; k < ticks.size(); ++k)
    distance = std::min(distance, height * (ticks[k].place - ticks[k - 1].place));
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(least_distance / distance)));
  const auto zero = std::ranges::find(ticks, "0", &Tick::text);
  std::vector<Tick> some;
  for (std::size_t k = zero == ticks.end() ? 0 : static_cast<std::size_t>(zero - ticks.begin()) % every;
       k < ticks.size(); k += every)
    some.push_back(ticks[k]);
  return some;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string shown;
  for (std::size_t k = 0; k < text.size();) {
    const std::size_t length = utf8_length(text.substr(k));
    const std::string_view character = text.substr(k, std::max<std::size_t>(length, 1));
    k += character.size();
    if (length == 0 || is_control(character)) {
      shown += "\xef\xbf\xbd";
    } else if (character == "&") {
      shown += "&amp;";
    } else if (character == "<") {
      shown += "&lt;";
    } else if (character == ">") {
      shown += "&gt;";
    } else if (character == "\"") {
      shown += "&quot;";
    } else if (character == "'") {
      shown += "&#39;";
    } else {
      shown += character;
    }
  }
  return shown;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  if (number > -10'000 && number < 10'000) return digits;
  for (auto k = static_cast<std::int64_t>(digits.size()) - 3; k > (number < 0 ? 1 : 0); k -= 3)
    digits.insert(static_cast<std::size_t>(k), "\u202f");
  return digits;
}

std::string typeset(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> signs{{{"<=", "≤"},
                                                                                 {">=", "≥"},
                                                                                 {"||", "‖"},
                                                                                 {"_inf", "∞"},
                                                                                 {"sqrt(", "√("},
                                                                                 {"sum |", "∑ |"},
                                                                                 {"angstrom", "Å"},
                                                                                 {"volt", "V"},
                                                                                 {"*e", "·e"},
                                                                                 {" - ", " − "},
                                                                                 {" * ", " · "}}};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string set;
  for (std::size_t k = 0; k < text.size();) {
    const std::string_view rest = std::string_view(text).substr(k);
    const auto* const sign =
        std::ranges::find_if(signs, [&](const auto& known) { return rest.starts_with(known.first); });
    if (rest.starts_with("sum_")) {
      set += "∑";
      k += 3;
    } else if (sign != signs.end()) {
      set += sign->second;
      k += sign->first.size();
    } else if (const std::string_view power = number_after(rest, '^'); !power.empty()) {
      set += superscript(std::stoi(std::string(power)));
      k += 1 + power.size();
    } else if (const std::string_view index = index_after(rest); !index.empty()) {
      for (const char c : index) set += c == 'i' ? "ᵢ" : c == 'j' ? "ⱼ" : c == 'k' ? "ₖ" : "₁";
      k += 1 + index.size();
    } else if (rest[0] == 'x' && k > 0 && is_digit(text[k - 1]) && rest.size() > 1 && is_digit(rest[1])) {
      set += "×";
      ++k;
    } else if (is_digit(rest[0])) {
      const std::size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
      const bool is_whole =
          (k == 0 || text[k - 1] == ' ') && count < 18 && (count == rest.size() || rest[count] == ' ');
      set += is_whole ? grouped(std::stoll(std::string(rest.substr(0, count)))) : rest.substr(0, count);
      k += count;
    } else {
      set += text[k++];
    }
  }
  return set;
}

std::string shown_number(double value, int digits) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  return axis_text(number_text(value, digits));
}

std::string data_uri(const Image& image) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string bytes = png_bytes(image);
  std::string text = "data:image/png;base64,";
  text.reserve(text.size() + bytes.size() * 4 / 3 + 4);
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    unsigned three = 0;
    for (std::size_t i = k; i < k + 3; ++i)
      three = three << 8U | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += k + i > bytes.size() ? '=' : letters[three >> (18 - 6 * i) & 63U];
  }
  return text;
}

std::string histogram_svg(const Histogram& histogram) {
  constexpr double width = 344, right = 330, top = 14, bottom = 138, height = 178;
  const std::int64_t most =
      std::max<std::int64_t>(*std::max_element(histogram.counts.begin(), histogram.counts.end()), 1);
  const auto up = [&](double count) { return bottom - (bottom - top) * count / static_cast<double>(most); };
  std::string svg = begin_svg(width, height, with_unit(histogram.title, histogram.unit));
  std::vector<Tick> counts = round_ticks(0, static_cast<double>(most), 4, 1);
  for (Tick& tick : counts) tick.text = grouped(std::llround(tick.place * static_cast<double>(most)));
  const double left = 26 + std::max(widest(counts), 14.0);
  for (const Tick& tick : counts) {
    const double y = bottom - (bottom - top) * tick.place;
    if (tick.place > 0) svg += line_element(left, y, right, y, "grid");
    svg += text_element(left - 6, y + 4, "end", tick.text);
  }
  svg += middle_upwards(13, (top + bottom) / 2, histogram.things);
  const double step = (right - left) / static_cast<double>(histogram.counts.size());
  for (std::size_t k = 0; k < histogram.counts.size(); ++k) {
    if (histogram.counts[k] == 0) continue;
    const double y = std::min(up(static_cast<double>(histogram.counts[k])), bottom - 1);
    svg += "<rect class=\"bar\" x=\"" + at(left + static_cast<double>(k) * step + 0.5) + "\" y=\"" + at(y) +
           "\" width=\"" + at(std::max(step - 1, 1.0)) + "\" height=\"" + at(bottom - y) + "\"><title>" +
           grouped(histogram.counts[k]) + "</title></rect>";
  }
  svg += line_element(left, bottom, right, bottom);
  const auto tick = [&](double place, const std::string& text) {
    const double x = left + (right - left) * place;
    svg += line_element(x, bottom, x, bottom + 4) + text_element(x, bottom + 17, "middle", text);
  };
  if (histogram.is_logarithmic) {
    const auto first = static_cast<int>(std::ceil(histogram.low - 1e-9));
    const auto last = static_cast<int>(std::floor(histogram.high + 1e-9));
    const int every = std::max(1, (last - first + 6) / 7);
    const bool are_few = histogram.high - histogram.low < 3;
    for (int power = are_few ? first - 1 : first; power <= last; power += every) {
      for (const int factor : {1, 2, 5}) {
        if (factor > 1 && !are_few) continue;
        const double place = (power + std::log10(factor) - histogram.low) / (histogram.high - histogram.low);
        if (place < 0 || place > 1) continue;
        tick(place, (factor == 1 ? "" : std::to_string(factor) + "×") + "10" + superscript(power));
      }
    }
  } else {
    for (const Tick& found : round_ticks(histogram.low, histogram.high, 5, 0)) tick(found.place, axis_text(found.text));
  }
  return svg +
         text_element((left + right) / 2, height - 6, "middle", with_unit(histogram.title, histogram.unit), "label") +
         "</svg>";
}

std::string map_svg(const MapChart& chart) {
  const double top = chart.is_exceeded ? 18 : 8;
  constexpr double bar_width = 12, gap = 14, svg_width = 344, title_width = 20, beside = 9;
  const double left = title_width + widest(chart.up) + beside;
  const double map_width = svg_width - title_width - widest(chart.bar) - beside - bar_width - gap - left;
  const double map_height = std::clamp(map_width * chart.height / chart.width, 60.0, 360.0);
  const double right = left + map_width, bottom = top + map_height, height = bottom + 40;
  const double bar_left = right + gap, bar_right = bar_left + bar_width;
  std::string svg = begin_svg(svg_width, height, chart.title);
  const auto image = [&](const Image& pixels, double x, double y, double wide, double high) {
    svg += "<image x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(wide) + "\" height=\"" + at(high) +
           "\" preserveAspectRatio=\"none\" href=\"" + data_uri(pixels) + "\"/>";
  };
  const auto frame = [&](double x, double wide) {
    svg += "<rect class=\"frame\" x=\"" + at(x) + "\" y=\"" + at(top) + "\" width=\"" + at(wide) + "\" height=\"" +
           at(map_height) + "\"/>";
  };
  image(*chart.image, left, top, map_width, map_height);
  for (const MapChart::Dot& dot : chart.dots)
    svg += "<circle class=\"" + std::string(dot.is_positive ? "plus" : "minus") + "\" cx=\"" +
           at(left + dot.right * map_width) + "\" cy=\"" + at(bottom - dot.up * map_height) + "\" r=\"2.4\"/>";
  frame(left, map_width);
  Image bar(1, std::ssize(chart.bar_colours));
  for (std::int64_t row = 0; row < bar.height(); ++row)
    bar.fill(0, 1, row, row + 1, chart.bar_colours[static_cast<std::size_t>(bar.height() - 1 - row)]);
  image(bar, bar_left, top, bar_width, map_height);
  frame(bar_left, bar_width);
  const auto arrow = [&](double begin, double end, Colour colour) {
    svg += "<polygon class=\"arrow\" fill=\"rgb(" + std::to_string(colour.red) + "," + std::to_string(colour.green) +
           "," + std::to_string(colour.blue) + ")\" points=\"" + at(bar_left) + "," + at(begin) + " " + at(bar_right) +
           "," + at(begin) + " " + at((bar_left + bar_right) / 2) + "," + at(end) + "\"/>";
  };
  if (chart.is_exceeded) arrow(top - 3, top - 12, chart.bar_colours.back());
  if (chart.is_undercut) arrow(bottom + 3, bottom + 12, chart.bar_colours.front());
  for (const Tick& tick : chart.right) {
    const double x = left + tick.place * map_width;
    svg += line_element(x, bottom, x, bottom + 4) + text_element(x, bottom + 17, "middle", axis_text(tick.text));
  }
  for (const Tick& tick : fitting(chart.up, map_height)) {
    const double y = bottom - tick.place * map_height;
    svg += line_element(left - 4, y, left, y) + text_element(left - 7, y + 4, "end", axis_text(tick.text));
  }
  for (const Tick& tick : fitting(chart.bar, map_height)) {
    const double y = bottom - tick.place * map_height;
    svg += line_element(bar_right, y, bar_right + 4, y) +
           text_element(bar_right + 7, y + 4, "start", axis_text(tick.text));
  }
  const double middle = (top + bottom) / 2;
  return svg + text_element((left + right) / 2, height - 6, "middle", chart.right_title, "label") +
         middle_upwards(13, middle, chart.up_title) + middle_upwards(svg_width - 6, middle, chart.bar_title) + "</svg>";
}

std::string strip_svg(std::span<const std::int64_t> counts, std::int64_t batch, std::string_view title) {
  constexpr double width = 344, left = 4, right = 340, top = 4, bottom = 18, height = 36;
  std::string svg = begin_svg(width, height, std::string(title));
  svg += "<rect class=\"strip\" x=\"" + at(left) + "\" y=\"" + at(top) + "\" width=\"" + at(right - left) +
         "\" height=\"" + at(bottom - top) + "\"/>";
  const double step = (right - left) / static_cast<double>(counts.size());
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (counts[k] > 0)
      svg += "<rect class=\"bad\" x=\"" + at(left + static_cast<double>(k) * step) + "\" y=\"" + at(top) +
             "\" width=\"" + at(std::max(step, 1.5)) + "\" height=\"" + at(bottom - top) + "\"/>";
  return svg + text_element(left, height - 4, "start", "0") +
         text_element((left + right) / 2, height - 4, "middle", std::string(title)) +
         text_element(right, height - 4, "end", grouped(batch - 1)) + "</svg>";
}

}  // namespace smallbatch
