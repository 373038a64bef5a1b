// Measures how fast a file's bytes can reach a GPU. This is the upper limit of whole runs.
#pragma once

#include <string>

namespace smallbatch {

struct FileRates {
  double read = 0;       ///< bytes per second that all threads together read, each always into the same memory
  double to_device = 0;  ///< bytes per second that reach the GPU, if each thread copies a piece while it reads the next
};

/// Returns the best rates of several passes over the file, with one thread per core. Throws Error.
FileRates measure_file(const std::string& path);

}  // namespace smallbatch
