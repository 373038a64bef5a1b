// Describes the contents of an untrusted file (io/hdf5/catalogue.hpp). HDF5 reads untrusted files in this class alone.
// Each part is checked before it is read: link kinds, then the object, then type, layout, filters and stored bytes.
// Private to io/.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/handles.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

class Hdf5Describer {
 public:
  /// Throws Defect if HDF5 cannot open the file. `still_at_work` is called now and then, as a sign of progress.
  explicit Hdf5Describer(std::shared_ptr<InputBytes> bytes, std::function<void()> still_at_work = {});
  ~Hdf5Describer();
  Hdf5Describer(const Hdf5Describer&) = delete;
  Hdf5Describer& operator=(const Hdf5Describer&) = delete;

  /// Describes the object at an absolute path, and the objects at most `depth` levels below it. `give` gets the
  /// descriptions in the order of put_together(). The groups on the path must have been described before.
  void describe(const std::string& object, int depth, const std::function<void(StoredObject&&)>& give);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
