// Writes the attributes that H5DSset_scale and H5DSattach_scale would write. HDF5's high-level library is not used,
// because not every site has it. Source: https://docs.hdfgroup.org/archive/support/HDF5/doc/HL/H5DS_Spec.pdf
#include "io/hdf5/dimension_scales.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace smallbatch {
namespace {

/// One entry of the attribute REFERENCE_LIST: an axis that has the scale.
struct Use {
  hobj_ref_t dataset;
  std::uint32_t axis, unused;
};

/// A dimension scale: a name of axes, and the axes that have this name.
struct Scale {
  hid_t dataset = -1;
  hobj_ref_t reference = 0;
  Hdf5Handle made;  ///< the dataset, if it was made without numbers
  std::vector<Use> uses;
};

bool write_attribute(hid_t object, const char* name, hid_t type, std::size_t count, bool is_array, const void* values) {
  const hsize_t length = count;
  const Hdf5Handle space(is_array ? H5Screate_simple(1, &length, nullptr) : H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.valid() && H5Awrite(attribute.get(), type, values) >= 0;
}

bool write_text(hid_t object, const char* name, const std::string& text) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  return H5Tset_size(type.get(), text.size() + 1) >= 0 &&
         write_attribute(object, name, type.get(), 1, false, text.c_str());
}

/// Opens the dataset of that name. If there is none, creates a dataset that is never written and takes no room.
bool open_scale(Scale& scale, const std::string& path, hsize_t length, hid_t creation, const OpenObject& open) {
  const std::size_t slash = path.rfind('/');
  const hid_t group = open(path.substr(0, slash));
  const std::string name = path.substr(slash + 1);
  const htri_t exists = H5Lexists(group, name.c_str(), H5P_DEFAULT);
  if (exists < 0) return false;
  if (exists > 0) {
    scale.dataset = open(path);
  } else {
    const Hdf5Handle extent(H5Screate_simple(1, &length, nullptr), H5Sclose);
    scale.made = {H5Dcreate2(group, name.c_str(), H5T_IEEE_F32BE, extent.get(), H5P_DEFAULT, creation, H5P_DEFAULT),
                  H5Dclose};
    scale.dataset = scale.made.get();
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), "This is a netCDF dimension but not a netCDF variable.%10llu",
                  static_cast<unsigned long long>(length));
    if (!scale.made.valid() || !write_text(scale.dataset, "NAME", text.data())) return false;
  }
  return H5Rcreate(&scale.reference, scale.dataset, ".", H5R_OBJECT, -1) >= 0;
}

}  // namespace

bool DimensionScales::write(const AxisNames& axes, const OpenObject& open) {
  if (!names_.valid()) {
    list_ = {H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose};
    use_ = {H5Tcreate(H5T_COMPOUND, sizeof(Use)), H5Tclose};
    names_ = {H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
    if (H5Tinsert(use_.get(), "dataset", HOFFSET(Use, dataset), H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(use_.get(), "dimension", HOFFSET(Use, axis), H5T_STD_U32LE) < 0 ||
        H5Pset_obj_track_times(names_.get(), false) < 0)
      return false;
  }
  std::map<std::string, Scale> scales;  // by their paths
  for (const auto& [dataset, names] : axes) {
    const hid_t opened = open(dataset);
    const Hdf5Handle space(H5Dget_space(opened), H5Sclose);
    std::array<hsize_t, H5S_MAX_RANK> lengths{};
    if (H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr) != static_cast<int>(names.size())) return false;
    Use use{};
    if (H5Rcreate(&use.dataset, opened, ".", H5R_OBJECT, -1) < 0) return false;
    std::vector<hvl_t> list;
    for (const std::string& name : names) {
      const std::string path = dataset.substr(0, dataset.rfind('/') + 1) + name;
      Scale& scale = scales[path];
      if (scale.uses.empty() && !open_scale(scale, path, lengths[use.axis], names_.get(), open)) return false;
      scale.uses.push_back(use);
      list.push_back({1, &scale.reference});
      ++use.axis;
    }
    if (!write_attribute(opened, "DIMENSION_LIST", list_.get(), list.size(), true, list.data())) return false;
  }
  return std::ranges::all_of(scales, [&](const auto& of_one) {
    const auto& [path, scale] = of_one;
    return write_text(scale.dataset, "CLASS", "DIMENSION_SCALE") &&
           (scale.made.valid() || write_text(scale.dataset, "NAME", path.substr(path.rfind('/') + 1))) &&
           write_attribute(scale.dataset, "REFERENCE_LIST", use_.get(), scale.uses.size(), true, scale.uses.data());
  });
}

}  // namespace smallbatch
