// What the axes of datasets are called, as netCDF and xarray read it: HDF5's dimension scales. Private to io/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/hdf5/handles.hpp"

namespace smallbatch {

/// The names of each dataset's axes, by its path. A name is that of a dataset in the same group, the coordinates along
/// the axis; or a name alone, for which a dataset without numbers is made, as netCDF has dimensions without variables.
using AxisNames = std::map<std::string, std::vector<std::string>>;

using OpenObject = std::function<hid_t(const std::string&)>;

class DimensionScales {
 public:
  /// `open` gives an object by its path; that stays open meanwhile. False where HDF5 fails.
  bool write(const AxisNames& axes, const OpenObject& open);

 private:
  Hdf5Handle list_, use_, names_;  ///< types of the lists, and the property list of names alone
};

}  // namespace smallbatch
