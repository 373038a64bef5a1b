// How our datasets and groups are made: their types and HDF5's property lists, for which HDF5 is asked once. Private to
// io/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/handles.hpp"

namespace smallbatch {

/// A type of the file; `internal` errors for one that cannot be written.
hid_t file_type(ElementType type);

class Hdf5Creation {
 public:
  /// `check` gets what each call of HDF5's returns, and throws where that is negative.
  explicit Hdf5Creation(std::function<void(std::int64_t)> check) : check_(std::move(check)) {}
  hid_t type(ElementType type, NumberForm form);
  /// Groups keep their members and attributes in the header, which has room for those of a set.
  hid_t groups();
  /// The properties of datasets in one piece, which is allocated at once. HDF5 never fills them: its fill would
  /// overwrite what an earlier run has written.
  hid_t datasets(std::optional<double> fill = {});
  /// A list of properties of what is created. No header tells a time: /provenance does.
  Hdf5Handle timeless_list(hid_t properties);

 private:
  Hdf5Handle stored_type(ElementType type, NumberForm form);
  Hdf5Handle own(hid_t id, herr_t (*close)(hid_t)) {
    check_(id);
    return {id, close};
  }

  std::function<void(std::int64_t)> check_;
  Hdf5Handle groups_;
  std::map<std::optional<std::uint64_t>, Hdf5Handle> datasets_;  ///< by the bits of what fills
  std::map<std::pair<ElementType, NumberForm>, Hdf5Handle> types_;
};

}  // namespace smallbatch
