// What ParaView opens: /VTKHDF of a result file. Private to io/.
#pragma once

#include "io/hdf5/output.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Whether the set has problems, and all of them one lattice.
bool has_one_lattice(const PotentialSet& set);

/// Where its points lie along an axis then: 0 for x.
std::vector<double> places_along(const PotentialSet& set, std::size_t axis);

/// /VTKHDF as https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format has it: a time series where there are
/// several problems on one lattice, else the first problem alone, because a series has one geometry (and VTK takes a
/// series of one step for a static image, whose array has no time axis).
void write_vtkhdf(Hdf5Output& file, const PotentialSet& set);

}  // namespace smallbatch
