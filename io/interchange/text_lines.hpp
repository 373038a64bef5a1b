// Reader of the lines of an untrusted text file. It reads the file once from begin to end, so the file may be a pipe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smallbatch {

class TextLines {
 public:
  /// Throws Error(missing_file) if the file cannot be opened, is a folder, or is a pipe that nobody writes to.
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// Sets `line` to the next line without its line feed. The text is valid until the next call. Returns false at the
  /// end. Throws Error if reading fails, if the file is packed, HDF5 or UTF-16, or if a line or a pipe is too long.
  bool next(std::string_view& line);
  /// Number of the latest line, from 1; 0 before the first.
  [[nodiscard]] std::int64_t line_number() const { return line_number_; }

 private:
  void fill();

  std::string path_;
  int file_;
  bool is_regular_ = false, is_at_end_ = false;
  std::string bytes_;      ///< bytes that were read and are still needed
  std::size_t begin_ = 0;  ///< begin of the next line in bytes_
  std::int64_t line_number_ = 0, bytes_read_ = 0;
};

}  // namespace smallbatch
