// Says what a stranger's file holds (io/hdf5/catalogue.hpp): the one place where HDF5 is asked about a file that it did
// not write. Checks come before anything is read: link kinds, then the object, then type, layout, filters and stored
// bytes. Private to io/.
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
  /// Throws Defect where HDF5 cannot open the file. `still_at_work` is called now and then.
  explicit Hdf5Describer(std::shared_ptr<InputBytes> bytes, std::function<void()> still_at_work = {});
  ~Hdf5Describer();
  Hdf5Describer(const Hdf5Describer&) = delete;
  Hdf5Describer& operator=(const Hdf5Describer&) = delete;

  /// The object at an absolute path, whose groups on the way were described before, and what is below it, as
  /// put_together() wants them.
  void describe(const std::string& object, int depth, const std::function<void(StoredObject&&)>& give);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
