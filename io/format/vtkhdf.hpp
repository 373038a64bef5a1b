// Writes /VTKHDF of a result file, which ParaView opens. Private to io/.
#pragma once

#include "io/hdf5/output.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Whether the set has problems, and all of them have the same lattice.
bool has_one_lattice(const PotentialSet& set);

/// Returns the coordinates of the points along `axis` (0: x), if has_one_lattice().
std::vector<double> coordinates_along(const PotentialSet& set, std::size_t axis);

/// Writes /VTKHDF. Several problems on one lattice are a time series. Otherwise only the first problem is shown,
/// because a series has one geometry. A single problem is no series: VTK takes a series of one step for a static image,
/// and expects no time axis. Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format
void write_vtkhdf(Hdf5Output& file, const PotentialSet& set);

}  // namespace smallbatch
