// What a file's bytes on their way to a GPU could reach: the ceiling of whole runs.
#pragma once

#include <string>

namespace smallbatch {

struct FileRates {
  double read = 0;       ///< bytes per second: all threads, into memory that they read into again and again
  double to_device = 0;  ///< the same, each thread copying to the GPU what it has read while it reads on
};

/// The best of some passes over the file, with as many threads as there are cores. Throws Error.
FileRates measure_file(const std::string& path);

}  // namespace smallbatch
