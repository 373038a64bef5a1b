// What colours mean in pictures: for potentials a scale that diverges from white, for magnitudes one from light to
// dark.
//
// Lightness goes in equal steps of OKLab (Ottosson 2020) in both, so equal differences look alike, and a picture
// survives printing in grey. Blue and red, and not red and green, for the eyes that see those alike.
#pragma once

#include "io/picture/picture.hpp"

namespace smallbatch {

/// t from -1, full blue, through white to 1, full red: a value and its negative are equally dark, along the hues 262
/// and 27.
Colour signed_scale_colour(double t);
/// Of V, where |V| = limit has the full colour; grey of NaN. Without a limit the sign alone is told.
Colour potential_colour(double value, double limit);

/// place from 0, light yellow (lightness 0.97, hue 105), to 1, dark blue (0.25, 285), with a chroma of 0.13 or what
/// sRGB has of it.
Colour magnitude_colour(double place);

}  // namespace smallbatch
