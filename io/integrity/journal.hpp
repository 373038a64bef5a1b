// A file of records that only grows, one after the other, each with its length and a hash. A record that is not whole
// ends it: that of a process that was killed while it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

class Journal {
 public:
  enum class Access {
    appended,  ///< makes the file where it is not there, and cuts off what follows its last whole record
    looked_at  ///< changes nothing; a file that is not there has no records
  };
  /// Throws Error(output).
  Journal(const std::string& path, Access access);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// How many records were there.
  [[nodiscard]] std::size_t earlier_count() const { return earlier_.size(); }
  /// One of them, which is read again: they are not kept in memory. Throws Error(missing_file) where it cannot be.
  [[nodiscard]] std::string earlier(std::size_t record) const;
  /// It is not flushed to the disk: it outlives the process, and not the machine.
  void append(const std::string& record);

 private:
  void find_records();

  struct Place {
    std::uint64_t begin = 0, length = 0;
  };
  std::string path_;
  int file_ = -1;
  std::vector<Place> earlier_;
  std::uint64_t end_ = 0;  ///< of the last one
  std::string latest_;     ///< that was appended: its memory serves very many
};

}  // namespace smallbatch
