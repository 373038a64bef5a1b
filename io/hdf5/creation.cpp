#include "io/hdf5/creation.hpp"

#include <array>
#include <bit>

#include "core/error.hpp"

namespace smallbatch {

hid_t file_type(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return H5T_STD_I8LE;
    case ElementType::uint8:
      return H5T_STD_U8LE;
    case ElementType::int32:
      return H5T_STD_I32LE;
    case ElementType::int64:
      return H5T_STD_I64LE;
    case ElementType::float32:
      return H5T_IEEE_F32LE;
    case ElementType::float64:
      return H5T_IEEE_F64LE;
    default:
      break;
  }
  throw Error(ErrorKind::internal, "a dataset was asked for with a type that cannot be written. Please report this.");
}

Hdf5Handle Hdf5Creation::timeless_list(hid_t properties) {
  Hdf5Handle list = own(H5Pcreate(properties), H5Pclose);
  check_(H5Pset_obj_track_times(list.get(), false));
  return list;
}

Hdf5Handle Hdf5Creation::stored_type(ElementType type, NumberForm form) {
  const hid_t number = file_type(type);
  if (form == NumberForm::plain) return own(H5Tcopy(number), H5Tclose);
  if (form == NumberForm::boolean) {
    Hdf5Handle boolean = own(H5Tenum_create(number), H5Tclose);
    const std::array<std::int8_t, 2> values{0, 1};
    check_(H5Tenum_insert(boolean.get(), "FALSE", values.data()));
    check_(H5Tenum_insert(boolean.get(), "TRUE", &values[1]));
    return boolean;
  }
  const std::size_t bytes = H5Tget_size(number);
  Hdf5Handle complex = own(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
  check_(H5Tinsert(complex.get(), "r", 0, number));
  check_(H5Tinsert(complex.get(), "i", bytes, number));
  return complex;
}

hid_t Hdf5Creation::type(ElementType type, NumberForm form) {
  Hdf5Handle& known = types_[{type, form}];
  if (!known.valid()) known = stored_type(type, form);
  return known.get();
}

hid_t Hdf5Creation::groups() {
  if (groups_.valid()) return groups_.get();
  constexpr unsigned members_of_set = 10, bytes_of_name = 14, most_in_header = 32, least_outside = 24;
  groups_ = timeless_list(H5P_GROUP_CREATE);
  check_(H5Pset_est_link_info(groups_.get(), members_of_set, bytes_of_name));
  check_(H5Pset_link_phase_change(groups_.get(), most_in_header, least_outside));
  check_(H5Pset_attr_phase_change(groups_.get(), most_in_header, least_outside));
  return groups_.get();
}

hid_t Hdf5Creation::datasets(std::optional<double> fill) {
  Hdf5Handle& list = datasets_[fill ? std::optional(std::bit_cast<std::uint64_t>(*fill)) : std::nullopt];
  if (list.valid()) return list.get();
  list = timeless_list(H5P_DATASET_CREATE);
  check_(H5Pset_layout(list.get(), H5D_CONTIGUOUS));
  check_(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY));
  check_(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER));
  if (fill) check_(H5Pset_fill_value(list.get(), H5T_NATIVE_DOUBLE, &*fill));
  return list.get();
}

}  // namespace smallbatch
