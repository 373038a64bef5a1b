// A file of records that only grows, one after the other, each with its length and a hash. A record that is not whole
// ends it: that of a process that was killed while it wrote.
#pragma once

#include <string>
#include <vector>

namespace smallbatch {

class Journal {
 public:
  /// Opens the file of this name, or makes it, and cuts off what follows its last whole record. Throws Error(output).
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The records that were there.
  [[nodiscard]] const std::vector<std::string>& earlier() const { return earlier_; }
  /// It is not flushed to the disk: it outlives the process, and not the machine.
  void append(const std::string& record);

 private:
  std::string path_;
  int file_ = -1;
  std::vector<std::string> earlier_;
};

}  // namespace smallbatch
