// Errors that stop a run. A numerical failure is not an error, but a status of one system or problem.
//
// Every message has the form *problem (why). Remedy.* It names the file, the dataset and the index that it is about. A
// message addresses the caller of the library. The application adds which option of the command helps.
#pragma once

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Kinds of errors. The command maps each kind to one documented exit code.
enum class ErrorKind {
  usage,          ///< a wrong call or option
  bad_input,      ///< the content of a file cannot be used
  missing_file,   ///< an input file does not exist, may not be read, or its disk fails
  no_device,      ///< a requested device cannot be used
  out_of_memory,  ///< memory of the host or of a device does not suffice, or the system starts no thread or process
  output,         ///< the output's folder is not writable, or the disk is full
  output_exists,  ///< the output exists, and replacing it was not allowed
  device_lost,    ///< a device failed during the run; it computes nothing more in this process
  interrupted,    ///< the user stopped the run
  internal        ///< a bug or a broken machine
};

/// The exception that every function of the library throws.
class Error : public std::runtime_error {
 public:
  /// Builds the message "problem (why). remedy".
  Error(ErrorKind kind, const std::string& problem, const std::string& why, const std::string& remedy)
      : Error(kind, problem + " (" + why + "). " + remedy) {}
  /// Takes the whole message, one sentence or two.
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Returns a number of any size for a message, with six significant digits. (std::to_string() prints six decimals.)
inline std::string text_of(double value) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof(text), "%.6g", value))};
}

}  // namespace smallbatch
#pragma GCC visibility pop
