// Errors that stop a run. Numerical failure is not one of them: that is a status per system or problem.
//
// Every message reads "problem (why). What to do." and names the file, the dataset and the index it is about. It speaks
// to whoever calls the library: which option of the command does what is to be done, the application adds.
#pragma once

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// What kind of thing went wrong; the command maps each kind to one documented exit code.
enum class ErrorKind {
  usage,          ///< the call itself makes no sense
  bad_input,      ///< a file was read and its content cannot be used
  missing_file,   ///< a file that should be read is not there, may not be read, or its disk fails
  no_device,      ///< a device asked for by name cannot be used
  out_of_memory,  ///< memory of the host or of a device does not suffice, or the system starts no thread or process
  output,         ///< the output's folder is not writable, or the disk is full
  output_exists,  ///< the output exists, and nobody said that it may be replaced
  device_lost,    ///< a device that was there failed, and computes nothing more in this process
  interrupted,    ///< the user stopped the run
  internal        ///< a bug or a broken machine
};

/// What every function of the library throws.
class Error : public std::runtime_error {
 public:
  /// "problem (why). remedy"
  Error(ErrorKind kind, const std::string& problem, const std::string& why, const std::string& remedy)
      : Error(kind, problem + " (" + why + "). " + remedy) {}
  /// A whole sentence, or two.
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// A number of any size, in a message: std::to_string() knows six decimals.
inline std::string text_of(double value) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof(text), "%.6g", value))};
}

}  // namespace smallbatch
#pragma GCC visibility pop
