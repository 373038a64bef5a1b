#include "io/picture/colour_scales.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace smallbatch {

namespace {

// |V| / limit = 0, 0.2, ... 1: OKLab lightness 1, 0.876, 0.752, 0.628, 0.504, 0.38; chroma at most 0.19.
constexpr std::array<Colour, 6> negative_scale{
    {{255, 255, 255}, {255, 198, 191}, {251, 137, 125}, {229, 76, 68}, {184, 27, 30}, {124, 18, 19}}};
constexpr std::array<Colour, 6> positive_scale{
    {{255, 255, 255}, {193, 215, 255}, {130, 174, 254}, {68, 130, 249}, {31, 90, 206}, {19, 60, 139}}};

constexpr std::array<Colour, 9> magnitude_scale{{{255, 250, 168},
                                                 {191, 232, 136},
                                                 {121, 210, 141},
                                                 {29, 184, 150},
                                                 {1, 150, 150},
                                                 {1, 117, 140},
                                                 {1, 85, 128},
                                                 {15, 49, 122},
                                                 {33, 10, 91}}};

}  // namespace

Colour signed_scale_colour(double t) { return scale_colour(t < 0 ? negative_scale : positive_scale, std::abs(t)); }

Colour potential_colour(double value, double limit) {
  if (std::isnan(value)) return grey;
  return signed_scale_colour(limit > 0 ? std::clamp(value / limit, -1.0, 1.0) : (value > 0) - (value < 0));
}

Colour magnitude_colour(double place) { return scale_colour(magnitude_scale, place); }

}  // namespace smallbatch
