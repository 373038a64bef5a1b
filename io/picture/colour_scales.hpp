// Colours of pictures. The scale of potentials diverges from white. The scale of magnitudes goes from light to dark.
//
// The lightness of both scales changes in equal steps of OKLab (Ottosson 2020). So equal differences look alike, and a
// picture can be printed in grey. Blue and red are also told apart by people who see red and green alike.
#pragma once

#include "io/picture/picture.hpp"

namespace smallbatch {

/// Returns the colour at t, from -1 (full red, hue 27) through white to 1 (full blue, hue 262), as viewers of molecules
/// colour potentials. A value and its negative are equally dark.
Colour signed_scale_colour(double t);
/// Returns the colour of V. |V| = limit has the full colour, and NaN is grey. If the limit is 0, the colour shows the
/// sign alone.
Colour potential_colour(double value, double limit);

/// Returns the colour at `place`, from 0 (light yellow: lightness 0.97, hue 105) to 1 (dark blue: 0.25, 285). The
/// chroma is 0.13, or less where sRGB has less.
Colour magnitude_colour(double place);

}  // namespace smallbatch
