#include "io/hdf5/input_errors.hpp"

#include "io/hdf5/handles.hpp"

namespace smallbatch {
namespace {

/// Returns the remedy for an error text of HDF5. A file with an unknown version was usually written by a newer library.
std::string remedy_for(const std::string& hdf5_text) {
  if (hdf5_text.find("version") == std::string::npos) return damaged;
  return "Write it with libver=(\"v110\", \"v110\"), which every HDF5 from 1.10 on reads. If it was written so, it is "
         "damaged.";
}

}  // namespace

Defect open_failure(const std::string& hdf5_text) {
  if (hdf5_text.find("truncated file") != std::string::npos) return {"it is truncated: " + hdf5_text, damaged};
  if (hdf5_text.find("already open for write") != std::string::npos) {
    return {"the program that wrote it did not close it", "Wait until that program has ended, or write the file anew."};
  }
  return {"HDF5 cannot open it: " + hdf5_text, remedy_for(hdf5_text)};
}

Defect damage(const InputBytes& file) {
  if (file.has_failed()) return {file.why(), file.remedy(), file.kind()};
  const std::string text = hdf5_error_text();
  if (text.find("version number for datatype") != std::string::npos) {
    return {"it has a type that came with HDF5 2, for example complex numbers, and that HDF5 1.10 does not know",
            "Store complex numbers as h5py does, compound {r, i}: file[name] = array.astype(\"complex64\")."};
  }
  return {"HDF5: " + text, remedy_for(text)};
}

}  // namespace smallbatch
