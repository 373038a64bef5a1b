// HDF5's dimension scales, by which netCDF and xarray know what the axes of a dataset are called. Private to io/.
#pragma once

#include <hdf5.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace smallbatch {

/// By the paths of datasets: what their first axes are called. The name of an axis is a dataset in the same group, the
/// coordinates along it, or, where there is no such dataset, a name alone.
using AxisNames = std::map<std::string, std::vector<std::string>>;

/// Writes them as the HDF5 Dimension Scale Specification says, names alone as netCDF does. `open` gives an object that
/// exists by its path, a group without the slash at its end, and stays open. False where HDF5 fails.
bool write_dimension_scales(const AxisNames& axes, const std::function<hid_t(const std::string&)>& open);

}  // namespace smallbatch
