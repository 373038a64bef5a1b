// Measures how fast a file's bytes can reach a GPU. This is the upper limit of whole runs.
#pragma once

#include <string>

namespace smallbatch {

struct FileRates {
  double read = 0;       ///< bytes per second of all threads together, if they only read; they reuse their memory
  double to_device = 0;  ///< bytes per second, if each thread copies a piece to the GPU while it reads the next
};

/// Returns the best rates of several passes over the file, with one thread per core. Throws Error.
FileRates measure_file(const std::string& path);

}  // namespace smallbatch
