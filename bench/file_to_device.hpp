// Measures how fast a file's bytes can reach a GPU. This is the upper limit of whole runs.
#pragma once

#include <string>

namespace smallbatch {

struct FileRates {
  double read = 0;       ///< bytes per second, all threads, into memory that they reuse
  double to_device = 0;  ///< bytes per second, if each thread also copies to the GPU while it reads on
};

/// Returns the best rates of several passes over the file, with one thread per core. Throws Error.
FileRates measure_file(const std::string& path);

}  // namespace smallbatch
