// Types and property lists of the datasets and groups in output files. Each of them is made once and then used again.
// Private to io/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/handles.hpp"

namespace smallbatch {

/// Returns HDF5's type of the numbers in the file. Throws Error(internal) for a type that cannot be written.
hid_t file_type(ElementType type);

class Hdf5Creation {
 public:
  /// `check` gets the result of each call of HDF5, and must throw if it is negative.
  explicit Hdf5Creation(std::function<void(std::int64_t)> check) : check_(std::move(check)) {}
  hid_t type(ElementType type, NumberForm form);
  /// Returns the properties of groups. A group keeps its members and attributes in its header. The header has room for
  /// the members and attributes of a set.
  hid_t groups();
  /// Returns the properties of contiguous datasets, which are allocated when they are created. HDF5 never fills them:
  /// its fill would overwrite what an earlier run has written.
  hid_t datasets(std::optional<double> fill = {});
  /// Makes a property list for new objects. The objects' headers hold no times. /provenance holds the time.
  Hdf5Handle timeless_list(hid_t properties);

 private:
  Hdf5Handle stored_type(ElementType type, NumberForm form);
  Hdf5Handle own(hid_t id, herr_t (*close)(hid_t)) {
    check_(id);
    return {id, close};
  }

  std::function<void(std::int64_t)> check_;
  Hdf5Handle groups_;
  std::map<std::optional<std::uint64_t>, Hdf5Handle> datasets_;  ///< by the bits of the fill value
  std::map<std::pair<ElementType, NumberForm>, Hdf5Handle> types_;
};

}  // namespace smallbatch
