// What is said of a file that is read, and what to do about it. Private to io/.
#pragma once

#include <memory>
#include <string>

#include "core/error.hpp"
#include "io/hdf5_input_driver.hpp"

namespace smallbatch {

inline constexpr const char* damaged = "The file is damaged: copy it again or write it anew.";

/// Why H5Fopen failed, in the user's words, from HDF5's own.
std::string open_failure(const std::string& hdf5_text);

/// An open file's name and bytes, which know what failed.
struct InputErrors {
  explicit InputErrors(const std::string& name, unsigned threads = 0)
      : path(name), bytes(std::make_shared<InputBytes>(name, threads)) {}

  std::string path;
  std::shared_ptr<InputBytes> bytes;

  /// Error(bad_input): "cannot use <object> of <file> (<why>). <remedy>".
  [[nodiscard]] Error error(const std::string& object, const std::string& why, const std::string& remedy) const;
  /// Why an HDF5 call that was just made failed.
  [[nodiscard]] Error damage(const std::string& object) const;
};

}  // namespace smallbatch
