// The attributes that H5DSset_scale and H5DSattach_scale write, without HDF5's high-level library, which not every site
// has: https://docs.hdfgroup.org/archive/support/HDF5/doc/HL/H5DS_Spec.pdf
#include "io/hdf5_dimension_scales.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "io/hdf5_handles.hpp"

namespace smallbatch {
namespace {

/// Of an attribute REFERENCE_LIST: an axis that has the scale.
struct Use {
  hobj_ref_t dataset;
  std::uint32_t axis, unused;
};
using Scales = std::map<std::string, std::vector<Use>>;

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

/// A name alone is never written, and so takes no room.
bool create_if_missing(hid_t file, const std::string& path, hsize_t length) {
  const htri_t exists = H5Lexists(file, path.c_str(), H5P_DEFAULT);
  if (exists != 0) return exists > 0;
  const Hdf5Handle extent(H5Screate_simple(1, &length, nullptr), H5Sclose);
  const Hdf5Handle made(
      H5Dcreate2(file, path.c_str(), H5T_IEEE_F32BE, extent.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "This is a netCDF dimension but not a netCDF variable.%10llu",
                static_cast<unsigned long long>(length));
  return made.valid() && write_text(made.get(), "NAME", text.data());
}

bool write_axes(hid_t file, const std::string& dataset, const std::vector<std::string>& names, Scales& scales,
                std::map<std::string, hobj_ref_t>& references) {
  const Hdf5Handle opened(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(opened.get()), H5Sclose), type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  std::array<hsize_t, H5S_MAX_RANK> lengths{};
  if (H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr) != static_cast<int>(names.size())) return false;
  Use use{};
  if (H5Rcreate(&use.dataset, file, dataset.c_str(), H5R_OBJECT, -1) < 0) return false;
  std::vector<hvl_t> list;
  for (const std::string& name : names) {
    const std::string path = dataset.substr(0, dataset.rfind('/') + 1) + name;
    hobj_ref_t& reference = references[path];
    if (scales[path].empty()) {
      if (!create_if_missing(file, path, lengths[use.axis])) return false;
      if (H5Rcreate(&reference, file, path.c_str(), H5R_OBJECT, -1) < 0) return false;
    }
    scales[path].push_back(use);
    list.push_back({1, &reference});
    ++use.axis;
  }
  return write_attribute(opened.get(), "DIMENSION_LIST", type.get(), list.size(), true, list.data());
}

bool write_scale(hid_t file, const std::string& path, const std::vector<Use>& uses) {
  const Hdf5Handle opened(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Use)), H5Tclose);
  const htri_t is_named = H5Aexists(opened.get(), "NAME");
  return is_named >= 0 && write_text(opened.get(), "CLASS", "DIMENSION_SCALE") &&
         (is_named > 0 || write_text(opened.get(), "NAME", path.substr(path.rfind('/') + 1))) &&
         H5Tinsert(type.get(), "dataset", HOFFSET(Use, dataset), H5T_STD_REF_OBJ) >= 0 &&
         H5Tinsert(type.get(), "dimension", HOFFSET(Use, axis), H5T_STD_U32LE) >= 0 &&
         write_attribute(opened.get(), "REFERENCE_LIST", type.get(), uses.size(), true, uses.data());
}

}  // namespace

bool write_dimension_scales(hid_t file, const AxisNames& axes) {
  Scales scales;
  std::map<std::string, hobj_ref_t> references;
  return std::ranges::all_of(
             axes,
             [&](const auto& of_one) { return write_axes(file, of_one.first, of_one.second, scales, references); }) &&
         std::ranges::all_of(scales, [&](const auto& scale) { return write_scale(file, scale.first, scale.second); });
}

}  // namespace smallbatch
