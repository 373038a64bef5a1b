// Names of the axes of datasets, as HDF5's dimension scales, which netCDF and xarray read. Private to io/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/hdf5/handles.hpp"

namespace smallbatch {

/// Names of each dataset's axes, by the path of the dataset. If the dataset's group also has a dataset with the name of
/// an axis, that dataset holds the coordinates along the axis. Otherwise a dataset without numbers is created. It
/// corresponds to a dimension without a variable in netCDF.
using AxisNames = std::map<std::string, std::vector<std::string>>;

using OpenObject = std::function<hid_t(const std::string&)>;

class DimensionScales {
 public:
  /// Writes the names. `open` returns an object by its path, and keeps it open meanwhile. Returns false if HDF5 fails.
  bool write(const AxisNames& axes, const OpenObject& open);

 private:
  Hdf5Handle list_, use_,
      names_;  ///< types of DIMENSION_LIST and REFERENCE_LIST, and properties of datasets without numbers
};

}  // namespace smallbatch
