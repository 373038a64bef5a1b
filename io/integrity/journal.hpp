// A file of records that only grows. Each record has its length and a hash. Reading stops at the first incomplete
// record, which a process leaves if it is killed while it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smallbatch {

class Journal {
 public:
  enum class Access {
    appended,  ///< creates the file if it is missing, and cuts off everything after the last whole record
    read_only  ///< changes nothing; a missing file has no records
  };
  /// Opens the journal and finds its records. Throws Error(output), or Error(missing_file) if reading fails.
  Journal(const std::string& path, Access access);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Returns the number of records that the file had when it was opened.
  [[nodiscard]] std::size_t earlier_count() const { return earlier_.size(); }
  /// Returns one of the earlier records. It is read from the file again, because records are not kept in memory. Throws
  /// Error(missing_file) if it cannot be read.
  [[nodiscard]] std::string earlier(std::size_t record) const;
  /// Appends a record without flushing it to the disk. The record survives the end of the process, but not a crash of
  /// the machine.
  void append(const std::string& record);

 private:
  void find_records();

  struct Record {
    std::uint64_t begin = 0, length = 0;
  };
  std::string path_;
  int file_ = -1;
  std::vector<Record> earlier_;
  std::uint64_t end_ = 0;  ///< of the last earlier record
  std::string latest_;     ///< the record appended last; its memory is reused
};

}  // namespace smallbatch
