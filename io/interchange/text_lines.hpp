// Lines of a text file of strangers, read once from its begin to its end: a pipe can be read no other way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smallbatch {

class TextLines {
 public:
  /// Throws Error(missing_file) where the file cannot be opened, is a folder, or is a pipe that nobody writes to.
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// Gives the next line without its line feed; it stays valid until the next call. Returns false at the end. Throws
  /// Error where reading fails; where the file is packed, HDF5 or UTF-16; and where a line or a pipe is too long.
  bool next(std::string_view& line);
  /// Counts from 1; 0 before the first.
  [[nodiscard]] std::int64_t line_number() const { return line_number_; }

 private:
  void fill();

  std::string path_;
  int file_;
  bool is_regular_ = false, is_at_end_ = false;
  std::string bytes_;      ///< that were read, from the begin of the next line on
  std::size_t begin_ = 0;  ///< of the next line in them
  std::int64_t line_number_ = 0, bytes_read_ = 0;
};

}  // namespace smallbatch
